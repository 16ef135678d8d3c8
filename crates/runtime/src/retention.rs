//! What turns leave behind when they end, and how long it is kept: their streams, their traces, and what is known of them.
//!
//! The last commit of a turn notes by when which of its logs go. The notes stand in the order in which they fall due, so
//! that upkeep looks at nothing else; they tell nothing of the conversation, which they may outlive.

mod expired_logs;

pub use expired_logs::ExpiredTurnLogs;

use crate::app::AppSettings;
use crate::chats;
use crate::error::Result;
use crate::journal::TurnKeys;
use crate::runtime_core::RuntimeCore;
use crate::turn_info::TurnInfo;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::clock::{Millis, to_millis};
use ambit_storage::directory::{IndexRow, RowFilter};
use ambit_storage::driver::{Driver, ValuePart, ValueScan};
use ambit_storage::json::Json;
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Notes read at a time.
const PAGE: usize = 100;
/// At most so many turns' logs are dropped in one go, for each store.
const MOST: usize = 1_000;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// A turn is known by its id at least this long after its end.
const KNOWN: Duration = Duration::from_secs(30 * DAY.as_secs());

/// How long what a turn leaves is kept behind its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetentionPeriods {
    pub stream: Duration,
    pub trace: Duration,
}

impl RetentionPeriods {
    /// What the app says.
    pub fn of(settings: &AppSettings) -> Self {
        Self {
            stream: settings.stream.retention,
            trace: settings.trace.retention,
        }
    }

    /// How long the turn can be asked for by its id.
    pub fn known(&self) -> Duration {
        KNOWN.max(self.stream).max(self.trace)
    }
}

/// A part of what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TurnLogKind {
    Stream,
    Trace,
}

/// What goes when a note falls due.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ExpiryNote {
    tenant: String,
    /// The index row of the conversation's history.
    row: String,
    parts: Vec<TurnLogKind>,
    /// What goes later. It gets a note of its own when this one is followed: most of it is never written with a turn.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    later: BTreeMap<Millis, Vec<TurnLogKind>>,
}

/// A turn that ends.
pub(crate) struct EndedTurn<'a> {
    pub tenant: &'a str,
    /// The index row of its conversation's history.
    pub row: String,
    pub request_id: &'a str,
    pub at: Millis,
    pub is_traced: bool,
}

/// The write that notes when the turn's logs go.
pub(crate) fn note(ended: &EndedTurn<'_>, terms: RetentionPeriods) -> Result<Option<BatchWrite>> {
    let mut due: BTreeMap<Millis, Vec<TurnLogKind>> = BTreeMap::new();
    let trace = ended.is_traced.then_some((terms.trace, TurnLogKind::Trace));
    for (term, part) in [(terms.stream, TurnLogKind::Stream)]
        .into_iter()
        .chain(trace)
    {
        let at = ended.at.saturating_add(to_millis(term));
        due.entry(at).or_default().push(part);
    }
    let left = ExpiryNote {
        tenant: ended.tenant.to_owned(),
        row: ended.row.clone(),
        parts: Vec::new(),
        later: due,
    };
    left.next(ended.request_id)
}

impl ExpiryNote {
    /// The write that notes what goes next of what goes later.
    fn next(mut self, request_id: &str) -> Result<Option<BatchWrite>> {
        let Some((at, parts)) = self.later.pop_first() else {
            return Ok(None);
        };
        self.parts = parts;
        Ok(Some(BatchWrite::Apply {
            key: Space::ended_turns().key(name(at, request_id)),
            op: Operation::Set(Json::of(&self)?.into()),
            life: None,
        }))
    }
}

/// Names are ordered as the times in them.
fn name(due: Millis, request_id: &str) -> String {
    format!("{due:020}/{request_id}")
}

/// Drops the logs whose time is over, and their notes. Any number of nodes may do so at once. The answer is how many notes
/// were followed; what fails is told and tried again later.
pub(crate) async fn drop_due(core: &RuntimeCore) -> usize {
    let mut followed = 0;
    for (store, driver) in core.stores.drivers() {
        match drop_due_in(core, driver).await {
            Ok(count) => followed += count,
            Err(error) => {
                tracing::warn!(store.name = store, %error, "what turns have left behind could not be looked for");
            }
        }
    }
    followed
}

