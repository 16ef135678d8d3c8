//! What the model is told of what was found.

use crate::app::SearchSettings;
use crate::chat::ChatMessage;
use crate::search::injection::{ReferenceText, reference_message};
use crate::search::{AutomaticSearch, SearchItem};
use crate::turn::Turn;
use crate::turn::agent_run::AgentRun;
use crate::turn::converse::Transcript;

impl Turn {
    /// Puts one system message with the references behind the others. It is no part of the history.
    pub(super) fn inject(
        &self,
        run: &AgentRun,
        settings: &SearchSettings,
        found: &AutomaticSearch,
        transcript: &mut Transcript,
    ) {
        let items = found.items();
        let texts: Vec<ReferenceText<'_>> = items.iter().map(text).collect();
        let most = settings.options.max_context.0;
        let message = reference_message(&texts, &settings.citation, most);
        let told = message.as_ref().map_or(0, |message| message.count);
        let left_out: Vec<&str> = items[told..]
            .iter()
            .map(|item| item.citation_id.as_str())
            .collect();
        if !left_out.is_empty() {
            let ids = left_out.join(", ");
            self.agent_node(run).warn(format!(
                "search: no room in search.options.max_context for the references {ids}"
            ));
        }
        if let Some(message) = message {
            let message = ChatMessage::system(message.text);
            transcript.messages.insert(transcript.instructions, message);
            transcript.instructions += 1;
        }
    }
}

fn text(item: &SearchItem) -> ReferenceText<'_> {
    ReferenceText {
        id: &item.citation_id,
        kind: item.kind.name(),
        weight: item.weight,
        source: item.source.name(),
        title: &item.title,
        content: &item.content,
        url: &item.url,
    }
}
