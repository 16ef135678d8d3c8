//! Reading a configuration file: text to a tree of values that know their place, and the tree to plain values by a table of
//! the keys it may have. Nothing here knows which files there are.

mod examples;
pub mod json;
mod json_schema;
pub mod node;
mod page;
pub mod reader;
pub mod yaml;

pub use crate::config::{
    ByteSize, ConfigObject, ConfigStruct, FieldSpec, FileKind, RawText, Setting, ValueKind, units,
};
pub use examples::{ExampleFile, FileExamples};
pub use json_schema::schema;
pub use node::{ConfigNode, ConfigValue, FilePosition};
pub use page::{PageOutline, WRITTEN, page};
pub use reader::ConfigReader;

use node::SyntaxError;
use std::path::Path;

/// So deep may lists and objects of a file be nested: what the stack of a thread bears in a build for development.
const DEPTH: usize = 32;

/// The tree of a file's text, in the format that its name says.
pub fn parse(file: &str, text: &str) -> Result<ConfigNode, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let ending = Path::new(file)
        .extension()
        .and_then(|ending| ending.to_str());
    match ending {
        Some("json") => json::parse(text, json::JsonFlavour::Strict),
        Some("yao") if is_json(text) => json::parse(text, json::JsonFlavour::Commented),
        _ => yaml::parse(text),
    }
}

/// Whether the first significant character opens an object or a list. Comments are not significant; one with `#` makes it YAML.
fn is_json(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        let after = if rest.starts_with("//") {
            rest.split_once('\n').map(|(_, after)| after)
        } else if rest.starts_with("/*") {
            rest.split_once("*/").map(|(_, after)| after)
        } else {
            return rest.starts_with(['{', '[']);
        };
        let Some(after) = after else { return false };
        rest = after.trim_start();
    }
}
