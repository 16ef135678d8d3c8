//! The events of a stored identity that is cleared or removed, with a context opened on it without its agent's code.

use crate::Result;
use crate::directory::IndexRow;
use crate::erasure::RemovalAction;
use crate::kind::StorageKind;
use crate::lease::OnBusy;
use crate::relocation;
use crate::report::{BulkReport, SaveReport};
use crate::session::events::{
    ChatHistorySaved, ChatHistorySaving, ContextClearing, ContextRemoved, ContextRemoving,
    ContextSaving, IdentityRemoved, IdentityRemoving, IdentityStorageSaving,
};
use crate::session::{Ambit, ChatHistoryStorage, Context};
use futures::future::BoxFuture;
use std::collections::BTreeMap;

/// Erases one stored identity and tells so. True where something changed.
pub(super) fn erase<'a>(
    ambit: &'a Ambit,
    row: &'a IndexRow,
    memory: Option<&'a String>,
    action: RemovalAction,
) -> BoxFuture<'a, Result<bool>> {
    Box::pin(async move {
        let row = &relocation::finish_interrupted(ambit, row, OnBusy::Reject).await?;
        let context = Context::stored(ambit, row)?;
        let storage = context.context_identity()?.key();
        match action {
            RemovalAction::Clear => ask_clear(&context, row, &storage).await?,
            RemovalAction::Remove => ask_remove(&context, row).await?,
        }
        let erased = super::erase(ambit, row, memory, action).await?;
        match action {
            RemovalAction::Clear => fire_cleared_events(&context, row, storage).await,
            RemovalAction::Remove => fire_removed_events(&context, row, storage).await,
        }
        Ok(erased)
    })
}

fn is_history(row: &IndexRow) -> bool {
    row.identity.scope() == Some(ChatHistoryStorage::PREFIX)
}

async fn ask_clear(context: &Context, row: &IndexRow, storage: &str) -> Result<()> {
    let bus = context.ambit().bus();
    bus.ask(ContextClearing {
        about: context.about(),
        context: context.clone(),
    })
    .await?;
    bus.ask(ContextSaving {
        about: context.about(),
        context: context.clone(),
        staged: BTreeMap::new(),
    })
    .await?;
    if is_history(row) {
        bus.ask(ChatHistorySaving {
            about: context.about(),
            storage: ChatHistoryStorage::PREFIX.to_owned(),
            messages: Vec::new(),
        })
        .await?;
    }
    bus.ask(IdentityStorageSaving {
        about: context.about(),
        storage: storage.to_owned(),
        adding: vec![row.identity.clone()],
        removing: Vec::new(),
    })
    .await?;
    Ok(())
}

async fn fire_cleared_events(context: &Context, row: &IndexRow, storage: String) {
    if is_history(row) {
        let event = ChatHistorySaved {
            about: context.about(),
            storage: ChatHistoryStorage::PREFIX.to_owned(),
            sequences: Vec::new(),
        };
        context.ambit().bus().notify(event).await;
    }
    context.tell_index_saved(storage).await;
    context.tell_cleared().await;
    let report = SaveReport {
        written: vec![row.identity.key()],
        ..SaveReport::default()
    };
    context.tell_saved(report).await;
}

async fn ask_remove(context: &Context, row: &IndexRow) -> Result<()> {
    let bus = context.ambit().bus();
    bus.ask(ContextRemoving {
        about: context.about(),
        context: context.clone(),
    })
    .await?;
    bus.ask(IdentityRemoving {
        about: context.about(),
        identity: row.identity.clone(),
    })
    .await?;
    Ok(())
}

async fn fire_removed_events(context: &Context, row: &IndexRow, storage: String) {
    let bus = context.ambit().bus();
    bus.notify(IdentityRemoved {
        about: context.about(),
        identity: row.identity.clone(),
    })
    .await;
    context.tell_index_saved(storage).await;
    bus.notify(ContextRemoved {
        about: context.about(),
        context: context.clone(),
        report: BulkReport {
            done: vec![row.identity.clone()],
            ..BulkReport::default()
        },
    })
    .await;
}
