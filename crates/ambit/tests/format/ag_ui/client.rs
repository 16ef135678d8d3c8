//! A client of AG-UI 1.0 that checks what it is sent, as the official one does, and keeps the messages.

use super::patch;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The keys of each event, with `?` behind those that may be left out. `subagentRunId` is said where it may stand.
const SCHEMA: &[(&str, &str)] = &[
    ("RUN_STARTED", "threadId runId protocolVersion metadata"),
    ("RUN_FINISHED", "threadId runId result? outcome usage?"),
    ("RUN_ERROR", "message code usage?"),
    ("STEP_STARTED", "stepName subagentRunId?"),
    ("STEP_FINISHED", "stepName subagentRunId?"),
    (
        "SUBAGENT_STARTED",
        "name parentSubagentRunId? parentToolCallId? subagentRunId",
    ),
    ("SUBAGENT_FINISHED", "subagentRunId"),
    ("SUBAGENT_ERROR", "message code subagentRunId"),
    ("TEXT_MESSAGE_START", "messageId role subagentRunId?"),
    ("TEXT_MESSAGE_CONTENT", "messageId delta subagentRunId?"),
    ("TEXT_MESSAGE_END", "messageId subagentRunId?"),
    ("REASONING_START", "messageId subagentRunId?"),
    ("REASONING_MESSAGE_START", "messageId role subagentRunId?"),
    (
        "REASONING_MESSAGE_CONTENT",
        "messageId delta subagentRunId?",
    ),
    ("REASONING_MESSAGE_END", "messageId subagentRunId?"),
    ("REASONING_END", "messageId subagentRunId?"),
    (
        "TOOL_CALL_START",
        "toolCallId toolCallName parentMessageId subagentRunId?",
    ),
    ("TOOL_CALL_ARGS", "toolCallId delta subagentRunId?"),
    ("TOOL_CALL_END", "toolCallId subagentRunId?"),
    (
        "TOOL_CALL_RESULT",
        "messageId toolCallId content role metadata? subagentRunId?",
    ),
    (
        "ACTIVITY_SNAPSHOT",
        "messageId activityType content replace? subagentRunId?",
    ),
    (
        "ACTIVITY_DELTA",
        "messageId activityType patch subagentRunId?",
    ),
    ("STATE_SNAPSHOT", "snapshot"),
    ("STATE_DELTA", "delta"),
    ("CUSTOM", "name value subagentRunId?"),
];

