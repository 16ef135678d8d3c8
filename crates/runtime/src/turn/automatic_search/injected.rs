//! What the model is told of what was found.

use crate::app::SearchSettings;
use crate::chat::{BlockKind, BlockSource, ChatMessage};
use crate::search::injection::{ReferenceMessage, reference_message};
use crate::search::{AutomaticSearch, SearchItem};
use crate::token_estimate::of_message;
use crate::turn::Turn;
use crate::turn::agent_run::AgentRun;
use crate::turn::converse::Transcript;

/// What is told, and how much of it.
pub(super) struct InjectedSearch<'a> {
    pub settings: &'a SearchSettings,
    pub found: &'a AutomaticSearch,
    /// Tokens that all of it may have.
    pub room: Option<u64>,
}

impl InjectedSearch<'_> {
    /// As many references as have room, in their order.
    fn message(&self, items: &[SearchItem]) -> Option<ReferenceMessage> {
        let most = self.settings.options.max_context.0;
        let mut told = items;
        loop {
            let message = reference_message(told, &self.settings.citation, most)?;
            let tokens = of_message(&ChatMessage::system(message.text.as_str()));
            if self.room.is_none_or(|room| tokens <= room) {
                return Some(message);
            }
            told = &told[..message.count - 1];
        }
    }
}

impl Turn {
    /// Puts one system message with the references behind the others. It is no part of the history.
    pub(super) fn inject(
        &self,
        run: &AgentRun,
        injected: &InjectedSearch<'_>,
        transcript: &mut Transcript,
    ) {
        let items = injected.found.items();
        let message = injected.message(&items);
        let told = message.as_ref().map_or(0, |message| message.count);
        let left_out: Vec<&str> = items[told..]
            .iter()
            .map(|item| item.citation_id.as_str())
            .collect();
        if !left_out.is_empty() {
            let ids = left_out.join(", ");
            self.agent_node(run).warn(format!(
                "search: no room in search.options.max_context or the model's window for the references {ids}"
            ));
        }
        if let Some(message) = message {
            let message = ChatMessage::system(message.text);
            let references = items[..told].iter();
            let types = injected.found.types.iter();
            let source = BlockSource {
                references: references.map(|item| item.citation_id.clone()).collect(),
                query: Some(injected.found.query.clone()),
                types: types.map(|kind| kind.name().to_owned()).collect(),
                ..BlockSource::default()
            };
            let message = message.with_source(BlockKind::Reference, source);
            transcript.messages.insert(transcript.instructions, message);
            transcript.instructions += 1;
        }
    }
}
