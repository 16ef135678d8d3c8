//! Whether an agent's turn is searched for, what for, and where.

use crate::app::{AppAgent, SearchSettings};
use crate::chat::{ChatMessage, Role};
use crate::request::{CallOptions, SearchChoice};
use crate::search::SearchKind;
use crate::search::answers::{SearchIntent, create_intent, unknown_types};
use crate::search::searcher::configured_kinds;
use serde_json::{Map, Value};

/// The most characters of a query.
const QUERY: usize = 4_000;
/// Messages that say what a query is about.
const CONTEXT: usize = 5;
/// What a hook puts into the metadata of a turn that is not to be searched for.
const OFF: &str = "__disable_search";

/// What speaks for and against a search.
pub(super) struct SearchDecision<'a> {
    pub agent: &'a AppAgent,
    /// What all levels say of the model's call.
    pub call: &'a CallOptions,
    /// What `Create` says of searching.
    pub created: Option<&'a SearchChoice>,
    /// What whoever called the agent or handed over to it says, if that is no client.
    pub called: Option<&'a SearchChoice>,
    /// What the client says, if the agent is the client's to ask.
    pub client: Option<&'a SearchChoice>,
    pub metadata: &'a Map<String, Value>,
    pub settings: &'a SearchSettings,
    /// References that hooks of the turn have found.
    pub hook_references: usize,
}

/// What may be searched.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AllowedSearch {
    pub types: Vec<SearchKind>,
    /// What is searched of it, where nobody needs to be asked for that.
    pub intent: Option<SearchIntent>,
}

impl SearchDecision<'_> {
    /// What may be searched; nothing where the search is off.
    pub fn take(&self) -> Option<AllowedSearch> {
        if !self.is_on() {
            return None;
        }
        let is_refused = |choice: &SearchChoice| !intent_of(choice).need_search;
        if [self.called, self.created]
            .into_iter()
            .flatten()
            .any(is_refused)
        {
            return None;
        }
        let mut types = configured_kinds(self.settings, self.call.uses("web"));
        if let Some(client) = self.client {
            let chosen = intent_of(client);
            if !chosen.need_search {
                return None;
            }
            types.retain(|kind| {
                chosen
                    .search_types
                    .as_ref()
                    .is_none_or(|chosen| chosen.contains(kind))
            });
        }
        let intent = self.created.map(intent_of);
        (!types.is_empty()).then_some(AllowedSearch { types, intent })
    }

    /// What is to be searched by what anybody says, and is not there.
    pub fn unknown_types(&self) -> Vec<String> {
        let choices = [self.called, self.created, self.client];
        let unknown = choices.into_iter().flatten().map(|choice| match choice {
            SearchChoice::Flag(_) => Vec::new(),
            SearchChoice::Intent(intent) => unknown_types(intent),
        });
        unknown.flatten().collect()
    }

    fn is_on(&self) -> bool {
        let uses = self.call.uses("search");
        let is_wanted = self.agent.package.search.is_some() || uses.is_some();
        let is_disabled = uses == Some("disabled") || self.metadata.get(OFF) == Some(&true.into());
        let threshold = self.settings.options.skip_threshold;
        let is_needless = threshold > 0 && self.hook_references >= threshold;
        is_wanted && !is_disabled && !is_needless
    }
}

fn intent_of(choice: &SearchChoice) -> SearchIntent {
    match choice {
        SearchChoice::Flag(flag) => SearchIntent {
            need_search: *flag,
            ..SearchIntent::default()
        },
        SearchChoice::Intent(intent) => create_intent(intent),
    }
}

/// What a search is about.
pub(super) struct SearchQuestion {
    /// What the last message of the user says.
    pub query: String,
    /// Whether that is less than all of it.
    pub is_cut: bool,
    /// The last messages, as far as they have text, the question last.
    pub context: Vec<SpokenMessage>,
}

/// A message that has text.
pub(super) struct SpokenMessage {
    pub role: Role,
    pub text: String,
}

impl SearchQuestion {
    /// `None` where the user has said nothing.
    pub fn of(messages: &[ChatMessage]) -> Option<Self> {
        let is_spoken =
            |message: &&ChatMessage| matches!(message.role, Role::User | Role::Assistant);
        let spoken: Vec<&ChatMessage> = messages.iter().filter(is_spoken).collect();
        let asked = spoken
            .iter()
            .rev()
            .find(|message| message.role == Role::User)?;
        let (query, is_cut) = cut(&text_of(asked));
        let recent = &spoken[spoken.len().saturating_sub(CONTEXT)..];
        let context = recent.iter().map(|message| SpokenMessage {
            role: message.role,
            text: text_of(message),
        });
        (!query.is_empty()).then(|| Self {
            query,
            is_cut,
            context: context.filter(|message| !message.text.is_empty()).collect(),
        })
    }

    /// The context in words: a single message as it is.
    pub fn in_words(&self) -> String {
        let [before @ .., _] = self.context.as_slice() else {
            return self.query.clone();
        };
        if before.is_empty() {
            return self.query.clone();
        }
        let mut words = "=== Conversation Context ===\n".to_owned();
        for SpokenMessage { role, text } in before {
            let name = if *role == Role::User {
                "User"
            } else {
                "Assistant"
            };
            words.push_str(&format!("[{name}]: {text}\n"));
        }
        let query = &self.query;
        words.push_str(&format!(
            "=== End Context ===\n\nCurrent user request: {query}"
        ));
        words
    }
}

/// A query that is not too long, and whether it was.
pub(super) fn cut(text: &str) -> (String, bool) {
    match text.char_indices().nth(QUERY) {
        Some((end, _)) => (text[..end].trim().to_owned(), true),
        None => (text.to_owned(), false),
    }
}

fn text_of(message: &ChatMessage) -> String {
    message.content.texts("\n").trim().to_owned()
}
