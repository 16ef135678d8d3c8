//! Which servers an agent names, and which of their tools and resources: `"id"`, `{server_id, tools?, resources?}`,
//! `{"id": ["tool"]}`, `{"id": {tools, resources}}`.

use ambit_storage::pattern::Pattern;
use serde_json::Value;

/// One server that an agent names.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSelection {
    /// The server, as the agent names it.
    pub id: String,
    tools: NameFilter,
    resources: NameFilter,
}

/// Names or patterns; `None` for all.
type NameFilter = Option<Vec<Pattern>>;

impl ServerSelection {
    /// What an entry of `mcp.servers` says.
    pub fn of(entry: &Value) -> Self {
        let all = |id: &str| Self {
            id: id.to_owned(),
            tools: None,
            resources: None,
        };
        let Some(object) = entry.as_object() else {
            return all(entry.as_str().unwrap_or_default());
        };
        if let Some(id) = object.get("server_id") {
            return Self {
                tools: filter(object.get("tools")),
                resources: filter(object.get("resources")),
                ..all(id.as_str().unwrap_or_default())
            };
        }
        let Some((id, what)) = object.iter().next() else {
            return all("");
        };
        match what {
            Value::Array(_) => Self {
                tools: filter(Some(what)),
                ..all(id)
            },
            what => Self {
                tools: filter(what.get("tools")),
                resources: filter(what.get("resources")),
                ..all(id)
            },
        }
    }

    /// Whether an entry names one server.
    pub fn check(entry: &Value) -> Result<(), String> {
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

    /// Whether the agent wants this tool.
    pub fn takes_tool(&self, name: &str) -> bool {
        takes(&self.tools, name)
    }

    /// Whether the agent wants the resource that can be called by these names and addresses.
    pub fn takes_resource(&self, names: &[&str]) -> bool {
        names.iter().any(|name| takes(&self.resources, name))
    }
}

/// What all entries that name one server want of it. Where there is none, nothing is left out.
pub struct ServerSelections(Vec<ServerSelection>);

impl ServerSelections {
    /// Of these entries.
    pub fn of(entries: impl Iterator<Item = ServerSelection>) -> Self {
        Self(entries.collect())
    }

    /// Whether one of them wants this tool.
    pub fn tool(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted.takes_tool(name))
    }

    /// Whether one of them wants the resource of these names and addresses.
    pub fn resource(&self, names: &[&str]) -> bool {
        let takes = |wanted: &ServerSelection| wanted.takes_resource(names);
        self.0.is_empty() || self.0.iter().any(takes)
    }
}

fn filter(value: Option<&Value>) -> NameFilter {
    let names = value?.as_array()?.iter().filter_map(Value::as_str);
    Some(names.map(Pattern::parse).collect())
}

fn takes(filter: &NameFilter, name: &str) -> bool {
    match filter {
        None => true,
        Some(patterns) => patterns.iter().any(|pattern| pattern.matches(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The id, and which of `read`, `read_all`, `write` and of the resources `a` and `b` are wanted.
    fn read(entry: &Value) -> (String, Vec<&'static str>) {
        let wanted = ServerSelection::of(entry);
        let mut takes = Vec::new();
        takes.extend(
            ["read", "read_all", "write"]
                .iter()
                .filter(|it| wanted.takes_tool(it)),
        );
        let resources = [("a", "x://a"), ("b", "x://b")];
        let found = resources
            .iter()
            .filter(|(name, uri)| wanted.takes_resource(&[name, uri]));
        takes.extend(found.map(|(name, _)| name));
        (wanted.id, takes)
    }

    #[test]
    fn an_entry_of_no_or_several_servers_is_refused() {
        for (entry, names) in [
            (json!({"a": [], "b": []}), "\"a\", \"b\""),
            (json!({}), "nothing"),
        ] {
            let rule = format!(
                "an entry names one server, this one names {names}: give each one of its own"
            );
            assert_eq!(ServerSelection::check(&entry), Err(rule));
        }
        for entry in [
            json!("a"),
            json!({"a": []}),
            json!({"server_id": "a", "tools": []}),
        ] {
            assert_eq!(ServerSelection::check(&entry), Ok(()));
        }
    }

    #[test]
    fn every_form_of_an_entry_is_read() {
        let all = vec!["read", "read_all", "write", "a", "b"];
        for (entry, takes) in [
            (json!("s"), all.clone()),
            (json!({"server_id": "s"}), all),
            (
                json!({"server_id": "s", "tools": ["read*"], "resources": []}),
                vec!["read", "read_all"],
            ),
            (json!({"s": ["write"]}), vec!["write", "a", "b"]),
            (
                json!({"s": {"tools": ["*"], "resources": ["x://a"]}}),
                vec!["read", "read_all", "write", "a"],
            ),
            (json!({"s": {"tools": [], "resources": ["b"]}}), vec!["b"]),
        ] {
            assert_eq!(read(&entry), ("s".to_owned(), takes), "{entry}");
        }
    }
}
