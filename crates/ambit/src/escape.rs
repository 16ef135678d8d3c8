//! Texts that may hold anything, shown where a control character would do something.

use std::fmt::Write as _;

/// The text with what could drive the terminal made visible; line breaks and tabs stay.
pub fn escape_control(text: &str) -> String {
    escaped(text, |letter| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
    })
}

/// The same for what must stay on one line.
pub fn one_line(text: &str) -> String {
    escaped(text, |letter| {
        letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}')
    })
}

fn escaped(text: &str, is_hidden: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) {
            let _ = write!(shown, "{}", letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{escape_control, one_line};

    #[test]
    fn what_drives_a_terminal_is_made_visible() {
        assert_eq!(escape_control("a\x1b[31mb\nc"), "a\\u{1b}[31mb\nc");
        assert_eq!(
            one_line("a\nb\r\tc\u{9b}\u{2028}d\\"),
            "a\\nb\\r\\tc\\u{9b}\\u{2028}d\\"
        );
    }
}
