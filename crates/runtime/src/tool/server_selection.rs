//! Which tool servers an agent names, and what of them it uses.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool server that an agent names: `"id"` or `{server_id, tools?, resources?}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ServerSelection {
    /// All of it.
    Whole(String),
    /// Some of it.
    Parts {
        /// The server, as the agent names it.
        server_id: String,
        /// Its tools, by name or pattern; without the list all of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<String>>,
        /// Its resources, by name, address or pattern; without the list all of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        resources: Option<Vec<String>>,
    },
}

impl Default for ServerSelection {
    fn default() -> Self {
        Self::Whole(String::new())
    }
}

impl ServerSelection {
    /// The server, as the agent names it.
    pub fn id(&self) -> &str {
        match self {
            Self::Whole(id) | Self::Parts { server_id: id, .. } => id,
        }
    }

    /// What an entry of `mcp.servers` in a package says, which may also be `{"id": ["tool"]}` or `{"id": {tools, resources}}`.
    pub fn of_entry(entry: &Value) -> Self {
        let Some(object) = entry.as_object() else {
            return Self::Whole(entry.as_str().unwrap_or_default().to_owned());
        };
        let texts = |list: &Value| {
            let texts = list.as_array()?.iter().filter_map(Value::as_str);
            Some(texts.map(str::to_owned).collect())
        };
        let parts = |id: &str, what: &Value| Self::Parts {
            server_id: id.to_owned(),
            tools: what.get("tools").and_then(texts),
            resources: what.get("resources").and_then(texts),
        };
        if let Some(id) = object.get("server_id") {
            return parts(id.as_str().unwrap_or_default(), entry);
        }
        match object.iter().next() {
            None => Self::default(),
            Some((id, tools @ Value::Array(_))) => Self::Parts {
                server_id: id.clone(),
                tools: texts(tools),
                resources: None,
            },
            Some((id, what)) => parts(id, what),
        }
    }

    /// Whether an entry names one server.
    pub fn check_entry(entry: &Value) -> Result<(), String> {
        let names = match entry.as_object() {
            Some(object) if !object.contains_key("server_id") => object,
            _ => return Ok(()),
        };
        if names.len() == 1 {
            return Ok(());
        }
        let names: Vec<String> = names.keys().map(|name| format!("\"{name}\"")).collect();
        let names = match names.as_slice() {
            [] => "nothing".to_owned(),
            names => names.join(", "),
        };
        Err(format!(
            "an entry names one server, this one names {names}: give each one of its own"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_of_no_or_several_servers_is_refused() {
        for (entry, names) in [
            (json!({"a": [], "b": []}), "\"a\", \"b\""),
            (json!({}), "nothing"),
        ] {
            let rule = format!(
                "an entry names one server, this one names {names}: give each one of its own"
            );
            assert_eq!(ServerSelection::check_entry(&entry), Err(rule));
        }
        for entry in [
            json!("a"),
            json!({"a": []}),
            json!({"server_id": "a", "tools": []}),
        ] {
            assert_eq!(ServerSelection::check_entry(&entry), Ok(()));
        }
    }
}
