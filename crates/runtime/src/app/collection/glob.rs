//! Patterns of files below the app's folder: `*` and `?` stand for letters of one name, `**` for any folders.

use std::fmt;

/// A pattern of files.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DocumentPattern(Vec<String>);

impl DocumentPattern {
    /// Reads a pattern; `Err` is the rule that it breaks.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let parts: Vec<String> = text.split('/').map(str::to_owned).collect();
        let is_name = |part: &String| !part.is_empty() && part != "." && part != "..";
        let is_plain = !text.contains(['\\', '[', ']', '{', '}', '\0']);
        match parts.iter().all(is_name) && is_plain {
            true => Ok(Self(parts)),
            false => Err(
                "must be a path below the app's folder with /, in which only *, ? and ** have a meaning",
            ),
        }
    }

    /// Whether a path is one of those that are meant.
    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        matches_path(&self.0, &names)
    }

    /// The folders in front of the first name that stands for several, in which all files are.
    pub fn folder(&self) -> String {
        let folders = self.0.split_last().map_or(&[][..], |(_, folders)| folders);
        let fixed = folders.iter().take_while(|name| !name.contains(['*', '?']));
        let fixed: Vec<&str> = fixed.map(String::as_str).collect();
        fixed.join("/")
    }
}

impl fmt::Debug for DocumentPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.join("/"), out)
    }
}

/// Each `**` first stands for nothing; where that does not lead on, the last one takes one folder more.
fn matches_path(pattern: &[String], names: &[&str]) -> bool {
    let (mut at, mut name) = (0, 0);
    let mut retry = None;
    while name < names.len() {
        let part = pattern.get(at).map(String::as_str);
        if part == Some("**") && at + 1 < pattern.len() {
            retry = Some((at + 1, name));
            at += 1;
        } else if part == Some("**") {
            return true;
        } else if part.is_some_and(|part| matches_name(part, names[name])) {
            (at, name) = (at + 1, name + 1);
        } else if let Some((behind, from)) = retry {
            retry = Some((behind, from + 1));
            (at, name) = (behind, from + 1);
        } else {
            return false;
        }
    }
    at == pattern.len()
}

/// The same for the letters of a name.
fn matches_name(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let letters: Vec<char> = name.chars().collect();
    let (mut at, mut letter) = (0, 0);
    let mut retry = None;
    while letter < letters.len() {
        match pattern.get(at) {
            Some('*') => {
                retry = Some((at + 1, letter));
                at += 1;
            }
            Some(part) if *part == '?' || *part == letters[letter] => {
                (at, letter) = (at + 1, letter + 1);
            }
            _ => {
                let Some((behind, from)) = retry else {
                    return false;
                };
                retry = Some((behind, from + 1));
                (at, letter) = (behind, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|part| *part == '*')
}

#[cfg(test)]
mod tests {
    use super::DocumentPattern;

    #[test]
    fn stars_stand_for_letters_and_two_of_them_for_folders() {
        for (pattern, path, expected) in [
            ("docs/**/*.md", "docs/a.md", true),
            ("docs/**/*.md", "docs/a/b/c.md", true),
            ("docs/**/*.md", "docs/a/b/c.txt", false),
            ("docs/**/*.md", "other/a.md", false),
            ("docs/*.md", "docs/a/b.md", false),
            ("docs/**", "docs/a/b.md", true),
            ("docs/**", "docs", false),
            ("**/x/**/y.md", "x/x/a/y.md", true),
            ("**/x/**/y.md", "a/y.md", false),
            ("a?c*.t*t", "abcd.txt.t", true),
            ("a?c", "ac", false),
            ("*", "a", true),
            ("a", "a/b", false),
            ("a/b", "a", false),
        ] {
            let read = DocumentPattern::parse(pattern).unwrap();
            assert_eq!(read.matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        for wrong in [
            "", "/etc/*", "../a", "a/../b", "a//b", "a\\b", "{a,b}", "./a",
        ] {
            assert!(DocumentPattern::parse(wrong).is_err(), "{wrong}");
        }
        let folder = |text: &str| DocumentPattern::parse(text).unwrap().folder();
        assert_eq!(folder("docs/x/**/*.md"), "docs/x");
        assert_eq!(folder("docs/x.md"), "docs");
        assert_eq!(folder("*.md"), "");
    }
}
