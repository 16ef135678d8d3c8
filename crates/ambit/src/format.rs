//! Output formats: what a client receives of a turn's event log. A format is a pure function of the log; it never changes
//! what is stored or what another connection sees.

pub mod ag_ui;
pub mod ai_sdk;
pub(crate) mod answer;
pub mod anthropic;
pub mod cui;
mod failure;
mod frames;
pub(crate) mod provider_reasoning;
pub mod responses;
pub mod standard;

pub use failure::{FailureDetails, TurnFailure, failure};
pub use frames::kind;
pub(crate) use frames::read;

use ambit_runtime::stream::StreamEntry;
use ambit_runtime::{Error, Frame, Result};
use ambit_storage::suggestion;
use serde::Serialize;
use utoipa::ToSchema;

/// The format of whoever names none.
pub const DEFAULT: &str = "standard";

/// One reader's view of a log.
pub trait Format: Send {
    /// The events that come of an entry, in order; the last one gets the entry's number as its id.
    fn events(&mut self, entry: &StreamEntry) -> Vec<FormatEvent>;

    /// The events behind the last entry; they get no id.
    fn end(&mut self) -> Vec<FormatEvent>;
}

/// One server-sent event of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatEvent {
    /// What stands in its `event:` line, in protocols that have one.
    pub name: Option<&'static str>,
    /// What stands in its `data:` line.
    pub data: String,
}

impl From<String> for FormatEvent {
    fn from(data: String) -> Self {
        Self { name: None, data }
    }
}

/// What a format must know that the log does not say.
#[derive(Clone, Debug, Default)]
pub struct FormatOptions {
    /// The model's name as clients know it: the agent's id.
    pub model: String,
    /// The turn.
    pub request_id: String,
    /// When the turn began, in seconds since 1970.
    pub created: i64,
    /// `stream_options.include_usage`.
    pub include_usage: bool,
    /// Names of the tools that the client declared and runs itself.
    pub client_tools: Vec<String>,
    /// The version of a client of the AI SDK.
    pub ai_sdk: ai_sdk::AiSdkVersion,
    /// What an AG-UI client calls the turn; without one it is the turn's own id.
    pub run_id: Option<String>,
    /// What the model thinks is not shown, in formats that let clients choose.
    pub omits_thinking: bool,
    /// What a request of OpenAI's Responses says of its answer.
    pub response: responses::ResponseRecord,
    /// In formats that number their events: only those behind this one are sent.
    pub after_sequence: Option<u64>,
}

/// A row of the table of formats.
pub struct FormatDefinition {
    /// What a client writes in `accept`.
    pub name: &'static str,
    /// What comes of an entry depends on earlier entries: who resumes gives it those too, and drops what comes of them.
    pub needs_beginning: bool,
    /// Events have the numbers of their entries as `id:` lines.
    pub has_entry_ids: bool,
    /// What the headers of a stream say besides.
    pub headers: &'static [(&'static str, &'static str)],
    /// What a silent stream says from time to time.
    pub ping: &'static str,
    /// A turn that fails before it has shown anything is answered with its status, even if a stream was asked for.
    pub has_status: bool,
    /// Opens a view.
    pub open: fn(&FormatOptions) -> Box<dyn Format>,
    /// The answer to a request that does not stream, from the whole log.
    pub body: fn(&[StreamEntry], &FormatOptions) -> FormatBody,
}

/// The answer to a request that does not stream.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum FormatBody {
    /// OpenAI's.
    Completion(Box<standard::Completion>),
    /// That of the `cui` formats.
    Cui(Box<cui::CuiAnswer>),
    /// That of the AI SDK.
    UiMessage(Box<ai_sdk::UiMessage>),
    /// All events of `ag-ui`.
    AgUi(Vec<ag_ui::AgUiEvent>),
    /// That of OpenAI's Responses.
    Response(Box<responses::ResponseObject>),
    /// That of a turn that failed, in OpenAI's shape.
    Failure(TurnFailure),
    /// Anthropic's.
    Anthropic(Box<anthropic::AnthropicMessage>),
    /// That of a turn that failed, in Anthropic's shape.
    AnthropicFailure(anthropic::AnthropicFailure),
}

/// What an event of a turn's stream holds, by the format that was asked for. `standard` ends with the text `[DONE]`; the events of
/// the formats of other protocols are described with their own routes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum StreamPayload {
    /// OpenAI's.
    Chunk(Box<standard::CompletionChunk>),
    /// That of a turn that failed, in OpenAI's shape.
    Failure(TurnFailure),
    /// That of the `cui` formats: a message, a change of one or an event.
    Frame(Box<Frame>),
}

/// What streams of most formats say when they have been silent for a time: a comment.
pub(crate) const PING: &str = ": ping\n\n";

/// Every format.
pub const FORMATS: &[FormatDefinition] = &[
    FormatDefinition {
        name: DEFAULT,
        needs_beginning: true,
        has_entry_ids: true,
        headers: &[],
        ping: PING,
        has_status: true,
        open: standard::open,
        body: standard::body,
    },
    FormatDefinition {
        name: "messages",
        needs_beginning: true,
        has_entry_ids: false,
        headers: &[],
        ping: anthropic::PING,
        has_status: true,
        open: anthropic::open,
        body: anthropic::body,
    },
    cui_row("cui-web"),
    cui_row("cui-native"),
    cui_row("cui-desktop"),
    FormatDefinition {
        name: ai_sdk::NAME,
        needs_beginning: true,
        has_entry_ids: true,
        headers: ai_sdk::HEADERS,
        ping: PING,
        has_status: false,
        open: ai_sdk::open,
        body: ai_sdk::body,
    },
    FormatDefinition {
        name: "ag-ui",
        needs_beginning: true,
        has_entry_ids: true,
        headers: &[],
        ping: PING,
        has_status: false,
        open: ag_ui::open,
        body: ag_ui::body,
    },
    FormatDefinition {
        name: "responses",
        needs_beginning: true,
        has_entry_ids: false,
        headers: &[],
        ping: PING,
        has_status: false,
        open: responses::open,
        body: responses::body,
    },
];

const fn cui_row(name: &'static str) -> FormatDefinition {
    FormatDefinition {
        name,
        needs_beginning: false,
        has_entry_ids: true,
        headers: &[],
        ping: PING,
        has_status: false,
        open: cui::open,
        body: cui::body,
    }
}

/// Returns the format of this name; `standard` if the name is empty.
pub fn find(name: &str) -> Result<&'static FormatDefinition> {
    let names = || FORMATS.iter().map(|row| row.name);
    let found = FORMATS.iter().find(|row| row.name == name);
    found
        .or((name.is_empty()).then_some(&FORMATS[0]))
        .ok_or_else(|| {
            let known: Vec<&str> = names().collect();
            let (known, hint) = (known.join(", "), suggestion::hint(name, names()));
            Error::invalid("accept", format!("accept must be one of {known}{hint}"))
        })
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT, FORMATS, find};
    use std::collections::BTreeSet;

    #[test]
    fn an_unknown_format_is_refused_with_the_known_ones() {
        assert_eq!(find("").unwrap().name, DEFAULT);
        let refused = find("cui-wep").err().unwrap();
        let expected = "accept must be one of standard, messages, cui-web, cui-native, cui-desktop, ai-sdk, ag-ui, responses; did you mean \"cui-web\"?";
        assert_eq!(refused.message, expected);
    }

    #[test]
    fn no_two_formats_have_one_name() {
        let names: BTreeSet<&str> = FORMATS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), FORMATS.len());
    }
}
