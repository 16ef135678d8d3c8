//! What files say of the settings of agents, as it is written: `$ENV.NAME` stays a name.

use super::read::ConfigNode;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// What files say, by file.
#[derive(Clone, Default)]
pub struct WrittenSettings(BTreeMap<String, Value>);

/// Who writes a secret into a file does not see it in logs.
impl fmt::Debug for WrittenSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.0.keys()).finish()
    }
}

impl WrittenSettings {
    /// All that a file says.
    pub fn keep(&mut self, file: &str, node: &ConfigNode) {
        self.0.insert(file.to_owned(), node.value());
    }

    /// What a file says below an object: these keys alone.
    pub fn keep_keys(&mut self, file: &str, node: Option<&ConfigNode>, keys: &[&str]) {
        let named = keys.iter().filter_map(|key| {
            let value = node?.get(key)?.value();
            Some(((*key).to_owned(), value))
        });
        let named: Map<String, Value> = named.collect();
        self.0.insert(file.to_owned(), Value::Object(named));
    }

    /// What is kept of a file; null where nothing is.
    pub fn of(&self, file: &str) -> &Value {
        self.0.get(file).unwrap_or(&Value::Null)
    }
}
