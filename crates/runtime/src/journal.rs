//! The journal of one turn: what it was asked and what came of each step, so that any node can go on after a crash.

mod open_turn;

pub(crate) use open_turn::{OpenTurn, begun_key, open_key};

use crate::chat::ChatMessage;
use crate::error::{Result, ServerFailure};
use crate::hook::{CreateResult, Delegate};
use crate::llm::{ModelAnswer, TokenUsage};
use crate::request::TurnRequest;
use crate::search::{AutomaticSearch, SearchItem};
use crate::stream::time_of;
use ambit_storage::address::{LogKey, Space, ValueKey};
use ambit_storage::batch::{BatchWrite, NewEntry};
use ambit_storage::driver::{DataKind, Driver, LogRange, ValuePart, ValueScan};
use ambit_storage::json::Json;
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::UsageRecord;
use ambit_storage::{LiveAgent, ids};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Begins the names of what parts of messages were put in words as.
const WORDED: &str = "worded/";

/// What turns keep beside the conversation, by the names of logs and values below.
pub const TURN_KINDS: &[DataKind] = &[
    kind("streams of turns", "turn/%/events%"),
    kind("traces of turns", "turn/%/trace%"),
    kind("turns", "turn/%"),
    kind("words for parts of messages", "worded/%"),
];

const fn kind(name: &'static str, entry: &'static str) -> DataKind {
    let path = "%";
    DataKind { name, path, entry }
}

/// How often a turn is taken up again without getting any further.
pub(crate) const ATTEMPTS: usize = 3;
/// Steps read at a time.
const PAGE: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TurnIds {
    /// The turn; also its trace.
    pub request_id: String,
    /// The run context.
    pub context_id: String,
    /// The chat's name.
    pub chat_id: String,
}

impl TurnIds {
    /// Those of a turn of this conversation. The turn can be told from its run context.
    pub fn of(request_id: String, session: &LiveAgent) -> Self {
        Self {
            context_id: format!("{request_id}.c0"),
            request_id,
            chat_id: session.chat_name().unwrap_or_default().to_owned(),
        }
    }
}

/// A step as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    #[serde(flatten)]
    pub step: JournalStep,
    /// What was found since the step before: a step that is done once more finds it once more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<SearchItem>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum JournalStep {
    /// The request was taken on.
    Begin {
        /// What was asked.
        request: Box<TurnRequest>,
        ids: Box<TurnIds>,
        /// When.
        started_at: i64,
        /// The instructions as a listener left them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<Vec<ChatMessage>>,
    },
    /// A node has taken the turn up again.
    Attempt,
    /// `Create` of an agent has returned.
    Created {
        /// The agent run: 0 of the agent that was asked, 1 of the first delegate …
        #[serde(rename = "leg")]
        run: usize,
        /// What it returned, if that was anything.
        created: Option<Box<CreateResult>>,
    },
    /// An agent has handed over.
    Delegated {
        /// The run of the agent that takes over.
        #[serde(rename = "leg")]
        run: usize,
        /// To whom, with which messages and options.
        delegate: Box<Delegate>,
    },
    /// A model has answered and the turn goes on behind that.
    Answered {
        /// The agent run.
        #[serde(rename = "leg")]
        run: usize,
        /// The round, from 0.
        round: usize,
        answer: Box<ModelAnswer>,
        /// How it was shown, where it was not in the history yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unstored: Option<UnstoredAnswer>,
    },
    /// Messages came in while the turn ran; they are in the history.
    Added {
        /// The agent run.
        #[serde(rename = "leg")]
        run: usize,
        /// The round that they come before.
        round: usize,
        /// As models know them.
        messages: Vec<ChatMessage>,
        /// The stored ones that others have appended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ids: Vec<String>,
        /// How much of what was sent to the turn is taken in with them.
        #[serde(default)]
        inbox: u64,
    },
    /// A part of a message was put in words by whom `uses` names.
    Worded {
        /// The part, what stood around it and who was asked, as a digest.
        part: String,
        /// The words.
        text: String,
    },
    /// What was searched for before the call of an agent's model.
    Searched {
        /// The agent run.
        #[serde(rename = "leg")]
        run: usize,
        /// What was found.
        search: Box<AutomaticSearch>,
    },
    /// A model was called for this, by the turn or from inside it. It stands before what is gone on with behind the call.
    Used(Box<ModelCallUsage>),
    /// A tool call has a result; it is in the history.
    Settled(Box<SettledToolCall>),
}

