//! Removing one context: its data and its own index rows.

use super::erase;
use crate::address::Space;
use crate::batch::Batch;
use crate::directory::IndexRow;
use crate::erasure::RemovalAction;
use crate::identity::SessionIdentity;
use crate::kind::StorageKind;
use crate::lease::OnBusy;
use crate::report::BulkReport;
use crate::session::events::{ContextRemoved, ContextRemoving, IdentityRemoved, IdentityRemoving};
use crate::session::{ChatHistoryStorage, Context};
use crate::{Error, Result, memory, relocation, temporary};

impl Context {
    /// Removes the session's data and its own index rows, at once.
    pub async fn remove(&self) -> Result<BulkReport> {
        self.session().check_may_write()?;
        let removed = remove_context(self).await;
        self.session().forget_memory_row();
        let report = removed?;
        self.discard();
        Ok(report)
    }
}

/// Removes a context's data and its own index rows. Listeners are asked about all of it before anything is gone.
async fn remove_context(context: &Context) -> Result<BulkReport> {
    let bus = context.ambit().bus();
    let event = ContextRemoving {
        about: context.about(),
        context: context.clone(),
    };
    bus.ask(event).await?;
    let mut report = BulkReport::default();
    if context.is_temporary() {
        remove_temporary(context, &mut report).await?;
    } else {
        remove_tracked(context, &mut report).await?;
    }
    if let Some((identity, error)) = report.failed.first() {
        return Err(Error::Partial {
            done: report.done.iter().map(SessionIdentity::key).collect(),
            failed: vec![(identity.key(), error.to_string())],
        });
    }
    let event = ContextRemoved {
        about: context.about(),
        context: context.clone(),
        report: report.clone(),
    };
    bus.notify(event).await;
    Ok(report)
}

async fn remove_temporary(context: &Context, report: &mut BulkReport) -> Result<()> {
    let session = context.session();
    for cell in session.cells() {
        let mut writes = temporary::end(&cell.space(session.tenant()));
        if cell.prefix == ChatHistoryStorage::PREFIX {
            let memory = cell.identity.with_scope(memory::SCOPE)?;
            writes.extend(temporary::end(&Space::of(session.tenant(), &memory)));
        }
        cell.driver().commit(Batch::of(writes)).await?;
        report.done.push(cell.identity.clone());
    }
    Ok(())
}

async fn remove_tracked(context: &Context, report: &mut BulkReport) -> Result<()> {
    let (ambit, bus) = (context.ambit(), context.ambit().bus());
    let agent = context.identity().agent_name();
    let rows = own_rows(context, report).await?;
    for row in &rows {
        let event = IdentityRemoving {
            about: context.about(),
            identity: row.identity.clone(),
        };
        bus.ask(event).await?;
    }
    // A running turn's own lease covers its session; anybody else's makes the removal fail.
    context.end_turn().await?;
    for row in &rows {
        report.name_others(row, agent);
        let erased = match relocation::finish_interrupted(ambit, row, OnBusy::Reject).await {
            Ok(row) => erase(ambit, &row, None, RemovalAction::Remove).await,
            Err(error) => Err(error),
        };
        match erased {
            // The history comes first: a turn that goes on with it keeps all of the session.
            Err(error @ Error::Busy { .. })
                if report.done.is_empty() && report.failed.is_empty() =>
            {
                return Err(error);
            }
            erased => report.add(row.identity.clone(), erased),
        }
    }
    for identity in &report.done {
        let event = IdentityRemoved {
            about: context.about(),
            identity: identity.clone(),
        };
        bus.notify(event).await;
    }
    if !report.done.is_empty() {
        let storage = context.context_identity()?.key();
        context.tell_index_saved(storage).await;
    }
    Ok(())
}

/// The rows of the context's storages and of its memory, and what else the index has of the session. What is wider than it stays,
/// its history and memory apart.
async fn own_rows(context: &Context, report: &mut BulkReport) -> Result<Vec<IndexRow>> {
    let session = context.session();
    let cells = session.cells();
    let mut identities: Vec<SessionIdentity> =
        cells.iter().map(|cell| cell.identity.clone()).collect();
    identities.push(context.history().identity().with_scope(memory::SCOPE)?);
    let mut rows: Vec<IndexRow> = Vec::new();
    for identity in identities {
        if !session.takes_along(&identity) {
            report.skip_wider(identity);
            continue;
        }
        rows.extend(session.seen(context.ambit().row_of(&identity).await)?);
    }
    for row in session.seen(session.own_rows().await)? {
        if !rows.iter().any(|known| known.id == row.id) {
            rows.push(row);
        }
    }
    Ok(rows)
}
