//! What the events of a turn say, read in one place for all who follow its stream.

use super::{Frame, MessageStatus};
use serde_json::{Map, Value};

/// An event, as far as readers of streams look into it. It borrows from its frame. Scripts may send events of most names by
/// hand: what is missing, or has another type than the runtime gives it, is read as if it were not there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TurnEvent<'a> {
    /// The turn begins.
    StreamStart(StreamStartEvent<'a>),
    /// The turn ends.
    StreamEnd(StreamEndEvent<'a>),
    /// A message begins, or a change of one that had ended.
    MessageStart(MessageStartEvent<'a>),
    /// A message ends, or a change of one that had ended.
    MessageEnd {
        /// The message.
        message_id: &'a str,
        /// How it ended.
        status: Option<MessageStatus>,
    },
    /// A thread begins.
    ThreadStart(ThreadStartEvent<'a>),
    /// A thread ends.
    ThreadEnd {
        /// The thread.
        thread_id: &'a str,
        /// How it ended.
        status: Option<MessageStatus>,
    },
    /// A model is asked.
    StepStart {
        /// The thread that asks it; none where that is the turn itself.
        thread_id: Option<&'a str>,
        /// Which step it is, from 0.
        index: u64,
    },
    /// A model has answered, or failed.
    StepEnd(StepEndEvent<'a>),
    /// References were found.
    References {
        /// The thread that has found them; none where that is the turn itself.
        thread_id: Option<&'a str>,
        /// The list of them.
        references: Option<&'a Value>,
    },
    /// The state that clients share, as a whole.
    StateSnapshot(&'a Value),
    /// What has changed of the state that clients share: a JSON Patch.
    StateDelta(&'a Value),
    /// Messages have come in meanwhile.
    Interrupt {
        /// The list of them. Logs of earlier versions do not have it.
        messages: Option<&'a Value>,
    },
    /// What a provider wants back of its model's reasoning.
    ReasoningPart(Option<&'a Map<String, Value>>),
    /// Every other event.
    Other,
}

/// What `stream_start` says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamStartEvent<'a> {
    /// The run context.
    pub context_id: Option<&'a str>,
    /// The turn.
    pub request_id: Option<&'a str>,
    /// The chat's name.
    pub chat_id: Option<&'a str>,
    /// The trace.
    pub trace_id: Option<&'a str>,
    /// The agent.
    pub assistant_id: Option<&'a str>,
    /// The first of the turns whose answer this one continues.
    pub continues: Option<&'a str>,
}

/// What `stream_end` says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamEndEvent<'a> {
    /// `completed`, `error` or `cancelled`.
    pub status: Option<&'a str>,
    /// Why the turn failed.
    pub error: Option<&'a str>,
    /// The failure by meaning.
    pub code: Option<&'a str>,
    /// Why the model ended its last answer.
    pub finish_reason: Option<&'a str>,
    /// When it ended, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// What was spent.
    pub usage: Option<&'a Value>,
    /// What was spent, model by model.
    pub usage_by_model: Option<&'a Value>,
    /// What the agent's `Next` hook gave.
    pub next: Option<&'a Value>,
}

/// What `message_start` says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageStartEvent<'a> {
    /// The message.
    pub message_id: &'a str,
    /// Its type.
    pub kind: Option<&'a str>,
    /// The block it stands in.
    pub block_id: Option<&'a str>,
    /// The thread it stands in.
    pub thread_id: Option<&'a str>,
    /// Whether it had ended before.
    pub is_amendment: bool,
    /// The call of a tool that it shows.
    pub tool_call: Option<ToolCallStartEvent<'a>>,
    /// The agent that says it, if that is not the turn's.
    pub assistant_id: Option<&'a str>,
}

/// What the start of a message says of the call that it shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolCallStartEvent<'a> {
    /// The tool, as the model calls it.
    pub name: Option<&'a str>,
    /// Whether the client runs it.
    pub is_client: bool,
}

/// What `thread_start` says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadStartEvent<'a> {
    /// The thread.
    pub thread_id: &'a str,
    /// The agent that speaks there.
    pub assistant_id: Option<&'a str>,
    /// The thread that it comes from.
    pub parent_thread_id: Option<&'a str>,
    /// The message that shows the call of the tool whose script began it.
    pub call_message_id: Option<&'a str>,
}

/// What `step_end` says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepEndEvent<'a> {
    /// The thread that has asked the model; none where that is the turn itself.
    pub thread_id: Option<&'a str>,
    /// Which step it is, from 0.
    pub index: u64,
    /// Why the model ended its answer.
    pub finish_reason: Option<&'a str>,
    /// Whether another model is asked in its place.
    pub is_retried: bool,
}

impl<'a> TurnEvent<'a> {
    /// Reads an event; `None` where the frame is of a message.
    pub fn read(frame: &'a Frame) -> Option<Self> {
        if frame.kind != "event" {
            return None;
        }
        let (Some(name), Some(data)) = (frame.event_name(), frame.event_data()) else {
            return Some(Self::Other);
        };
        let fields = EventFields {
            data,
            thread_id: frame.thread_id.as_deref(),
        };
        Some(fields.event(name).unwrap_or(Self::Other))
    }
}

impl StreamEndEvent<'_> {
    /// Whether the turn was stopped before its end.
    pub fn is_cancelled(&self) -> bool {
        self.status == Some("cancelled")
    }
}

