//! Examples of calls and of what resources hold.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An example, as a line of its file: `{name?, description?, input, output?}` of a tool, `{name?, description?, uri?, data?}` of a
/// resource, and whatever else the file says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct McpSample(Map<String, Value>);

impl McpSample {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// As scripts get it: these keys first, `null` where they are not given, and its number.
    pub fn numbered(&self, keys: &[&str], index: usize) -> Value {
        let keys = keys.iter().map(|key| ((*key).to_owned(), Value::Null));
        let mut fields: Map<String, Value> = keys.collect();
        fields.extend(self.0.clone());
        fields.insert("index".to_owned(), index.into());
        Value::Object(fields)
    }
}
