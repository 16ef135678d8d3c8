//! Telling listeners what a save has made durable.

use super::{CommitResult, DirtyStorage};
use crate::kind::StorageKind;
use crate::report::SaveReport;
use crate::session::context::Context;
use crate::session::events::{ChatHistorySaved, IdentityAdded, MessageAdded, UsageRecorded};
use crate::session::history::ChatHistoryStorage;
use crate::session::usage::UsageStorage;

pub(super) async fn fire_storage_events(
    context: &Context,
    parts: &[DirtyStorage],
    written: CommitResult,
) {
    let bus = context.ambit().bus();
    let is_durable = |part: &&DirtyStorage| written.parts.contains(&part.cell.identity);
    for part in parts.iter().filter(is_durable) {
        let sequences = written
            .sequences
            .get(&part.cell.prefix)
            .map(Vec::as_slice)
            .unwrap_or_default();
        fire_item_events(context, part, sequences).await;
    }
    if context.is_temporary() || (written.parts.is_empty() && written.rows.is_empty()) {
        return;
    }
    for row in written.rows {
        bus.notify(IdentityAdded {
            about: context.about(),
            identity: row.identity,
            id: row.id,
        })
        .await;
    }
    let storage = context
        .context_identity()
        .map(|identity| identity.key())
        .unwrap_or_default();
    context.tell_index_saved(storage).await;
}

async fn fire_item_events(context: &Context, part: &DirtyStorage, sequences: &[u64]) {
    let bus = context.ambit().bus();
    let storage = part.cell.prefix.clone();
    match part.cell.prefix.as_str() {
        ChatHistoryStorage::PREFIX => {
            let added = part.staged.appends.iter().zip(sequences);
            for (entry, sequence) in added.filter(|_| bus.has_listeners::<MessageAdded>()) {
                let (about, message) = (context.about(), entry.body.clone());
                bus.notify(MessageAdded {
                    about,
                    message,
                    sequence: *sequence,
                })
                .await;
            }
            bus.notify(ChatHistorySaved {
                about: context.about(),
                storage,
                sequences: sequences.to_vec(),
            })
            .await;
        }
        UsageStorage::PREFIX => {
            for entry in &part.staged.appends {
                bus.notify(UsageRecorded {
                    about: context.about(),
                    record: entry.body.clone(),
                })
                .await;
            }
        }
        _ => {}
    }
}

/// The end of a save, of a clear too.
pub(super) async fn fire_saved_event(context: &Context, is_clear: bool, report: &SaveReport) {
    if is_clear && context.take_clearing() {
        context.tell_cleared().await;
    }
    context.tell_saved(report.clone()).await;
}
