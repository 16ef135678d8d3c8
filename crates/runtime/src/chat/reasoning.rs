//! What a provider wants back unchanged with the next call: signatures, encrypted thoughts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a part says which connector made it.
const CONNECTOR: &str = "connector";

/// A part of a model's reasoning, in the words of the provider that made it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReasoningPart {
    /// What only that provider understands.
    pub fields: Map<String, Value>,
}

impl ReasoningPart {
    /// A part that the provider calls this.
    pub fn new(kind: &str) -> Self {
        Self::default().with("type", kind)
    }

    /// The same with this field.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// What the provider calls it.
    pub fn kind(&self) -> Option<&str> {
        self.fields.get("type")?.as_str()
    }

    /// Notes the connector that made it.
    pub fn set_connector(&mut self, connector: &str) {
        self.fields.insert(CONNECTOR.to_owned(), connector.into());
    }

    /// Takes the note of the connector away. True where the part may go to this one: it made it, or nobody says who did.
    pub fn take_connector(&mut self, connector: &str) -> bool {
        let owner = self.fields.shift_remove(CONNECTOR);
        owner.is_none_or(|owner| owner == connector)
    }
}

impl From<Map<String, Value>> for ReasoningPart {
    fn from(fields: Map<String, Value>) -> Self {
        Self { fields }
    }
}
