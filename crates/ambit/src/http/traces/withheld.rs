//! What traces do not show: instructions of the app and what models were told, which the manifests of calls name, and which values others
//! have in their memory.

use ambit_runtime::manifest::MemoryRead;
use ambit_runtime::trace::{has_cut_instructions, is_cut};
use serde_json::{Map, Value, json};

/// Which messages are not shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WithheldMessages {
    /// Those of the roles `system` and `developer`.
    Instructions,
    /// All.
    All,
}

/// The metadata of hooks that tells which values of memory they used.
const MEMORY: &str = "memory";

/// The event of a stored text as clients see it, who may know the user's memory or not; nothing where it is for no client.
pub fn event(text: &str, shows_user_memory: bool) -> Option<Value> {
    let mut event: Value = serde_json::from_str(text).unwrap_or_default();
    // A manifest lies beside the rows, and may be stored before the beginning of its node; that its call has begun is in a row.
    if event["type"] == "content" || event.get("manifest").is_some() {
        return None;
    }
    if let Some(Value::Object(node)) = event.get_mut("node") {
        let given = node.shift_remove("input").unwrap_or_default();
        let kind = node.get("type").and_then(Value::as_str);
        let metadata = node.get("metadata").and_then(Value::as_object);
        let call_id = metadata.and_then(|metadata| metadata.get("call_id"));
        let given = input(kind.unwrap_or_default(), call_id, given);
        node.insert("input".to_owned(), given);
    }
    if let Some(output) = event.get_mut("output") {
        *output = instructions(output.take());
    }
    if let Some(Value::Object(metadata)) = event.get_mut("metadata")
        && !shows_user_memory
    {
        withhold_user_memory(metadata);
    }
    Some(event)
}

/// Leaves out of the metadata of a node the values of the user's memory. Where it was cut, nobody knows whose they are.
pub fn withhold_user_memory(metadata: &mut Map<String, Value>) {
    if let Some(Value::Object(used)) = metadata.get_mut(MEMORY) {
        let lists = used.values_mut().filter_map(Value::as_array_mut);
        lists.for_each(|list| list.retain(|value| value["space"] != MemoryRead::USER));
        return;
    }
    metadata.shift_remove(MEMORY);
}

/// What went into a node, without what the manifest of its call has.
pub fn input(kind: &str, call_id: Option<&Value>, input: Value) -> Value {
    match (kind, call_id) {
        _ if input.is_null() => input,
        ("llm", Some(call_id)) => json!({"call_id": call_id}),
        ("llm", None) => withheld(),
        // What scripts and other agents say to models has any role.
        ("agent" | "hook" | "step", _) => WithheldMessages::All.without(input),
        _ => instructions(input),
    }
}

/// The value without what messages of the roles `system` and `developer` say.
pub fn instructions(value: Value) -> Value {
    WithheldMessages::Instructions.without(value)
}

impl WithheldMessages {
    fn without(self, value: Value) -> Value {
        match value {
            Value::String(text) if self.may_be_in(&text) => withheld(),
            Value::Array(items) => items.into_iter().map(|item| self.without(item)).collect(),
            Value::Object(members) => self.without_content(members),
            other => other,
        }
    }

    fn without_content(self, members: Map<String, Value>) -> Value {
        let role = members.get("role").and_then(Value::as_str);
        if let Some(role) = role.filter(|role| self.has(role))
            && members.contains_key("content")
        {
            return json!({"role": role, "withheld": true});
        }
        let members = members.into_iter();
        let members = members.map(|(name, member)| (name, self.without(member)));
        Value::Object(members.collect())
    }

    fn has(self, role: &str) -> bool {
        self == Self::All || matches!(role, "system" | "developer")
    }

    fn may_be_in(self, text: &str) -> bool {
        match self {
            Self::Instructions => has_cut_instructions(text),
            Self::All => is_cut(text),
        }
    }
}

fn withheld() -> Value {
    json!({"withheld": true})
}

#[cfg(test)]
mod tests {
    use super::{event, input, instructions};
    use serde_json::{Value, json};

    #[test]
    fn instructions_are_named_and_not_shown() {
        let messages = json!({"messages": [{"role": "system", "content": "secret"}, {"role": "user", "content": "hi"}]});
        let expected = json!({"messages": [{"role": "system", "withheld": true}, {"role": "user", "content": "hi"}]});
        assert_eq!(instructions(messages), expected);
        let cut = json!("[{\"content\":\"se… [cut, 70000 bytes with instructions]");
        assert_eq!(instructions(cut), json!({"withheld": true}));
        let shown = json!("[{\"content\":\"se… [cut, 70000 bytes]");
        assert_eq!(instructions(shown.clone()), shown);
    }

    #[test]
    fn g192_what_scripts_say_is_not_shown_whatever_its_role() {
        let given = json!([[{"role": "user", "content": "secret"}], {"locale": "en"}]);
        let expected = json!([[{"role": "user", "withheld": true}], {"locale": "en"}]);
        let cut = json!("[{\"content\":\"se… [cut, 70000 bytes]");
        for kind in ["agent", "hook", "step"] {
            assert_eq!(input(kind, None, given.clone()), expected);
            assert_eq!(input(kind, None, cut.clone()), json!({"withheld": true}));
        }
        assert_eq!(input("tool", None, given.clone()), given);
    }

    #[test]
    fn events_of_calls_name_them_and_hold_no_content() {
        let node = json!({"id": "n2", "type": "llm", "metadata": {"call_id": "r.call-0"}, "input": {"messages": ["secret"]}});
        let started = event(
            &json!({"type": "node_start", "node": node}).to_string(),
            true,
        )
        .unwrap();
        assert_eq!(started["node"]["input"], json!({"call_id": "r.call-0"}));
        let content = json!({"type": "content", "hash": "x", "content": "secret"});
        assert_eq!(event(&content.to_string(), true), None::<Value>);
        let call = json!({"type": "call", "call_id": "r.call-0", "node_id": "n2", "at": 1});
        assert_eq!(event(&call.to_string(), true), Some(call));
        let manifest = json!({"type": "call", "call_id": "r.call-0", "node_id": "n2", "at": 1, "manifest": "{}"});
        assert_eq!(event(&manifest.to_string(), true), None::<Value>);
    }

    #[test]
    fn keys_of_the_users_memory_are_shown_to_those_who_may_know_them() {
        let update = |memory: Value| {
            let fields = json!({"type": "node_updated", "id": "n2", "at": 1, "metadata": {"cpu_ms": 1, "memory": memory}});
            event(&fields.to_string(), false).unwrap()["metadata"].take()
        };
        let used = json!({"read": [{"space": "user", "key": "secret"}, {"space": "chat", "key": "topic"}], "written": []});
        let left = json!({"read": [{"space": "chat", "key": "topic"}], "written": []});
        assert_eq!(update(used), json!({"cpu_ms": 1, "memory": left}));
        let cut = json!("{\"read\":[{\"space\":\"us… [cut, 70000 bytes]");
        assert_eq!(update(cut), json!({"cpu_ms": 1}));
    }
}