/// What a client holds.
#[derive(Default)]
pub struct AgUiClient {
    /// Texts, thoughts and activities by id, and the arguments of calls by the id of their call.
    content: BTreeMap<String, Value>,
    /// What has taken the place of what.
    replaced: BTreeMap<String, String>,
    /// The tools of calls.
    tools: BTreeMap<String, String>,
    /// What is open: kind and id, or the owner and the name of a step.
    open: BTreeSet<(&'static str, String)>,
    /// Whose each thing is.
    owners: BTreeMap<(&'static str, String), Value>,
    subagents: BTreeSet<String>,
    results: BTreeSet<String>,
}

impl AgUiClient {
    /// Takes in the events of a run; what breaks a rule fails the test.
    pub fn of(events: &[Value]) -> Self {
        let mut client = Self::default();
        let last = events.len() - 1;
        for (at, event) in events.iter().enumerate() {
            let kind = event["type"].as_str().unwrap();
            check_keys(kind, event.as_object().unwrap());
            assert_eq!(at == 0, kind == "RUN_STARTED", "{event}");
            let is_end = matches!(kind, "RUN_FINISHED" | "RUN_ERROR");
            assert_eq!(at == last, is_end, "{event}");
            client.take(kind, event);
        }
        assert!(client.open.is_empty(), "{:?} is open", client.open);
        client
    }

    /// What is held of the message that had this id first.
    pub fn held(&self, id: &str) -> Option<&Value> {
        let mut id = id.to_owned();
        while let Some(next) = self.replaced.get(&id) {
            id.clone_from(next);
        }
        let call = id.split('.').take(2).collect::<Vec<_>>().join("_");
        self.content
            .get(&id)
            .or_else(|| self.content.get(&format!("call_{call}")))
    }

    /// The tools and arguments of all calls.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str)> {
        let calls = self.tools.iter();
        calls.map(|(id, tool)| (tool.as_str(), self.content[id].as_str().unwrap()))
    }

    fn take(&mut self, kind: &str, event: &Value) {
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let (id, call) = (text("messageId"), text("toolCallId"));
        match kind {
            "TEXT_MESSAGE_START" => self.begin("message", &id, event, json!("")),
            "TEXT_MESSAGE_CONTENT" => self.say("message", &id, event),
            "TEXT_MESSAGE_END" => self.end("message", &id, event),
            "REASONING_START" => self.start("span", &id, event),
            "REASONING_MESSAGE_START" => self.begin("reasoning", &id, event, json!("")),
            "REASONING_MESSAGE_CONTENT" => self.say("reasoning", &id, event),
            "REASONING_MESSAGE_END" => self.end("reasoning", &id, event),
            "REASONING_END" => self.end("span", &id, event),
            "TOOL_CALL_START" => {
                let parent = ("message", text("parentMessageId"));
                let owner = self
                    .owners
                    .entry(parent)
                    .or_insert_with(|| event["subagentRunId"].clone());
                assert_eq!(*owner, event["subagentRunId"], "{event}");
                self.tools.insert(call.clone(), text("toolCallName"));
                self.begin("call", &call, event, json!(""));
            }
            "TOOL_CALL_ARGS" => self.say("call", &call, event),
            "TOOL_CALL_END" => self.end("call", &call, event),
            "TOOL_CALL_RESULT" => {
                let is_whole = self.content.contains_key(&call)
                    && !self.open.contains(&("call", call.clone()));
                assert!(is_whole && self.results.insert(call), "{event}");
            }
            "ACTIVITY_SNAPSHOT" => {
                let known = self.content.insert(id, event["content"].clone());
                assert_eq!(known.is_some(), event["replace"] == true, "{event}");
            }
            "ACTIVITY_DELTA" => patch::apply(self.content.get_mut(&id).unwrap(), &event["patch"]),
            "CUSTOM" if event["name"] == "ambit.replaced" => {
                let text = |name: &str| event["value"][name].as_str().unwrap().to_owned();
                assert!(!self.content.contains_key(&text("by")), "{event}");
                self.replaced.insert(text("id"), text("by"));
            }
            "STEP_STARTED" => self.start("step", &step(event), event),
            "STEP_FINISHED" => self.end("step", &step(event), event),
            "SUBAGENT_STARTED" => self.start_subagent(event),
            "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" => {
                self.end("subagent", &text("subagentRunId"), event);
            }
            "RUN_FINISHED" => {
                let pending = event["outcome"]["pendingToolCallIds"].as_array();
                for call in pending.into_iter().flatten() {
                    let call = call.as_str().unwrap();
                    assert!(self.tools.contains_key(call) && !self.results.contains(call));
                }
            }
            _ => {}
        }
    }

    fn start_subagent(&mut self, event: &Value) {
        let id = event["subagentRunId"].as_str().unwrap();
        assert!(self.subagents.insert(id.to_owned()), "{event}");
        let parent = event["parentSubagentRunId"].as_str();
        assert!(parent.is_none_or(|parent| self.subagents.contains(parent)));
        let call = event["parentToolCallId"].as_str();
        assert!(call.is_none_or(|call| self.tools.contains_key(call)));
        self.start("subagent", id, event);
    }

    fn start(&mut self, kind: &'static str, id: &str, event: &Value) {
        assert!(self.open.insert((kind, id.to_owned())), "{event}");
        let owner = event["subagentRunId"].clone();
        let known = self.owners.entry((kind, id.to_owned()));
        assert_eq!(*known.or_insert_with(|| owner.clone()), owner, "{event}");
    }

    /// An id that was used never begins again.
    fn begin(&mut self, kind: &'static str, id: &str, event: &Value, content: Value) {
        self.start(kind, id, event);
        assert!(
            self.content.insert(id.to_owned(), content).is_none(),
            "{event}"
        );
    }

    fn say(&mut self, kind: &'static str, id: &str, event: &Value) {
        assert!(self.open.contains(&(kind, id.to_owned())), "{event}");
        self.check_owner(kind, id, event);
        let delta = event["delta"].as_str().unwrap();
        assert!(!delta.is_empty(), "{event}");
        let content = self.content.get_mut(id).unwrap();
        *content = format!("{}{delta}", content.as_str().unwrap()).into();
    }

    fn end(&mut self, kind: &'static str, id: &str, event: &Value) {
        assert!(self.open.remove(&(kind, id.to_owned())), "{event}");
        self.check_owner(kind, id, event);
    }

    fn check_owner(&self, kind: &'static str, id: &str, event: &Value) {
        let owner = &self.owners[&(kind, id.to_owned())];
        assert_eq!(*owner, event["subagentRunId"], "{event}");
    }
}

/// A step is known by its name and its owner.
fn step(event: &Value) -> String {
    format!("{} of {}", event["stepName"], event["subagentRunId"])
}

/// Checks that an event has the keys of its schema, and none that is null.
fn check_keys(kind: &str, event: &Map<String, Value>) {
    let (_, keys) = SCHEMA.iter().find(|(name, _)| *name == kind).unwrap();
    let keys: Vec<&str> = keys.split(' ').collect();
    for (name, value) in event.iter().filter(|(name, _)| *name != "type") {
        let is_known = keys.iter().any(|key| key.trim_end_matches('?') == name);
        assert!(is_known && !value.is_null(), "{name} of {event:?}");
    }
    let needed = keys.iter().filter(|key| !key.ends_with('?'));
    for key in needed {
        assert!(event.contains_key(*key), "{key} of {event:?}");
    }
}
