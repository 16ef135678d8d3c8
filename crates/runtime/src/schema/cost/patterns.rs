//! What the patterns of a schema cost. Every check compiles each of them, and boon lets it become as large as 10 MB.

use regex::RegexBuilder;
use serde_json::{Map, Value};

/// Patterns within a schema, at most.
const PATTERNS: usize = 100;
/// Characters of a pattern, at most.
const LENGTH: usize = 1_000;
/// Steps that it takes to read all patterns, at most.
const READING: usize = 500_000;
/// KiB that all patterns take when they are compiled, at most: each may take its share.
const SIZE: usize = 25 << 10;
/// KiB that one of them takes, at most: boon compiles none that is larger.
const LARGEST: usize = 10 << 10;
/// Characters of a pattern that a message shows.
const SHOWN: usize = 60;

/// The patterns of a schema itself, without those within its parts.
pub fn patterns_of(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let pattern = schema.get("pattern").and_then(Value::as_str);
    let properties = schema.get("patternProperties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|fields| fields.keys());
    pattern.into_iter().chain(names.map(String::as_str))
}

/// Whether all patterns of a schema can be afforded, or why not.
pub fn check_patterns(patterns: &[&str]) -> Result<(), String> {
    if patterns.len() > PATTERNS {
        return Err(format!("it has more than {PATTERNS} patterns"));
    }
    if let Some(long) = patterns.iter().find(|it| it.chars().nth(LENGTH).is_some()) {
        let long = start(long);
        return Err(format!(
            "its pattern \"{long}\" has more than {LENGTH} characters"
        ));
    }
    let steps: usize = patterns.iter().map(|it| reading_steps(it)).sum();
    if steps > READING {
        return Err("its patterns have too many escapes: shorten those with the most".to_owned());
    }
    let share = (SIZE / patterns.len().max(1)).min(LARGEST);
    match patterns.iter().find(|it| !is_within(it, share)) {
        None => Ok(()),
        Some(large) => Err(format!(
            "its pattern \"{}\" may take more than {share} KiB: repeat less in it, and write \\x01 for \\cA",
            start(large)
        )),
    }
}

/// Steps that it takes to read a text as a pattern: it is read again for each escape.
pub fn reading_steps(text: &str) -> usize {
    text.len() * (1 + text.matches('\\').count())
}

/// The same for all texts of a value, of which any may be a pattern.
pub fn reading_steps_of_all(value: &Value) -> usize {
    match value {
        Value::String(text) => reading_steps(text),
        Value::Array(items) => items.iter().map(reading_steps_of_all).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| reading_steps(name) + reading_steps_of_all(field))
            .sum(),
        _ => 0,
    }
}

/// Whether a pattern takes at most so many KiB when it is compiled, or is none that can be compiled.
fn is_within(pattern: &str, size: usize) -> bool {
    let build = |text: &str| RegexBuilder::new(text).size_limit(size << 10).build();
    let Some(with_classes) = with_ascii_classes(pattern) else {
        return false;
    };
    match build(&with_classes) {
        Ok(_) => true,
        // Text of an example, or a pattern that only JavaScript knows: boon fails too. What fails only with these classes
        // could be compiled without them.
        Err(regex::Error::Syntax(_)) => matches!(build(pattern), Err(regex::Error::Syntax(_))),
        Err(_) => false,
    }
}

/// The pattern as boon compiles it, with the classes of JavaScript, which are far smaller than those of Unicode. `None` where
/// it has `\c`: boon puts the character itself there, and where white space is ignored that is another pattern.
fn with_ascii_classes(pattern: &str) -> Option<String> {
    let mut written = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            written.push(letter);
            continue;
        }
        match letters.next() {
            Some('d') => written.push_str("[0-9]"),
            Some('D') => written.push_str("[^0-9]"),
            Some('w') => written.push_str("[A-Za-z0-9_]"),
            Some('W') => written.push_str("[^A-Za-z0-9_]"),
            Some('s') => written.push_str(r"[\t-\r\x20\u{A0}\u{FEFF}\u{2003}\u{2029}]"),
            Some('S') => written.push_str(r"[^\t-\r\x20\u{A0}\u{FEFF}\u{2003}\u{2029}]"),
            Some('c') => return None,
            other => {
                written.push('\\');
                written.extend(other);
            }
        }
    }
    Some(written)
}

fn start(pattern: &str) -> String {
    pattern.chars().take(SHOWN).collect()
}
