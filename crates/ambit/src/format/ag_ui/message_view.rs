//! What a client holds of one message, under the id that it has for it now.

use super::event::{AgUiEventContent, ResultMetadata};
use ambit_runtime::frame::OutputMessage;
use ambit_runtime::frame::change::MessageProps;
use serde_json::{Value, json};

/// What kind of thing a message is in this protocol, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventForm {
    Text,
    Reasoning,
    Call,
    /// Something for the client to do, told once, when it is complete.
    Action,
    /// Everything else is an activity of this type.
    Activity,
}

impl EventForm {
    /// The form of messages of a type.
    pub fn of(kind: &str) -> Self {
        match kind {
            "text" => Self::Text,
            "thinking" => Self::Reasoning,
            "tool_call" => Self::Call,
            "action" => Self::Action,
            _ => Self::Activity,
        }
    }
}

/// A message as the client has it.
pub struct MessageView {
    /// Its id in the turn's list.
    id: String,
    /// The id of the call that it shows, if it is one.
    call_id: String,
    /// How often something else has taken its place.
    replacements: usize,
    /// What is shown under its present id; none where nothing is.
    pub shown: Option<EventForm>,
    /// Whether more of it may come.
    pub is_open: bool,
    /// Its arguments are streamed, as those of models are.
    pub is_streamed_call: bool,
    /// Whether the result of its call, or the action, is told.
    pub is_settled: bool,
}

impl MessageView {
    pub fn new(id: String, call_id: String) -> Self {
        Self {
            id,
            call_id,
            replacements: 0,
            shown: None,
            is_open: false,
            is_streamed_call: false,
            is_settled: false,
        }
    }

    /// The id under which the client has it now.
    pub fn id(&self) -> String {
        match self.replacements {
            0 => self.id.clone(),
            count => format!("{}.r{count}", self.id),
        }
    }

    /// The id of the call that it shows.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Whether a text or a thought of this form goes on here.
    pub fn goes_on(&self, form: EventForm) -> bool {
        self.is_open && self.shown == Some(form)
    }

    /// Begins a text or a thought.
    pub fn begin(&mut self, form: EventForm) -> Vec<AgUiEventContent> {
        (self.shown, self.is_open) = (Some(form), true);
        let message_id = self.id();
        match form {
            EventForm::Reasoning => vec![
                AgUiEventContent::ReasoningStart {
                    message_id: message_id.clone(),
                },
                AgUiEventContent::ReasoningMessageStart {
                    message_id,
                    role: "reasoning",
                },
            ],
            _ => vec![AgUiEventContent::TextMessageStart {
                message_id,
                role: "assistant",
            }],
        }
    }

    /// More of the text or thought.
    pub fn say(&self, form: EventForm, text: &str) -> Option<AgUiEventContent> {
        let (message_id, delta) = (self.id(), text.to_owned());
        (!text.is_empty()).then(|| match form {
            EventForm::Reasoning => AgUiEventContent::ReasoningMessageContent { message_id, delta },
            _ => AgUiEventContent::TextMessageContent { message_id, delta },
        })
    }

    /// Begins the call of a tool.
    pub fn begin_call(&mut self, name: &str, parent: String) -> AgUiEventContent {
        (self.shown, self.is_open) = (Some(EventForm::Call), true);
        AgUiEventContent::ToolCallStart {
            tool_call_id: self.call_id.clone(),
            tool_call_name: name.to_owned(),
            parent_message_id: parent,
        }
    }

    /// More of the arguments.
    pub fn say_arguments(&self, text: &str) -> Option<AgUiEventContent> {
        (!text.is_empty()).then(|| AgUiEventContent::ToolCallArgs {
            tool_call_id: self.call_id.clone(),
            delta: text.to_owned(),
        })
    }

    /// What came of the call, once it is known and the call is whole.
    pub fn settle(&mut self, props: &MessageProps) -> Option<AgUiEventContent> {
        if self.is_open || self.is_settled || self.shown != Some(EventForm::Call) {
            return None;
        }
        let is_error = match props.get("status").and_then(Value::as_str) {
            Some("completed") => false,
            Some("error") => true,
            _ => return None,
        };
        self.is_settled = true;
        let value = props.get(if is_error { "error" } else { "result" });
        Some(AgUiEventContent::ToolCallResult {
            message_id: format!("{}.result", self.id),
            tool_call_id: self.call_id.clone(),
            content: words(value),
            role: "tool",
            metadata: is_error.then_some(ResultMetadata { is_error }),
        })
    }

    /// The state of an activity as a whole.
    pub fn snapshot(&mut self, message: &OutputMessage) -> AgUiEventContent {
        let replace = self.shown == Some(EventForm::Activity);
        self.shown = Some(EventForm::Activity);
        AgUiEventContent::ActivitySnapshot {
            message_id: self.id(),
            activity_type: message.kind.clone(),
            content: message.props.clone(),
            replace,
        }
    }

    /// Ends what is open.
    pub fn close(&mut self) -> Vec<AgUiEventContent> {
        if !std::mem::take(&mut self.is_open) {
            return Vec::new();
        }
        let message_id = self.id();
        match self.shown {
            Some(EventForm::Text) => vec![AgUiEventContent::TextMessageEnd { message_id }],
            Some(EventForm::Reasoning) => vec![
                AgUiEventContent::ReasoningMessageEnd {
                    message_id: message_id.clone(),
                },
                AgUiEventContent::ReasoningEnd { message_id },
            ],
            Some(EventForm::Call) => vec![AgUiEventContent::ToolCallEnd {
                tool_call_id: self.call_id.clone(),
            }],
            Some(EventForm::Action | EventForm::Activity) | None => Vec::new(),
        }
    }

    /// Gives what comes now an id of its own, if something is shown that it takes the place of.
    pub fn replace(&mut self) -> Vec<AgUiEventContent> {
        if self.shown.is_none() {
            return Vec::new();
        }
        let mut events = self.close();
        let id = self.id();
        self.replacements += 1;
        self.shown = None;
        events.push(AgUiEventContent::Custom {
            name: "ambit.replaced",
            value: json!({"id": id, "by": self.id()}),
        });
        events
    }
}

/// A result as a text: JSON, if it is none.
fn words(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}
