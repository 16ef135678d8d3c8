//! Where a message that a model is given comes from. It goes along with the message from where that is made to where it is sent,
//! and is no part of what it says.

use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};
use utoipa::ToSchema;

/// What a message is to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// A prompt of all agents, filled in.
    Global,
    /// A prompt of the agent, filled in.
    Prompt,
    /// A prompt of a preset, filled in.
    Preset,
    /// Samples of tools.
    Sample,
    /// References of automatic search.
    Reference,
    /// A stored message of an earlier turn.
    History,
    /// A message of this request.
    Request,
    /// A message that others have added while the turn ran.
    Appended,
    /// An earlier answer of this turn.
    Answer,
    /// What came of a tool's call in this turn.
    ToolResult,
    /// What stands for messages that were truncated.
    Summary,
    /// What stands for a result that is missing.
    Synthetic,
    /// From `Create`, or from a script to `ctx.llm`.
    Hook,
    /// From another agent.
    Delegate,
    /// Changed or added by a listener.
    Listener,
    /// Ambit's own: for titles and such.
    Builtin,
}

/// What a message was made of, as far as that has a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct BlockSource {
    /// A file of the app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The first 128 bits of the file's SHA-256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Which prompt of the file, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The variables that were filled in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// The server of a tool, or of all these tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What the server calls a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The tools of samples, as the model knows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What references are cited by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// What was searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// What was searched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// The stored message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The call of a model that has answered so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The stored entry of a summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlay_id: Option<String>,
    /// The strategy that has made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// The first message that it stands for, by its number in the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// The last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
    /// How many these are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The call whose result it is, as the model named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Why there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The function of a script that has made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The node of the trace in which it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
    /// The event whose listener has made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The listeners to the event, one of which has made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listener: Option<String>,
    /// What Ambit has made it for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Who has handed on a message as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlockVia {
    /// `Create`.
    Create,
    /// A listener.
    Listener,
}

/// What was taken out of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlockCut {
    /// `tool_result_limit`, `worded:<by>` or `other_thoughts`.
    pub reason: String,
    /// Which part of the content, from 0, where it has parts.
    pub part: Option<usize>,
    /// How many bytes of it.
    pub bytes: usize,
}

/// A message in numbers, as the encoder gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageMeasure {
    /// Its hash.
    pub hash: String,
    /// Its length as JSON.
    pub bytes: usize,
    /// Its tokens, as truncation estimates them.
    pub tokens: u64,
}

/// Where a message comes from, if that is noted. Messages are equal whatever it says.
#[derive(Clone, Debug, Default)]
pub struct MessageOrigin {
    noted: Option<Arc<NotedOrigin>>,
    /// Whether it says something else by now.
    pub is_changed: bool,
    /// What a model is not told of it.
    pub cuts: Vec<BlockCut>,
    /// Who has handed it on.
    pub via: Option<BlockVia>,
}

#[derive(Clone, Debug)]
struct NotedOrigin {
    kind: BlockKind,
    source: BlockSource,
    /// The turn that has stored the message.
    turn_id: Option<String>,
    /// The message in numbers, once they are known: of all its clones.
    measure: OnceLock<MessageMeasure>,
}

impl MessageOrigin {
    /// This kind and source.
    pub fn new(kind: BlockKind, source: BlockSource) -> Self {
        Self::stored(kind, source, None)
    }

    /// The same of what a turn has stored.
    pub fn stored(kind: BlockKind, source: BlockSource, turn_id: Option<String>) -> Self {
        let noted = NotedOrigin {
            kind,
            source,
            turn_id,
            measure: OnceLock::new(),
        };
        Self {
            noted: Some(Arc::new(noted)),
            is_changed: false,
            cuts: Vec::new(),
            via: None,
        }
    }

    /// Notes that as many bytes were taken out of the message.
    pub fn cut(&mut self, reason: impl Into<String>, part: Option<usize>, bytes: usize) {
        self.cuts.push(BlockCut {
            reason: reason.into(),
            part,
            bytes,
        });
    }

    /// Notes that so much of a tool's result is more than models are told.
    pub fn cut_result(&mut self, bytes: usize) {
        if bytes > 0 {
            self.cut("tool_result_limit", None, bytes);
        }
    }

    /// The message in numbers, if they are known.
    pub fn measure(&self) -> Option<&MessageMeasure> {
        self.noted.as_ref()?.measure.get()
    }

    /// Keeps the numbers for as long as the message stays as it is.
    pub fn keep_measure(&self, measure: MessageMeasure) {
        if let Some(noted) = &self.noted {
            noted.measure.get_or_init(|| measure);
        }
    }

    /// The message is another one from now on, and its clones stay as they are.
    pub fn forget_measure(&mut self) {
        let fresh = |noted: &Arc<NotedOrigin>| NotedOrigin {
            measure: OnceLock::new(),
            ..NotedOrigin::clone(noted)
        };
        self.noted = self.noted.as_ref().map(|noted| Arc::new(fresh(noted)));
    }

    /// What the message is, if that is noted.
    pub fn kind(&self) -> Option<BlockKind> {
        self.noted.as_ref().map(|noted| noted.kind)
    }

    /// What it was made of.
    pub fn source(&self) -> BlockSource {
        let noted = self.noted.as_ref();
        noted.map(|noted| noted.source.clone()).unwrap_or_default()
    }

    /// The stored message that it is.
    pub fn message_id(&self) -> Option<&str> {
        self.noted.as_ref()?.source.message_id.as_deref()
    }

    /// The turn that has stored it, if one has.
    pub fn turn_id(&self) -> Option<&str> {
        self.noted.as_ref()?.turn_id.as_deref()
    }
}

impl PartialEq for MessageOrigin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_measured_once_with_its_clones_until_one_is_changed() {
        let origin = MessageOrigin::new(BlockKind::Request, BlockSource::default());
        let mut changed = origin.clone();
        let measure = MessageMeasure {
            hash: "h".to_owned(),
            bytes: 1,
            tokens: 2,
        };
        origin.keep_measure(measure.clone());
        assert_eq!(changed.measure(), Some(&measure));
        changed.forget_measure();
        assert_eq!(changed.measure(), None);
        assert_eq!(changed.kind(), Some(BlockKind::Request));
        assert_eq!(origin.measure(), Some(&measure));
    }
}
