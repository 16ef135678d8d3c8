//! JSON, with comments and trailing commas where the format allows them.

use super::DEPTH;
use super::node::{ConfigKey, ConfigNode, ConfigValue, FilePosition, SyntaxError};
use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, ParseOptions, Scanner, ScannerOptions, parse_to_ast};

/// What may be in the text besides JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFlavour {
    /// Nothing.
    Strict,
    /// Comments and trailing commas.
    Commented,
}

/// The tree of a text.
pub fn parse(text: &str, flavour: JsonFlavour) -> Result<ConfigNode, SyntaxError> {
    let is_commented = flavour == JsonFlavour::Commented;
    let options = ParseOptions {
        allow_comments: is_commented,
        allow_trailing_commas: is_commented,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let places = TextPositions::new(text);
    if let Some(at) = too_deep(text) {
        return Err(SyntaxError {
            at: Some(places.spot(at)),
            message: "lists and objects are nested too deeply".to_owned(),
        });
    }
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| SyntaxError {
        at: Some(places.spot(error.range().start)),
        message: lower_first(&error.kind().to_string()),
    })?;
    match parsed.value {
        Some(value) => places.node(&value),
        None => Err(SyntaxError {
            at: None,
            message: "the file is empty".to_owned(),
        }),
    }
}

/// Where lists and objects are nested more deeply than the parser's stack is sure to bear. What is no JSON is left to the
/// parser.
fn too_deep(text: &str) -> Option<usize> {
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    let mut depth = 0_usize;
    while let Ok(Some(token)) = scanner.scan() {
        match token {
            Token::OpenBrace | Token::OpenBracket => depth += 1,
            Token::CloseBrace | Token::CloseBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH {
            return Some(scanner.token_start());
        }
    }
    None
}

/// Messages here begin in lower case, as all others do.
fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Finds lines and columns.
struct TextPositions<'a> {
    text: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl<'a> TextPositions<'a> {
    fn new(text: &'a str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(breaks).collect();
        Self { text, lines }
    }

    fn spot(&self, at: usize) -> FilePosition {
        let line = self.lines.partition_point(|start| *start <= at).max(1);
        let before = self.text.get(self.lines[line - 1]..at);
        let column = before.map_or(1, |before| before.chars().count() + 1);
        let count = |number| u32::try_from(number).unwrap_or(u32::MAX);
        FilePosition {
            line: count(line),
            column: count(column),
        }
    }

    fn node(&self, value: &Value<'_>) -> Result<ConfigNode, SyntaxError> {
        let at = self.spot(value.range().start);
        let fault = |message: &str| SyntaxError {
            at: Some(at),
            message: message.to_owned(),
        };
        let content = match value {
            Value::NullKeyword(_) => ConfigValue::Null,
            Value::BooleanLit(flag) => ConfigValue::Boolean(flag.value),
            Value::StringLit(text) => ConfigValue::Text(text.value.clone().into_owned()),
            Value::NumberLit(number) => {
                let number = serde_json::from_str(number.value);
                ConfigValue::Number(number.map_err(|_| fault("the number is out of range"))?)
            }
            Value::Array(list) => {
                let items = list.elements.iter();
                let items = items.map(|item| self.node(item));
                ConfigValue::List(items.collect::<Result<_, _>>()?)
            }
            Value::Object(object) => {
                let entries = object.properties.iter().map(|entry| {
                    let text = match &entry.name {
                        ObjectPropName::String(name) => name.value.clone().into_owned(),
                        ObjectPropName::Word(name) => name.value.to_owned(),
                    };
                    let at = self.spot(entry.range.start);
                    Ok((ConfigKey { at, text }, self.node(&entry.value)?))
                });
                ConfigValue::Object(entries.collect::<Result<_, _>>()?)
            }
        };
        Ok(ConfigNode { at, content })
    }
}