/// A round of an agent's model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RoundPosition {
    /// The agent run: 0 of the agent that was asked, 1 of the first delegate …
    pub run: usize,
    /// The round, from 0.
    pub round: usize,
}

/// A tool call of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallPosition {
    pub round: RoundPosition,
    /// Which call of the answer.
    pub index: usize,
}

impl RoundPosition {
    /// The first round of a run.
    pub fn first(run: usize) -> Self {
        Self { run, round: 0 }
    }

    pub fn next(self) -> Self {
        Self {
            round: self.round + 1,
            ..self
        }
    }

    /// The call with this index in the answer of the round.
    pub fn call(self, index: usize) -> CallPosition {
        CallPosition { round: self, index }
    }
}

/// A tool call's end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SettledToolCall {
    /// The agent run.
    #[serde(rename = "leg")]
    pub run: usize,
    pub round: usize,
    /// Which call of the answer.
    pub index: usize,
    /// The entry of `payload.tools`.
    pub result: ToolCallReport,
    /// What the model is told.
    pub text: String,
    /// How many bytes of the result it is not told.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: usize,
    /// How the server has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_failure: Option<ServerFailure>,
    /// The code of the server's failure, where that fails the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fatal: Option<String>,
}

/// What came of a tool call, as hooks and clients see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolCallReport {
    /// The call.
    pub toolcall_id: String,
    /// The server, if there is such a tool.
    pub server: Option<String>,
    /// What the server calls the tool.
    pub tool: String,
    /// What it was called with.
    pub arguments: Value,
    /// What it gave.
    pub result: Value,
    /// Why it failed.
    pub error: Option<String>,
    /// The round, from 0.
    pub round: usize,
}

impl JournalStep {
    /// Whether it says that something is in the history. Then it is durable with that, and not before.
    pub fn claims_history(&self) -> bool {
        match self {
            Self::Answered { unstored, .. } => unstored.is_none(),
            Self::Settled(_) | Self::Added { .. } => true,
            _ => false,
        }
    }
}

fn is_zero(bytes: &usize) -> bool {
    *bytes == 0
}

impl SettledToolCall {
    pub fn position(&self) -> CallPosition {
        let (run, round) = (self.run, self.round);
        RoundPosition { run, round }.call(self.index)
    }
}

/// How an answer was shown that comes into the history with the end of its turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct UnstoredAnswer {
    /// Whose answer it is.
    pub agent: String,
    /// The messages, in order.
    pub shown: Vec<String>,
}

/// What one call of a model has used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ModelCallUsage {
    /// For the turn.
    pub usage: TokenUsage,
    /// For the conversation; none where it is not tracked there.
    pub record: Option<UsageRecord>,
}

/// The turn that a run context, or a turn, belongs to.
pub(crate) fn request_id(id: &str) -> &str {
    id.split_once('.').map_or(id, |(request, _)| request)
}

/// The names of a turn's logs and values in its conversation's space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnKeys {
    space: Space,
    /// The turn.
    pub request_id: String,
}

impl TurnKeys {
    pub fn new(space: Space, request_id: &str) -> Self {
        let request_id = request_id.to_owned();
        Self { space, request_id }
    }

    pub fn events(&self) -> LogKey {
        self.space.log(format!("turn/{}/events", self.request_id))
    }

