//! Who has said what of a call of a model.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::mem;
use utoipa::ToSchema;

/// Who says something of a call, the lowest first: what later ones say counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OptionLayer {
    /// The encoder, which adds it.
    Provider,
    /// The connector.
    Connector,
    /// The package of the agent, and the app.
    Package,
    /// The request.
    Request,
    /// Another agent or a script that calls the agent or the model.
    Call,
    /// What `Create` has returned.
    Create,
    /// A listener.
    Listener,
}

/// A setting or an option of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LayeredValue {
    /// What counts.
    pub value: Value,
    /// Who has said it.
    pub layer: OptionLayer,
    /// What was overruled, by who had said it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Object)]
    pub over: BTreeMap<OptionLayer, Value>,
}

/// Settings or options by name.
pub type LayeredValues = IndexMap<String, LayeredValue>;

impl LayeredValue {
    /// A value of this layer, which overrules nothing.
    pub fn new(layer: OptionLayer, value: Value) -> Self {
        Self {
            value,
            layer,
            over: BTreeMap::new(),
        }
    }

    /// Puts what a higher layer says in the place of the value.
    pub fn overrule(&mut self, layer: OptionLayer, value: Value) {
        let below = mem::replace(self, Self::new(layer, value));
        self.over = below.over;
        if below.layer != layer {
            self.over.insert(below.layer, below.value);
        }
    }
}

/// Puts what a layer says of a name in the place of what those below it say.
pub fn overrule(values: &mut LayeredValues, layer: OptionLayer, name: &str, value: Value) {
    match values.get_mut(name) {
        Some(below) => below.overrule(layer, value),
        None => {
            values.insert(name.to_owned(), LayeredValue::new(layer, value));
        }
    }
}
