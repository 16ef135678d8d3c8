//! The events of a turn, beside those of contexts and storages. Fields marked ✎ are the ones that a listener may change.

use crate::chat::{ChatMessage, ModelCall};
use ambit_storage::event::EventMetadata;
use ambit_storage::events;
use ambit_storage::storage::Message;
use serde_json::{Map, Value, json};

events! {
    /// A turn has taken its conversation.
    After ConversationStarted {}
    /// A turn has ended; comes once and last.
    After ConversationEnded {
        /// `completed`, `failed`, `vetoed` or `cancelled`.
        status: &'static str,
        /// Why, if it failed.
        message: Option<String>,
    }
    /// The agent's instructions go along with a request that brings its own messages.
    Before BeforeReinjectingInstructions {
        /// ✎ The instructions.
        instructions: Vec<ChatMessage>,
    }
    /// A person's message is about to be taken in; a veto stores nothing.
    Before BeforeSend {
        /// ✎ The message.
        message: ChatMessage,
    }
    /// A model is about to be called.
    Before BeforeResponse {
        /// ✎ The messages, tools and options of the call.
        request: ModelCall,
    }
    /// A model has answered.
    After AfterResponse {
        /// The answer.
        response: ChatMessage,
    }
    /// What a model said is stored.
    After AfterSend {
        /// The message.
        message: Message,
    }
    /// A tool is about to be called; a veto answers the model with an error.
    Before BeforeToolExecution {
        /// The tool.
        tool: String,
        /// The call.
        call_id: String,
        /// ✎ Its arguments.
        arguments: Value,
    }
    /// A tool call has ended.
    After AfterToolExecution {
        /// The tool.
        tool: String,
        /// The call.
        call_id: String,
        /// Its arguments.
        arguments: Value,
        /// What it gave.
        result: Option<Value>,
        /// Why it failed.
        error: Option<String>,
    }
    /// A tool server offers a tool more or less than when the agent was last told of them.
    After ToolChanged {
        /// The tool, as models call it.
        tool: String,
        /// Whether it is there now.
        added: bool,
    }
    /// An answer in a given form is about to be handed on.
    Before BeforeStructuredOutput {
        /// ✎ The answer.
        response: Value,
    }
    /// The messages of a turn are about to be closed off.
    Before BeforeSaveHistory {
        /// The messages.
        messages: Vec<Message>,
    }
}

/// The fields of an event beside those that every event has.
pub type EventPayload = Map<String, Value>;

/// What every event says, and what this one says besides.
pub(crate) fn described(about: &EventMetadata, payload: EventPayload) -> EventPayload {
    let common = json!({
        "event_id": about.event_id, "at": about.at, "tenant": about.tenant, "agent_name": about.agent_name,
        "identity": about.identity, "turn_id": about.turn_id, "caller_id": about.caller_id,
    });
    let mut all = match common {
        Value::Object(all) => all,
        _ => EventPayload::new(),
    };
    all.extend(payload);
    all
}