/// The data of an event, and the thread of its frame.
struct EventFields<'a> {
    data: &'a Map<String, Value>,
    thread_id: Option<&'a str>,
}

impl<'a> EventFields<'a> {
    /// The event of this name; `None` where it lacks what makes it one.
    fn event(&self, name: &str) -> Option<TurnEvent<'a>> {
        Some(match name {
            "stream_start" => TurnEvent::StreamStart(self.stream_start()),
            "stream_end" => TurnEvent::StreamEnd(self.stream_end()),
            "message_start" => TurnEvent::MessageStart(self.message_start()?),
            "message_end" => TurnEvent::MessageEnd {
                message_id: self.text("message_id")?,
                status: self.status(),
            },
            "thread_start" => TurnEvent::ThreadStart(self.thread_start()),
            "thread_end" => TurnEvent::ThreadEnd {
                thread_id: self.thread_id().unwrap_or_default(),
                status: self.status(),
            },
            "step_start" => TurnEvent::StepStart {
                thread_id: self.thread_id(),
                index: self.index(),
            },
            "step_end" => TurnEvent::StepEnd(self.step_end()),
            "references" => TurnEvent::References {
                thread_id: self.thread_id(),
                references: self.data.get("references"),
            },
            "state" => match self.data.get("snapshot") {
                Some(snapshot) => TurnEvent::StateSnapshot(snapshot),
                None => TurnEvent::StateDelta(self.data.get("delta")?),
            },
            "interrupt" => TurnEvent::Interrupt {
                messages: self.data.get("messages"),
            },
            "reasoning_part" => {
                TurnEvent::ReasoningPart(self.data.get("part").and_then(Value::as_object))
            }
            _ => return None,
        })
    }

    fn stream_start(&self) -> StreamStartEvent<'a> {
        StreamStartEvent {
            context_id: self.text("context_id"),
            request_id: self.text("request_id"),
            chat_id: self.text("chat_id"),
            trace_id: self.text("trace_id"),
            assistant_id: self.inner_text("assistant", "assistant_id"),
            continues: self.text("continues"),
        }
    }

    fn stream_end(&self) -> StreamEndEvent<'a> {
        StreamEndEvent {
            status: self.text("status"),
            error: self.text("error"),
            code: self.text("code"),
            finish_reason: self.text("finish_reason"),
            timestamp: self.data.get("timestamp").and_then(Value::as_i64),
            usage: self.data.get("usage"),
            usage_by_model: self.data.get("usage_by_model"),
            next: self.data.get("next"),
        }
    }

    fn message_start(&self) -> Option<MessageStartEvent<'a>> {
        let tool_call = self.data.get("tool_call").map(|call| ToolCallStartEvent {
            name: call.get("name").and_then(Value::as_str),
            is_client: is_true(call.get("client")),
        });
        Some(MessageStartEvent {
            message_id: self.text("message_id")?,
            kind: self.text("type"),
            block_id: self.text("block_id"),
            thread_id: self.text("thread_id"),
            is_amendment: is_true(self.data.get("amend")),
            tool_call,
            assistant_id: self.inner_text("extra", "assistant_id"),
        })
    }

    fn thread_start(&self) -> ThreadStartEvent<'a> {
        ThreadStartEvent {
            thread_id: self.thread_id().unwrap_or_default(),
            assistant_id: self.text("assistant_id"),
            parent_thread_id: self.text("parent_thread_id"),
            call_message_id: self.text("call_message_id"),
        }
    }

    fn step_end(&self) -> StepEndEvent<'a> {
        StepEndEvent {
            thread_id: self.thread_id(),
            index: self.index(),
            finish_reason: self.text("finish_reason"),
            is_retried: is_true(self.data.get("retried")),
        }
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.data.get(name).and_then(Value::as_str)
    }

    fn inner_text(&self, object: &str, name: &str) -> Option<&'a str> {
        self.data.get(object)?.get(name)?.as_str()
    }

    fn thread_id(&self) -> Option<&'a str> {
        self.text("thread_id").or(self.thread_id)
    }

    fn index(&self) -> u64 {
        let index = self.data.get("index").and_then(Value::as_u64);
        index.unwrap_or_default()
    }

    fn status(&self) -> Option<MessageStatus> {
        self.text("status").and_then(MessageStatus::parse)
    }
}

