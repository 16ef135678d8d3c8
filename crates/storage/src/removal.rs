//! Clearing and removing what is stored, whoever asks: one context, or many sessions found in the index.

mod context;
mod events;

pub(crate) use context::remove_context;

use crate::address::{ITEMS, Space};
use crate::ambit::Ambit;
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::directory::{IndexRow, PageRequest, RowFilter, RowOrder};
use crate::driver::{Driver, LogRange, ValuePart, ValueScan};
use crate::lease::{Lease, OnBusy};
use crate::memory;
use crate::operation::Operation;
use crate::pattern::Pattern;
use crate::storage::{
    CHUNK, ChatHistoryStorage, StorageKind, UsageLabels, UsageRecord, UsageStorage, load,
    record_sums, tally,
};
use crate::usage::OnRemove;
use crate::{Error, Result, SessionIdentity};
use std::collections::{BTreeMap, HashMap};

/// What a clear or a remove did to each identity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BulkReport {
    /// Cleared or removed.
    pub done: Vec<SessionIdentity>,
    /// There was nothing to do.
    pub unchanged: Vec<SessionIdentity>,
    /// Left alone on purpose, and why.
    pub skipped: Vec<(SessionIdentity, String)>,
    /// Still as they were and still tracked, and why.
    pub failed: Vec<(SessionIdentity, Error)>,
    /// Other agents that share what was cleared or removed.
    pub shared_with: Vec<String>,
}

/// What is done to a stored identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemovalAction {
    /// Its data goes, its row stays.
    Clear,
    /// Data and row go.
    Remove,
}

/// How a bulk operation goes about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemovalPlan {
    pub(crate) action: RemovalAction,
    /// Nothing is changed.
    pub(crate) is_dry: bool,
    /// Usage that is wider than its session is left alone.
    pub(crate) spares_wider_usage: bool,
}

impl BulkReport {
    /// Adds what was done to other identities.
    pub(crate) fn join(&mut self, other: Self) {
        self.done.extend(other.done);
        self.unchanged.extend(other.unchanged);
        self.skipped.extend(other.skipped);
        self.failed.extend(other.failed);
        self.shared_with.extend(other.shared_with);
        self.shared_with.sort();
        self.shared_with.dedup();
    }

    /// Acts on one identity of many, and tells its events. A history takes the row of its memory along.
    pub(crate) async fn act(
        &mut self,
        ambit: &Ambit,
        row: &IndexRow,
        memory: Option<&String>,
        plan: RemovalPlan,
    ) {
        let identity = row.identity.clone();
        self.name_others(row);
        if plan.spares_wider_usage && is_wider_usage(row) {
            return self.skip_wider_usage(identity);
        }
        let result = match plan.action {
            action if plan.is_dry => would_erase(ambit, row, action).await,
            action => events::erase(ambit, row, memory, action).await,
        };
        self.add(identity, result);
    }

    /// The other agents that work with what is cleared or removed.
    fn name_others(&mut self, row: &IndexRow) {
        let agents = row.touches.iter().map(|touch| &touch.agent);
        let others = agents.filter(|agent| *agent != row.identity.agent_name());
        self.shared_with.extend(others.cloned());
        self.shared_with.sort();
        self.shared_with.dedup();
    }

    fn skip_wider_usage(&mut self, identity: SessionIdentity) {
        let why = "its usage is counted for more than this session";
        self.skipped.push((identity, why.to_owned()));
    }

    fn add(&mut self, identity: SessionIdentity, result: Result<bool>) {
        match result {
            Ok(true) => self.done.push(identity),
            Ok(false) => self.unchanged.push(identity),
            Err(error) => self.failed.push((identity, error)),
        }
    }
}

/// The rows of memories in the index by storage key, for all histories that a filter may find.
pub(crate) async fn memories(ambit: &Ambit, filter: &RowFilter) -> Result<HashMap<String, String>> {
    let filter = RowFilter {
        tenant: Some(ambit.caller().tenant().to_owned()),
        agent: filter.agent.clone(),
        user: filter.user.clone(),
        chat: filter.chat.clone(),
        group: filter.group.clone(),
        scope: Some(memory::SCOPE.to_owned()),
        ..RowFilter::default()
    };
    let index = ambit.stores().index()?;
    let (mut found, mut after) = (HashMap::new(), None);
    loop {
        let page = PageRequest {
            order: RowOrder::Oldest,
            after,
            limit: CHUNK,
        };
        let rows = index.driver().identities(&filter, &page).await?;
        after = rows.last().map(IndexRow::position);
        let is_over = rows.len() < CHUNK;
        found.extend(
            rows.into_iter()
                .map(|row| (row.identity.storage_key(), row.id)),
        );
        if is_over {
            return Ok(found);
        }
    }
}