    pub fn trace(&self) -> LogKey {
        self.space.log(format!("turn/{}/trace", self.request_id))
    }

    pub fn journal(&self) -> LogKey {
        self.space.log(format!("turn/{}/journal", self.request_id))
    }

    /// What calls of agents from inside the turn have done.
    pub fn calls(&self) -> LogKey {
        self.space.log(format!("turn/{}/calls", self.request_id))
    }

    /// What was added to the running turn from outside.
    pub fn inbox(&self) -> LogKey {
        self.space.log(format!("turn/{}/inbox", self.request_id))
    }

    /// What its searches have found: `StoredReferences`.
    pub fn references(&self) -> ValueKey {
        self.space
            .key(format!("turn/{}/references", self.request_id))
    }

    /// What the protocol of its client has to know of its request.
    pub fn protocol_record(&self) -> ValueKey {
        self.space.key(format!("turn/{}/protocol", self.request_id))
    }

    /// What is known of the turn: a `TurnInfo`.
    pub fn info(&self) -> ValueKey {
        self.space.key(format!("turn/{}", self.request_id))
    }
}

/// What a part of a message was put in words as, for later turns of the conversation in this space.
pub(crate) fn worded_key(space: &Space, part: &str) -> ValueKey {
    space.key(format!("{WORDED}{part}"))
}

/// The keys of all such words of the conversation in this space.
pub(crate) async fn worded_keys(driver: &dyn Driver, space: &Space) -> Result<Vec<ValueKey>> {
    let pattern = Pattern::parse(&format!("{WORDED}*"));
    let mut scan = ValueScan::first(pattern, PAGE, ValuePart::Nothing);
    let mut keys = Vec::new();
    loop {
        let page = driver.scan(space, &scan).await?;
        let Some((last, _)) = page.last() else {
            return Ok(keys);
        };
        scan.after = Some(last.clone());
        keys.extend(page.into_iter().map(|(name, _)| space.key(name)));
    }
}

/// The write that adds a step. The number makes it happen once, however often it is repeated.
pub(crate) fn write(log: &LogKey, number: usize, step: &impl Serialize) -> Result<BatchWrite> {
    let entry = NewEntry {
        id: format!("{}{number:08}", time_of(log)),
        body: Json::of(step)?,
    };
    Ok(BatchWrite::Append {
        log: log.clone(),
        entries: vec![entry],
    })
}

/// The write that adds what a call has used. Calls from inside a turn run at once, so that it has no number.
pub(crate) fn write_used(log: &LogKey, used: ModelCallUsage) -> Result<BatchWrite> {
    let entry = NewEntry {
        id: format!("{}used.{}", time_of(log), ids::unguessable()),
        body: Json::of(&JournalStep::Used(Box::new(used)))?,
    };
    Ok(BatchWrite::Append {
        log: log.clone(),
        entries: vec![entry],
    })
}

/// All entries of a log, each read as what it is.
pub(crate) async fn read<T: DeserializeOwned>(driver: &dyn Driver, log: &LogKey) -> Result<Vec<T>> {
    let mut entries = Vec::new();
    loop {
        let from = entries.len() as u64 + 1;
        let page = driver.read(log, LogRange::from(from, PAGE)).await?;
        if page.entries.is_empty() {
            return Ok(entries);
        }
        for entry in page.entries {
            entries.push(entry.body.to()?);
        }
    }
}

/// How often in a row the turn was taken up without getting further. What was used meanwhile is nothing to go on behind.
pub(crate) fn idle_attempts(entries: &[JournalEntry]) -> usize {
    let steps = entries.iter().rev().map(|entry| &entry.step);
    let steps = steps.filter(|step| !matches!(step, JournalStep::Used(_)));
    let is_attempt = |step: &&JournalStep| matches!(step, JournalStep::Attempt);
    steps.take_while(is_attempt).count()
}