fn is_true(value: Option<&Value>) -> bool {
    value == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::{MessageStartEvent, StepEndEvent, StreamEndEvent, ToolCallStartEvent, TurnEvent};
    use crate::frame::{Frame, MessageStatus};
    use serde_json::{Value, json};

    const NAMES: [&str; 12] = [
        "stream_start",
        "stream_end",
        "message_start",
        "message_end",
        "thread_start",
        "thread_end",
        "step_start",
        "step_end",
        "references",
        "state",
        "interrupt",
        "reasoning_part",
    ];

    #[test]
    fn a_frame_of_a_message_is_no_event() {
        let frame = Frame {
            kind: "text".to_owned(),
            ..Frame::event("stream_end", "", json!({"status": "completed"}))
        };
        assert_eq!(TurnEvent::read(&frame), None);
    }

    #[test]
    fn an_event_of_another_name_or_without_data_is_some_other_event() {
        let free = Frame::event("progress", "", json!({"status": "completed"}));
        assert_eq!(TurnEvent::read(&free), Some(TurnEvent::Other));
        for data in [Value::Null, json!("step"), json!(["step"])] {
            for name in NAMES {
                let frame = Frame::event(name, "", data.clone());
                assert_eq!(TurnEvent::read(&frame), Some(TurnEvent::Other), "{name}");
            }
        }
    }

    #[test]
    fn a_message_start_tells_whose_call_it_shows() {
        let data = json!({"message_id": "M1", "type": "tool_call", "thread_id": "T1", "amend": true,
            "tool_call": {"name": "get_weather", "client": true}, "extra": {"assistant_id": "a"}});
        let expected = MessageStartEvent {
            message_id: "M1",
            kind: Some("tool_call"),
            block_id: None,
            thread_id: Some("T1"),
            is_amendment: true,
            tool_call: Some(ToolCallStartEvent {
                name: Some("get_weather"),
                is_client: true,
            }),
            assistant_id: Some("a"),
        };
        let frame = Frame::event("message_start", "", data);
        assert_eq!(
            TurnEvent::read(&frame),
            Some(TurnEvent::MessageStart(expected))
        );
    }

    #[test]
    fn a_step_is_of_the_thread_of_its_data_or_else_of_its_frame() {
        let step = |thread_id| StepEndEvent {
            thread_id,
            index: 2,
            finish_reason: Some("stop"),
            is_retried: false,
        };
        let data = json!({"index": 2, "finish_reason": "stop"});
        let mut frame = Frame::event("step_end", "", data);
        assert_eq!(
            TurnEvent::read(&frame),
            Some(TurnEvent::StepEnd(step(None)))
        );
        frame.thread_id = Some("T1".to_owned());
        assert_eq!(
            TurnEvent::read(&frame),
            Some(TurnEvent::StepEnd(step(Some("T1"))))
        );
        frame.props["data"]["thread_id"] = json!("T2");
        assert_eq!(
            TurnEvent::read(&frame),
            Some(TurnEvent::StepEnd(step(Some("T2"))))
        );
    }

    #[test]
    fn fields_of_another_type_are_as_if_they_were_not_there() {
        let data = json!({"status": 1, "error": {}, "code": [], "finish_reason": true, "timestamp": "now"});
        let frame = Frame::event("stream_end", "", data);
        let nothing = StreamEndEvent::default();
        assert_eq!(TurnEvent::read(&frame), Some(TurnEvent::StreamEnd(nothing)));
        let frame = Frame::event("thread_end", "", json!({"thread_id": 7, "status": "over"}));
        let expected = TurnEvent::ThreadEnd {
            thread_id: "",
            status: None,
        };
        assert_eq!(TurnEvent::read(&frame), Some(expected));
        let frame = Frame::event("message_end", "", json!({"message_id": 7}));
        assert_eq!(TurnEvent::read(&frame), Some(TurnEvent::Other));
    }

    #[test]
    fn a_message_ends_with_one_of_three_states() {
        let data = json!({"message_id": "M1", "status": "partial"});
        let frame = Frame::event("message_end", "", data);
        let expected = TurnEvent::MessageEnd {
            message_id: "M1",
            status: Some(MessageStatus::Partial),
        };
        assert_eq!(TurnEvent::read(&frame), Some(expected));
    }
}
