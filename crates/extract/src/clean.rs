//! The characters of a text that are kept.

use crate::limits;

/// Which spaces and line breaks of a text mean something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// Spaces are one space, line breaks stay.
    Lines,
    /// Spaces and line breaks are one space.
    Words,
    /// All of them.
    All,
}

/// Returns the text without control characters, without spaces at its ends, and without spaces that mean nothing.
pub(crate) fn cleaned(text: &str, spacing: Spacing) -> String {
    if spacing == Spacing::All {
        let text = text.replace("\r\n", "\n");
        let kept = text
            .chars()
            .filter(|&character| is_kept(character) || matches!(character, '\n' | '\t'));
        return kept
            .collect::<String>()
            .trim_end()
            .trim_start_matches('\n')
            .to_owned();
    }
    let mut result = String::with_capacity(text.len());
    // The space that is due before the next character.
    let mut due = None;
    for character in text.chars() {
        if character.is_whitespace() {
            let breaks = character == '\n' && spacing == Spacing::Lines;
            due = if breaks || due == Some('\n') {
                Some('\n')
            } else {
                Some(' ')
            };
        } else if is_kept(character) {
            if let Some(space) = due.take().filter(|_| !result.is_empty()) {
                result.push(space);
            }
            result.push(character);
        }
    }
    result
}

/// Returns the beginning of what is said of a document, which may be as long as the document.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(limits::PHRASE_CHARACTERS).collect()
}

/// Soft hyphens and byte order marks are in the middle of words.
fn is_kept(character: char) -> bool {
    !character.is_control() && !matches!(character, '\u{ad}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_that_mean_nothing_are_one_space() {
        assert_eq!(
            cleaned("  a \t b\r\n\r\n c\u{0}d\u{ad}e\u{a0}f ", Spacing::Lines),
            "a b\ncde f"
        );
        assert_eq!(cleaned(" a \n b ", Spacing::Words), "a b");
    }

    #[test]
    fn code_keeps_its_spaces() {
        assert_eq!(
            cleaned("\n  if a:\r\n\tb\u{7}\n\n", Spacing::All),
            "  if a:\n\tb"
        );
    }
}
