//! The options of a call as layers say them one after the other, and who has said which.

use super::CallOptions;
use crate::chat::{LayeredValues, OptionLayer, overrule};
use serde_json::{Map, Value, json};
use std::mem;

/// What is said of a call.
#[derive(Clone, Debug, Default)]
pub struct LayeredCallOptions {
    /// What counts.
    pub call: CallOptions,
    /// Who has said what of the model's settings: `connector`, `mode`, `preset`, `servers`, `uses` and `search`.
    pub settings: LayeredValues,
    /// Who has said what of how the answer is to be generated.
    pub options: LayeredValues,
}

impl LayeredCallOptions {
    /// Merges what a layer says, which counts before all that is there.
    pub fn merge(&mut self, layer: OptionLayer, said: CallOptions) {
        let options = Map::from(said.generation.clone());
        let named = settings(&said);
        self.call = mem::take(&mut self.call).merge(said);
        for ((name, said), (_, value)) in named.into_iter().zip(settings(&self.call)) {
            if !is_nothing(&said) {
                overrule(&mut self.settings, layer, name, value);
            }
        }
        for (name, value) in options {
            overrule(&mut self.options, layer, &name, value);
        }
    }
}

fn settings(call: &CallOptions) -> [(&'static str, Value); 6] {
    [
        ("connector", json!(call.connector)),
        ("mode", json!(call.mode)),
        ("preset", json!(call.prompt_preset)),
        ("servers", json!(call.mcp_servers)),
        ("uses", json!(call.uses)),
        ("search", json!(call.search)),
    ]
}

fn is_nothing(said: &Value) -> bool {
    said.is_null() || said.as_object().is_some_and(Map::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    fn said(options: Value) -> CallOptions {
        CallOptions::deserialize(options).unwrap()
    }

    #[test]
    fn what_was_overruled_is_known_by_who_had_said_it() {
        let mut all = LayeredCallOptions::default();
        let app = json!({"uses": {"vision": "eyes"}});
        let package = json!({"connector": "one", "options": {"temperature": 1, "seed": 3}, "uses": {"audio": "ears"}});
        all.merge(OptionLayer::Package, said(app));
        all.merge(OptionLayer::Package, said(package));
        all.merge(
            OptionLayer::Request,
            said(json!({"connector": "two", "options": {"temperature": 0.5}})),
        );
        all.merge(
            OptionLayer::Create,
            said(json!({"options": {"temperature": 0.1}})),
        );
        let settings = json!({
            "connector": {"value": "two", "layer": "request", "over": {"package": "one"}},
            "uses": {"value": {"audio": "ears", "vision": "eyes"}, "layer": "package"},
        });
        assert_eq!(json!(all.settings), settings);
        let options = json!({
            "temperature": {"value": 0.1, "layer": "create", "over": {"package": 1, "request": 0.5}},
            "seed": {"value": 3, "layer": "package"},
        });
        assert_eq!(json!(all.options), options);
        assert_eq!(
            json!(all.call.generation),
            json!({"temperature": 0.1, "seed": 3})
        );
    }
}