async fn drop_due_in(core: &RuntimeCore, driver: &Arc<dyn Driver>) -> Result<usize> {
    // A note that falls due in this millisecond is behind it, whatever its turn is called.
    let end = name(core.stores.options().clock.now().saturating_add(1), "");
    let (mut after, mut followed) = (None, 0);
    while followed < MOST {
        let scan = ValueScan {
            after,
            ..ValueScan::first(Pattern::all(), PAGE, ValuePart::Whole)
        };
        let mut page = driver.scan(&Space::ended_turns(), &scan).await?;
        let is_last = page.len() < PAGE;
        page.retain(|(name, _)| *name < end);
        let Some((last, _)) = page.last() else {
            break;
        };
        after = Some(last.clone());
        let mut done = Vec::new();
        for (name, entry) in &page {
            let request_id = name.split_once('/').map_or("", |(_, id)| id);
            match follow(core, request_id, &entry.value).await {
                Ok(next) => {
                    followed += 1;
                    done.push(forget(name));
                    done.extend(next);
                }
                Err(error) => {
                    tracing::warn!(request.id = request_id, %error, "the logs of a turn are kept beyond their time");
                }
            }
        }
        driver.commit(Batch::of(done)).await?;
        if is_last {
            break;
        }
    }
    Ok(followed)
}

fn forget(name: &str) -> BatchWrite {
    BatchWrite::Apply {
        key: Space::ended_turns().key(name),
        op: Operation::Del,
        life: None,
    }
}

/// Drops what a note names, wherever the conversation is now, and returns the write that notes what goes later. There is nothing to
/// do where it was removed.
async fn follow(core: &RuntimeCore, request_id: &str, note: &Json) -> Result<Option<BatchWrite>> {
    let left: ExpiryNote = note.to()?;
    let mut row = row(core, &left).await?;
    if row.is_none() {
        return Ok(None);
    }
    while let Some(found) = row.take() {
        let driver = core.stores.chain(&found.placement)?.driver().clone();
        let names = TurnKeys::new(Space::of(&found.tenant, &found.identity), request_id);
        let batch = ends(core, driver.as_ref(), &names, &left.parts).await?;
        driver.commit(batch).await?;
        // A conversation that was moved meanwhile has taken the logs along.
        row = self::row(core, &left).await?;
        row.take_if(|now| now.placement == found.placement);
    }
    left.next(request_id)
}

/// The writes that end these parts.
async fn ends(
    core: &RuntimeCore,
    driver: &dyn Driver,
    names: &TurnKeys,
    parts: &[TurnLogKind],
) -> Result<Batch> {
    let mut batch = Batch::default();
    for part in parts {
        match part {
            TurnLogKind::Trace => batch.writes.push(BatchWrite::Drop { log: names.trace() }),
            TurnLogKind::Stream => {
                // Messages may have come in while the turn ended.
                let logs = [names.events(), names.inbox()];
                batch
                    .writes
                    .extend(logs.map(|log| BatchWrite::Drop { log }));
                without_response(core, driver, names, &mut batch).await?;
            }
        }
    }
    Ok(batch)
}

/// What is known of a turn says no more, together with its stream, what the turn said. What `Next` gave stays: clients of the AI
/// SDK have it in the metadata of their messages.
async fn without_response(
    core: &RuntimeCore,
    driver: &dyn Driver,
    names: &TurnKeys,
    batch: &mut Batch,
) -> Result<()> {
    let key = names.info();
    let Some(entry) = driver.get(&key, ValuePart::Whole).await? else {
        return Ok(());
    };
    let mut info: TurnInfo = entry.value.to()?;
    let Some(response) = info.response.take() else {
        return Ok(());
    };
    let next = response.get("next").filter(|next| !next.is_null());
    info.response = next.map(|next| json!({"next": next}));
    let now = core.stores.options().clock.now();
    batch.checks.push(BatchCheck::Version {
        key: key.clone(),
        version: Some(entry.version),
    });
    batch.writes.push(BatchWrite::Apply {
        key,
        op: Operation::Set(Json::of(&info)?.into()),
        life: entry.expires_at.map(|end| end - now),
    });
    Ok(())
}

/// The index row of the conversation.
async fn row(core: &RuntimeCore, left: &ExpiryNote) -> Result<Option<IndexRow>> {
    let filter = RowFilter {
        id: Some(left.row.clone()),
        ..RowFilter::tenant(left.tenant.as_str())
    };
    chats::first(&core.loaded().ambit, &filter).await
}
