//! Patterns over names: `*` stands for any run of characters, `\*` and `\\` are literal, all else is itself.

/// A parsed pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The literal pieces between the stars; one piece means no star.
    pieces: Vec<String>,
}

impl Pattern {
    /// Every name.
    pub fn all() -> Self {
        Self {
            pieces: vec![String::new(), String::new()],
        }
    }

    /// Every name that starts with this text, whatever it holds.
    pub fn starting_with(text: impl Into<String>) -> Self {
        Self {
            pieces: vec![text.into(), String::new()],
        }
    }

    /// Reads a pattern; every text is one.
    pub fn parse(text: &str) -> Self {
        let mut pieces = vec![String::new()];
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let literal = match letter {
                '*' => None,
                '\\' => Some(
                    letters
                        .next_if(|next| matches!(next, '*' | '\\'))
                        .unwrap_or(letter),
                ),
                other => Some(other),
            };
            match (literal, pieces.last_mut()) {
                (Some(letter), Some(piece)) => piece.push(letter),
                _ => pieces.push(String::new()),
            }
        }
        Self { pieces }
    }

    /// True where the pattern has a star.
    pub fn is_open(&self) -> bool {
        self.pieces.len() > 1
    }

    /// True where every name matches.
    pub fn is_all(&self) -> bool {
        self.is_open() && self.pieces.iter().all(String::is_empty)
    }

    /// The literal pieces between the stars.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().map(String::as_str)
    }

    /// What every matching name starts with.
    pub fn prefix(&self) -> &str {
        &self.pieces[0]
    }

    /// The first text in byte order behind all that start with the prefix; `None` where there is none.
    pub fn end(&self) -> Option<String> {
        let mut letters: Vec<char> = self.prefix().chars().collect();
        while let Some(last) = letters.pop() {
            // The order of UTF-8 is that of its characters; no character is between those before and behind the surrogates.
            if let Some(next) = (last..=char::MAX).nth(1) {
                letters.push(next);
                return Some(letters.into_iter().collect());
            }
        }
        None
    }

    /// True where the name matches.
    pub fn matches(&self, name: &str) -> bool {
        let Some(mut rest) = name.strip_prefix(self.prefix()) else {
            return false;
        };
        let Some((last, middle)) = self.pieces[1..].split_last() else {
            return rest.is_empty();
        };
        for piece in middle {
            let Some(at) = rest.find(piece.as_str()) else {
                return false;
            };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_behind_all_names_with_it() {
        for (prefix, end) in [
            ("", None),
            ("a", Some("b")),
            ("a*", Some("a+")),
            ("a\u{7f}", Some("a\u{80}")),
            ("\u{d7ff}", Some("\u{e000}")),
            ("a\u{10ffff}", Some("b")),
            ("\u{10ffff}", None),
        ] {
            let pattern = Pattern::starting_with(prefix);
            assert_eq!(pattern.end().as_deref(), end, "{prefix:?}");
        }
    }

    #[test]
    fn g102_only_the_star_is_a_wildcard() {
        let matches = |pattern: &str, name: &str| Pattern::parse(pattern).matches(name);
        for (pattern, name) in [
            ("a*", "a"),
            ("a*c", "abc"),
            ("*", ""),
            ("a\\*", "a*"),
            ("a\\\\", "a\\"),
            ("*x*", "axb"),
            ("a_b", "a_b"),
            ("\\a", "\\a"),
        ] {
            assert!(matches(pattern, name), "{pattern} should match {name}");
        }
        for (pattern, name) in [
            ("a_b", "axb"),
            ("a%", "ab"),
            ("a?", "ab"),
            ("[ab]", "a"),
            ("a\\*", "ab"),
            ("a", "ab"),
            ("a*a", "a"),
            ("ab*ba", "aba"),
        ] {
            assert!(!matches(pattern, name), "{pattern} should not match {name}");
        }
    }
}
