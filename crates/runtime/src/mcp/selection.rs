//! What an agent wants of the servers that it names.

use crate::tool::ServerSelection;
use ambit_storage::pattern::Pattern;

/// What an agent wants of one server.
pub struct ServerFilter {
    /// The server, as the agent names it.
    pub id: String,
    tools: NameFilter,
    resources: NameFilter,
}

/// Names or patterns; `None` for all.
type NameFilter = Option<Vec<Pattern>>;

impl ServerFilter {
    /// What an agent says of the server.
    pub fn of(selection: &ServerSelection) -> Self {
        let (tools, resources) = match selection {
            ServerSelection::Whole(_) => (None, None),
            ServerSelection::Parts {
                tools, resources, ..
            } => (filter(tools.as_ref()), filter(resources.as_ref())),
        };
        Self {
            id: selection.id().to_owned(),
            tools,
            resources,
        }
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
pub struct ServerSelections(Vec<ServerFilter>);

impl ServerSelections {
    /// Of these entries.
    pub fn of(entries: impl Iterator<Item = ServerFilter>) -> Self {
        Self(entries.collect())
    }

    /// Whether one of them wants this tool.
    pub fn tool(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted.takes_tool(name))
    }

    /// Whether one of them wants the resource of these names and addresses.
    pub fn resource(&self, names: &[&str]) -> bool {
        let takes = |wanted: &ServerFilter| wanted.takes_resource(names);
        self.0.is_empty() || self.0.iter().any(takes)
    }
}

fn filter(names: Option<&Vec<String>>) -> NameFilter {
    let names = names?.iter();
    Some(names.map(|name| Pattern::parse(name)).collect())
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
    use serde_json::{Value, json};

    /// The id, and which of `read`, `read_all`, `write` and of the resources `a` and `b` are wanted.
    fn read(entry: &Value) -> (String, Vec<&'static str>) {
        let wanted = ServerFilter::of(&ServerSelection::of_entry(entry));
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
