//! What the checks read of Rust's text: names of types, signatures, paths. They know no more of the language than that.

/// The names of the types that a text defines, in order.
pub fn type_names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let is_indented = line.starts_with(' ');
        let line = without_visibility(line.trim_start());
        let line = line.strip_prefix("unsafe ").unwrap_or(line);
        let (keyword, rest) = line.split_once(' ')?;
        let defines = match keyword {
            "struct" | "enum" | "trait" | "union" => true,
            // Within a block it is an associated type.
            "type" => !is_indented,
            _ => false,
        };
        defines
            .then(|| identifier(rest))
            .filter(|name| !name.is_empty())
    })
}

/// A function's name and the text between its parentheses.
#[derive(Debug, PartialEq, Eq)]
pub struct Signature<'a> {
    pub name: &'a str,
    parameters: &'a str,
}

impl Signature<'_> {
    /// Whether a parameter is a tuple, or a reference to one.
    pub fn takes_tuple(&self) -> bool {
        pieces(self.parameters).any(|parameter| {
            let Some((_, kind)) = parameter.split_once(": ") else {
                return false;
            };
            // A pattern has colons of its own only behind its braces.
            let kind = kind.rsplit_once("): ").map_or(kind, |(_, kind)| kind);
            let kind = without_reference(kind.trim());
            let inside = kind.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
            inside.is_some_and(|inside| pieces(inside).count() > 1)
        })
    }
}

/// The functions of a text that take something.
pub fn signatures(text: &str) -> impl Iterator<Item = Signature<'_>> {
    text.match_indices("fn ").filter_map(|(at, keyword)| {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let begins_word = text[..at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace);
        if !begins_word || text[line..at].contains("//") {
            return None;
        }
        let rest = &text[at + keyword.len()..];
        let name = identifier(rest);
        let rest = &rest[name.len()..];
        let rest = match rest.starts_with('<') {
            true => &rest[closing(rest)?..],
            false => rest,
        };
        rest.starts_with('(').then_some(())?;
        let parameters = &rest[1..closing(rest)? - 1];
        (!name.is_empty()).then_some(Signature { name, parameters })
    })
}

/// The modules at the root of its crate that a text names: in `crate::name`, also within `use crate::{…}`.
pub fn root_modules(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.match_indices("crate::") {
        let rest = &text[line.0 + line.1.len()..];
        match rest.strip_prefix('{') {
            None => found.push(identifier(rest)),
            Some(_) => {
                let Some(end) = closing(rest) else { continue };
                found.extend(pieces(&rest[1..end - 1]).map(|piece| identifier(piece.trim_start())));
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

fn without_visibility(line: &str) -> &str {
    let Some(rest) = line.strip_prefix("pub") else {
        return line;
    };
    let rest = match rest.starts_with('(') {
        true => closing(rest).map_or(rest, |end| &rest[end..]),
        false => rest,
    };
    rest.strip_prefix(' ').unwrap_or(line)
}

fn without_reference(kind: &str) -> &str {
    let Some(rest) = kind.strip_prefix('&') else {
        return kind;
    };
    let rest = match rest.strip_prefix('\'') {
        Some(lifetime) => lifetime.split_once(' ').map_or(lifetime, |(_, rest)| rest),
        None => rest,
    };
    rest.strip_prefix("mut ").unwrap_or(rest)
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Where the bracket that a text begins with is closed: behind its last character.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if before == '-' || before == '=' => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + letter.len_utf8());
        }
        before = letter;
    }
    None
}

/// What stands between the commas that are in no bracket.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let mut before = ' ';
    text.split(move |letter| {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if before == '-' || before == '=' => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        before = letter;
        letter == ',' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::{Signature, root_modules, signatures, type_names};

    #[test]
    fn types_are_found_whatever_their_visibility() {
        let text = "pub(in crate::a) struct One<T>(T);\nenum Two {\n    type Item = u8;\ntype Three = u8;\npub unsafe trait Four {}\n// struct Five;\n";
        let names: Vec<_> = type_names(text).collect();
        assert_eq!(names, ["One", "Two", "Three", "Four"]);
    }

    #[test]
    fn tuples_are_found_behind_generics_and_references() {
        let takes = |text| signatures(text).any(|found| Signature::takes_tuple(&found));
        for text in [
            "fn f((a, b): (u8, u8)) {}\n",
            "pub fn f<T: Into<u8>>(x: T, pair: &'a mut (u8, T)) {}\n",
            "    fn f(\n        &self,\n        pair: (u8, u8),\n    ) -> u8 {\n",
        ] {
            assert!(takes(text), "{text}");
        }
        for text in [
            "fn f(a: u8) -> (u8, u8) {}\n",
            "fn f(a: &[(u8, u8)], none: (), g: fn((u8, u8))) {}\n",
            "fn f(a: &mut (dyn FnMut(u8, u8) + Send), b: &(dyn Error + 'static)) {}\n",
        ] {
            assert!(!takes(text), "{text}");
        }
    }

    #[test]
    fn modules_are_found_in_lists_too() {
        let text = "use crate::a::B;\nuse crate::{c::{D, E}, f};\nfn g() { crate::h::i() }\n";
        assert_eq!(root_modules(text), ["a", "c", "f", "h"]);
    }
}
