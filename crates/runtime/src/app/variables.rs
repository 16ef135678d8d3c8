//! What `$ENV.NAME` stands for: `.env` of the app, and behind it the variables that the app was given.

use super::problem::{FileProblem, Severity};
use std::collections::BTreeMap;
use std::fmt;

/// Variables by name. They hold secrets: neither names nor values are ever shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EnvVariables(BTreeMap<String, String>);

impl fmt::Debug for EnvVariables {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Variables({} of them)", self.0.len())
    }
}

impl EnvVariables {
    /// The given variables, and in front of them those of an `.env` file.
    pub fn new(given: &BTreeMap<String, String>, own: BTreeMap<String, String>) -> Self {
        let mut all = given.clone();
        all.extend(own);
        Self(all)
    }

    /// The value of a variable, if it is set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The variable that a whole text names.
    pub fn named(text: &str) -> Option<&str> {
        let name = text.strip_prefix("$ENV.")?;
        is_name(name).then_some(name)
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.bytes();
    let is_first = |letter: u8| letter.is_ascii_alphabetic() || letter == b'_';
    letters.next().is_some_and(is_first)
        && letters.all(|letter| is_first(letter) || letter.is_ascii_digit())
}

/// The variables of an `.env` file: lines `NAME=value`, with `export ` in front or not, values in quotes or not.
pub fn parse(file: &str, text: &str, problems: &mut Vec<FileProblem>) -> BTreeMap<String, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut variables = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut problem = |message: &str| {
            problems.push(FileProblem {
                line: Some(number),
                ..FileProblem::new(Severity::Error, file, message)
            });
        };
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else {
            problem("a line must be NAME=value, a comment or empty");
            continue;
        };
        let name = name.trim();
        if !is_name(name) {
            problem("the name before = must be letters, digits and _");
            continue;
        }
        match value_of(value.trim()) {
            Some(value) => drop(variables.insert(name.to_owned(), value)),
            None => problem("the quotes around the value are not closed"),
        }
    }
    variables
}

/// Between double quotes `\n`, `\"`, `\\` and the like count; between single ones nothing does; without any, ` #` begins a comment.
fn value_of(text: &str) -> Option<String> {
    match text.chars().next() {
        Some('"') => double_quoted(&text[1..]),
        Some('\'') => Some(text[1..].split_once('\'')?.0.to_owned()),
        _ => Some(
            text.split(" #")
                .next()
                .unwrap_or_default()
                .trim_end()
                .to_owned(),
        ),
    }
}

fn double_quoted(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut letters = text.chars();
    loop {
        match letters.next()? {
            '"' => return Some(value),
            '\\' => match letters.next()? {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
}