/// The index row of an identity.
pub(crate) async fn row_of(ambit: &Ambit, identity: &SessionIdentity) -> Result<Option<IndexRow>> {
    let tenant = ambit.caller().tenant();
    let filter = RowFilter {
        storage_key: Some(identity.storage_key()),
        ..RowFilter::tenant(tenant)
    };
    let page = PageRequest::first(1);
    Ok(ambit
        .stores()
        .index()?
        .driver()
        .identities(&filter, &page)
        .await?
        .pop())
}

/// Usage that is booked under another identity than those of the sessions that book it.
fn is_wider_usage(row: &IndexRow) -> bool {
    let is_usage = row.identity.scope() == Some(UsageStorage::PREFIX);
    is_usage
        && row
            .touches
            .iter()
            .any(|touch| !touch.base.same_storage(&row.identity.base()))
}

/// What `erase` would do.
async fn would_erase(ambit: &Ambit, row: &IndexRow, action: RemovalAction) -> Result<bool> {
    if action == RemovalAction::Remove {
        return Ok(true);
    }
    let driver = ambit.stores().chain(&row.placement)?;
    holds_something(
        driver.driver().as_ref(),
        &Space::of(&row.tenant, &row.identity),
    )
    .await
}

async fn holds_something(driver: &dyn Driver, space: &Space) -> Result<bool> {
    let head = driver.read(&space.log(ITEMS), LogRange::head()).await?.head;
    let scan = ValueScan {
        pattern: Pattern::all(),
        after: None,
        limit: 1,
        part: ValuePart::Nothing,
    };
    Ok(head.is_some_and(|head| head.last > 0) || !driver.scan(space, &scan).await?.is_empty())
}

/// Erases one stored identity, of which no move is left unfinished, on every driver on record, under its lease. True
/// where something changed.
async fn erase(
    ambit: &Ambit,
    row: &IndexRow,
    memory: Option<&String>,
    action: RemovalAction,
) -> Result<bool> {
    let placement = ambit.stores().chain(&row.placement)?;
    let (driver, index) = (placement.driver(), ambit.stores().index()?);
    let rows = match action {
        RemovalAction::Clear => Vec::new(),
        RemovalAction::Remove => untrack(row, memory),
    };
    // Only one driver erases data and rows at once. Elsewhere the rows go last, so that what could not be erased
    // everywhere stays tracked.
    let is_one = placement.names().len() == 1 && index.names() == placement.names();
    let (with_data, after_data) = if is_one {
        (rows, Vec::new())
    } else {
        (Vec::new(), rows)
    };
    let key = Space::of(&row.tenant, &row.identity).lease();
    let lease = Lease::take(driver.clone(), key, OnBusy::Reject).await?;
    let erased = erase_leased(ambit, row, (action, with_data), &lease).await;
    if erased.is_err()
        && let Err(error) = lease.release().await
    {
        tracing::warn!(session.key = %row.identity.key(), error.message = %error, "a lease was not given back; it ends by itself");
    }
    let had_something = erased?;
    ambit
        .stores()
        .options()
        .fault_points
        .reach("removal.erased");
    if action == RemovalAction::Clear {
        return Ok(had_something);
    }
    if placement.names().len() > 1 {
        // A chain has copied the row along with the data.
        driver.commit(Batch::of(after_data.iter().cloned())).await?;
    }
    if index.names() != placement.names() {
        index.driver().commit(Batch::of(after_data)).await?;
    }
    Ok(true)
}

/// True where there was something.
async fn erase_leased(
    ambit: &Ambit,
    row: &IndexRow,
    (action, untracking): (RemovalAction, Vec<BatchWrite>),
    lease: &Lease,
) -> Result<bool> {
    let placement = ambit.stores().chain(&row.placement)?;
    let driver = placement.driver().as_ref();
    let space = Space::of(&row.tenant, &row.identity);
    let head = driver.read(&space.log(ITEMS), LogRange::head()).await?.head;
    let had_something = holds_something(driver, &space).await?;
    let mut writes = vec![action.on(space.clone())];
    writes.extend(dependent_writes(ambit, driver, (&row.tenant, &row.identity), action).await?);
    writes.extend(untracking);
    // The lease ends with the same write: killed behind it, nobody has to wait, and nothing of the session is left.
    match action {
        RemovalAction::Clear => writes.extend(lease.end()),
        RemovalAction::Remove => writes.push(BatchWrite::Remove {
            space: space.lease().space,
        }),
    }
    let checks = vec![
        lease.check(),
        BatchCheck::Head {
            log: space.log(ITEMS),
            head,
        },
    ];
    driver.commit(Batch { checks, writes }).await?;
    Ok(had_something)
}

