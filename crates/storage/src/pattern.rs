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
