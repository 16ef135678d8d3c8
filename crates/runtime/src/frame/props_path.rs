//! Places inside a message's props: `content`, `rows.0.name`, `dotted\.key`.

use serde_json::{Map, Value};

/// A path has at most so many steps, so that what it makes can be read again by everybody.
const STEPS: usize = 32;
const REFUSED: [&str; 3] = ["__proto__", "prototype", "constructor"];

/// A place relative to `props`; without steps it is the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropsPath {
    text: String,
    steps: Vec<String>,
}

impl PropsPath {
    /// Reads a path; a leading `props.` changes nothing. `None` where it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text == "props" {
            return Some(Self::default());
        }
        let text = text.strip_prefix("props.").unwrap_or(text);
        let mut steps = vec![String::new()];
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                '\\' if chars.next_if_eq(&'.').is_some() => push(&mut steps, '.'),
                '.' => steps.push(String::new()),
                other => push(&mut steps, other),
            }
        }
        let is_refused = |step: &String| step.is_empty() || REFUSED.contains(&step.as_str());
        if steps.len() > STEPS || steps.iter().any(is_refused) {
            return None;
        }
        let text = text.to_owned();
        Some(Self { text, steps })
    }

    /// A single key of the props.
    pub fn key(name: &str) -> Self {
        Self {
            text: name.replace('.', "\\."),
            steps: vec![name.to_owned()],
        }
    }

    /// The path as it is written on the wire.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its steps.
    pub fn steps(&self) -> &[String] {
        &self.steps
    }

    /// True for the whole props.
    pub fn is_whole(&self) -> bool {
        self.steps.is_empty()
    }

    /// The path as people are told it.
    pub fn name(&self) -> &str {
        if self.is_whole() { "props" } else { &self.text }
    }

    /// The part of the path before this step, as people are told it.
    pub fn before(&self, step: usize) -> String {
        match step {
            0 => "props".to_owned(),
            _ => {
                let steps = self.steps.iter().take(step);
                let steps: Vec<String> = steps.map(|step| step.replace('.', "\\.")).collect();
                steps.join(".")
            }
        }
    }

    /// Props that carry this value at this path; each step is the key of an object.
    pub fn props_with(&self, value: Value) -> Map<String, Value> {
        let nested = self.steps.iter().rev().fold(value, |inner, step| {
            let mut outer = Map::new();
            outer.insert(step.clone(), inner);
            Value::Object(outer)
        });
        match nested {
            Value::Object(props) => props,
            _ => Map::new(),
        }
    }

    /// The value that such props carry.
    pub fn carried<'a>(&self, props: &'a Map<String, Value>) -> Option<&'a Value> {
        let (first, rest) = self.steps.split_first()?;
        let first = props.get(first)?;
        rest.iter().try_fold(first, |value, step| value.get(step))
    }
}

fn push(steps: &mut [String], char: char) {
    if let Some(step) = steps.last_mut() {
        step.push(char);
    }
}