fn untrack(row: &IndexRow, memory: Option<&String>) -> Vec<BatchWrite> {
    let ids = std::iter::once(&row.id).chain(memory);
    let untrack = |id: &String| BatchWrite::Untrack {
        tenant: row.tenant.clone(),
        id: id.clone(),
    };
    ids.map(untrack).collect()
}

/// The writes that go with the erasure of an identity: a history takes its memory along, and what is noted of turns that
/// nobody runs any more; usage its sums.
pub(crate) async fn dependent_writes(
    ambit: &Ambit,
    driver: &dyn Driver,
    (tenant, identity): (&str, &SessionIdentity),
    action: RemovalAction,
) -> Result<Vec<BatchWrite>> {
    match identity.scope() {
        Some(ChatHistoryStorage::PREFIX) => {
            let memory = identity.with_scope(memory::SCOPE)?;
            let mut writes = open_turns(driver, &Space::of(tenant, identity)).await?;
            writes.push(action.on(Space::of(tenant, &memory)));
            Ok(writes)
        }
        Some(UsageStorage::PREFIX) => {
            carried_over(ambit, driver, &Space::of(tenant, identity)).await
        }
        _ => Ok(Vec::new()),
    }
}

/// The writes that forget the open turns of a history, and the requests that they are known by.
async fn open_turns(driver: &dyn Driver, space: &Space) -> Result<Vec<BatchWrite>> {
    let scan = ValueScan {
        pattern: Pattern::parse(&format!("{}/*", space.digest())),
        after: None,
        limit: CHUNK,
        part: ValuePart::Nothing,
    };
    let open = driver.scan(&Space::turns(), &scan).await?.into_iter();
    let keys = open.flat_map(|(name, _)| {
        let request = name.split_once('/').map_or("", |(_, request)| request);
        let known = Space::requests(&space.tenant).key(request);
        [known, Space::turns().key(name)]
    });
    let forget = |key| BatchWrite::Apply {
        key,
        op: Operation::Del,
        life: None,
    };
    Ok(keys.map(forget).collect())
}

impl RemovalAction {
    fn on(self, space: Space) -> BatchWrite {
        match self {
            Self::Clear => BatchWrite::Clear { space },
            Self::Remove => BatchWrite::Remove { space },
        }
    }
}

/// Takes the records' amounts out of the rows of sums that name user and chat, and keeps them in rows that do not.
async fn carried_over(
    ambit: &Ambit,
    driver: &dyn Driver,
    space: &Space,
) -> Result<Vec<BatchWrite>> {
    let mut rows: BTreeMap<String, (UsageLabels, BTreeMap<String, i64>)> = BTreeMap::new();
    let mut next = 1;
    loop {
        let page = driver
            .read(&space.log(ITEMS), LogRange::from(next, CHUNK))
            .await?;
        let Some(last) = page.entries.last() else {
            break;
        };
        next = last.seq + 1;
        for entry in page.entries {
            let record: UsageRecord = load(driver, space, entry).await?.body.to()?;
            let labels = UsageLabels::of(&record);
            let (_, sums) = rows
                .entry(labels.name()?)
                .or_insert_with(|| (labels, BTreeMap::new()));
            record_sums(&record)
                .into_iter()
                .for_each(|(name, sum)| *sums.entry(name).or_default() += sum);
        }
    }
    let keeps = ambit.settings().usage.on_remove == OnRemove::Keep;
    let mut writes = Vec::new();
    for (name, (labels, sums)) in rows {
        let key = Space::usage_sums(&space.tenant).key(name);
        writes.push(BatchWrite::Apply {
            key,
            op: Operation::Del,
            life: None,
        });
        if keeps {
            let nameless = UsageLabels {
                user: None,
                chat: None,
                identity: None,
                ..labels
            };
            writes.push(tally(&space.tenant, &nameless, sums)?);
        }
    }
    Ok(writes)
}
