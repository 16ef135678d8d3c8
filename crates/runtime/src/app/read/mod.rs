//! Reading a configuration file: text to a tree of values that know their place, and the tree to plain values by a table of
//! the keys it may have. Nothing here knows which files there are.

pub mod fields;
pub mod json;
pub mod node;
pub mod reader;
pub mod table;
pub mod yaml;

pub use fields::Fields;
pub use node::{Content, Node, Spot};
pub use reader::Reader;
pub use table::{Field, Kind};

use node::Fault;
use std::path::Path;

/// So deep may lists and objects of a file be nested: what the stack of a thread bears in a build for development.
const DEPTH: usize = 32;

/// The tree of a file's text, in the format that its name says.
pub fn parse(file: &str, text: &str) -> Result<Node, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let ending = Path::new(file)
        .extension()
        .and_then(|ending| ending.to_str());
    match ending {
        Some("json") => json::parse(text, json::Flavour::Strict),
        Some("yao") if is_json(text) => json::parse(text, json::Flavour::Commented),
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
