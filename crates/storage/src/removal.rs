//! Clearing and removing what is stored, whoever asks: one context, or many sessions found in the index.

mod following;

pub(crate) use following::following;

use crate::address::{ITEMS, Space};
use crate::ambit::Ambit;
use crate::batch::{Batch, Check, Write};
use crate::context::Context;
use crate::directory::{Filter, Order, PageRequest, Tracked};
use crate::driver::{Driver, Part, Range, Scan};
use crate::event::{
    ContextRemoved, ContextRemoving, IdentityRemoved, IdentityRemoving, IdentityStorageSaved,
};
use crate::lease::{Lease, OnBusy};
use crate::memory;
use crate::pattern::Pattern;
use crate::storage::{ChatHistoryStorage, StorageKind, UsageStorage};
use crate::{Error, Result, SessionIdentity};

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
    pub failed: Vec<(SessionIdentity, String)>,
    /// Other agents that share what was cleared or removed.
    pub shared_with: Vec<String>,
}

/// What is done to a stored identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Its data goes, its row stays.
    Clear,
    /// Data and row go.
    Remove,
}

/// How a bulk operation goes about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) action: Action,
    /// Nothing is changed.
    pub(crate) is_dry: bool,
    /// Usage that is wider than its session is left alone.
    pub(crate) spares_wider_usage: bool,
}

impl BulkReport {
    /// Adds one identity's result.
    pub(crate) async fn act(&mut self, ambit: &Ambit, row: &Tracked, plan: Plan) {
        let identity = row.identity.clone();
        let agents = row
            .touches
            .iter()
            .map(|touch| touch.agent.clone())
            .filter(|agent| agent != identity.agent_name());
        self.shared_with.extend(agents);
        self.shared_with.sort();
        self.shared_with.dedup();
        if plan.spares_wider_usage && is_wider_usage(row) {
            self.skipped.push((
                identity,
                "its usage is counted for more than this session".to_owned(),
            ));
            return;
        }
        let result = if plan.is_dry {
            look(ambit, row, plan.action).await
        } else {
            erase(ambit, row, plan.action, &[]).await
        };
        match result {
            Ok(true) => self.done.push(identity),
            Ok(false) => self.unchanged.push(identity),
            Err(error) => self.failed.push((identity, error.to_string())),
        }
    }
}

/// Removes a context's data and its own index rows.
pub(crate) async fn remove_context(context: &Context) -> Result<BulkReport> {
    let (ambit, session) = (context.ambit(), context.session());
    ambit
        .bus()
        .ask(ContextRemoving {
            about: context.about(),
            context: context.clone(),
        })
        .await?;
    let mut report = BulkReport::default();
    if context.is_temporary() {
        for cell in session.cells() {
            cell.driver()
                .commit(Batch::of([Write::Remove {
                    space: cell.space(session.tenant()),
                }]))
                .await?;
            report.done.push(cell.identity.clone());
        }
    } else {
        let mut identities: Vec<SessionIdentity> = session
            .cells()
            .iter()
            .map(|cell| cell.identity.clone())
            .collect();
        identities.push(context.history().identity().with_scope(memory::SCOPE)?);
        for identity in identities {
            remove_own(context, &identity, &mut report).await?;
        }
        let storage = context.context_identity()?.key();
        ambit
            .bus()
            .tell(IdentityStorageSaved {
                about: context.about(),
                storage,
            })
            .await;
    }
    let event = ContextRemoved {
        about: context.about(),
        context: context.clone(),
        report: report.clone(),
    };
    ambit.bus().tell(event).await;
    match report.failed.first() {
        None => Ok(report),
        Some((identity, error)) => Err(Error::Partial {
            done: report.done.iter().map(SessionIdentity::key).collect(),
            failed: vec![(identity.key(), error.clone())],
        }),
    }
}

async fn remove_own(
    context: &Context,
    identity: &SessionIdentity,
    report: &mut BulkReport,
) -> Result<()> {
    let (ambit, session) = (context.ambit(), context.session());
    if identity.scope() == Some(UsageStorage::PREFIX) && !session.is_own(identity) {
        report.skipped.push((
            identity.clone(),
            "its usage is counted for more than this session".to_owned(),
        ));
        return Ok(());
    }
    let Some(row) = row_of(ambit, identity).await? else {
        return Ok(());
    };
    ambit
        .bus()
        .ask(IdentityRemoving {
            about: context.about(),
            identity: identity.clone(),
        })
        .await?;
    // A running turn's own lease covers its session; anybody else's makes the removal fail.
    let lease = context
        .lease()
        .filter(|_| identity.scope() == Some(ChatHistoryStorage::PREFIX));
    if let Some(lease) = lease {
        lease.release().await?;
    }
    let plan = Plan {
        action: Action::Remove,
        is_dry: false,
        spares_wider_usage: false,
    };
    report.act(ambit, &row, plan).await;
    if report.done.last() == Some(identity) {
        ambit
            .bus()
            .tell(IdentityRemoved {
                about: context.about(),
                identity: identity.clone(),
            })
            .await;
    }
    Ok(())
}

/// The index row of an identity.
pub(crate) async fn row_of(ambit: &Ambit, identity: &SessionIdentity) -> Result<Option<Tracked>> {
    let tenant = ambit.caller().tenant();
    let filter = Filter {
        storage_key: Some(identity.storage_key()),
        ..Filter::tenant(tenant)
    };
    let page = PageRequest {
        order: Order::Oldest,
        after: None,
        limit: 1,
    };
    Ok(ambit
        .stores()
        .index()?
        .driver()
        .identities(&filter, &page)
        .await?
        .pop())
}

/// Usage that is booked under another identity than those of the sessions that book it.
fn is_wider_usage(row: &Tracked) -> bool {
    let is_usage = row.identity.scope() == Some(UsageStorage::PREFIX);
    is_usage
        && row
            .touches
            .iter()
            .any(|touch| !touch.base.same_storage(&row.identity.base()))
}

/// What `erase` would do.
async fn look(ambit: &Ambit, row: &Tracked, action: Action) -> Result<bool> {
    if action == Action::Remove {
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
    let head = driver.read(&space.log(ITEMS), Range::head()).await?.head;
    let scan = Scan {
        pattern: Pattern::all(),
        after: None,
        limit: 1,
        part: Part::Nothing,
    };
    Ok(head.is_some_and(|head| head.last > 0) || !driver.scan(space, &scan).await?.is_empty())
}

/// Erases one stored identity on every driver on record, under its lease. Data goes first, so that what could not be
/// erased stays tracked. `guards` are conditions on index rows. True where something changed.
pub(crate) async fn erase(
    ambit: &Ambit,
    row: &Tracked,
    action: Action,
    guards: &[Check],
) -> Result<bool> {
    let placement = ambit.stores().chain(&row.placement)?;
    let (driver, index) = (placement.driver(), ambit.stores().index()?);
    let space = Space::of(&row.tenant, &row.identity);
    let lease = Lease::take(driver.clone(), space.lease(), OnBusy::Reject).await?;
    let erased = erase_leased(ambit, row, action, (&lease, guards)).await;
    let forgotten = match action {
        Action::Remove if erased.is_ok() => forget_lease(driver.as_ref(), &space, &lease).await,
        _ => Ok(()),
    };
    lease.release().await?;
    let (had_something, rows) = erased?;
    forgotten?;
    ambit
        .stores()
        .options()
        .fault_points
        .reach("removal.erased");
    if action == Action::Clear {
        return Ok(had_something);
    }
    if !rows.is_empty() {
        let gone = Batch {
            checks: guards.to_vec(),
            writes: rows,
        };
        index.driver().commit(gone).await?;
    }
    Ok(true)
}

/// Erases what the lease itself leaves in the store, while it is still held: nobody else's is taken away.
pub(crate) async fn forget_lease(driver: &dyn Driver, space: &Space, lease: &Lease) -> Result<()> {
    let space = space.lease().space;
    let gone = Batch::of([Write::Remove { space }]).checking(lease.check());
    driver.commit(gone).await.map(|_| ())
}

/// Whether there was something, and the deletions of index rows that are left to do because they are kept elsewhere.
async fn erase_leased(
    ambit: &Ambit,
    row: &Tracked,
    action: Action,
    (lease, guards): (&Lease, &[Check]),
) -> Result<(bool, Vec<Write>)> {
    let (placement, index) = (
        ambit.stores().chain(&row.placement)?,
        ambit.stores().index()?,
    );
    let driver = placement.driver().as_ref();
    let space = Space::of(&row.tenant, &row.identity);
    let head = driver.read(&space.log(ITEMS), Range::head()).await?.head;
    let had_something = holds_something(driver, &space).await?;
    let mut writes = vec![action.on(space.clone())];
    writes.extend(following(ambit, driver, (&row.tenant, &row.identity), action).await?);
    if action == Action::Remove {
        writes.push(untrack(row));
    }
    let mut checks = vec![
        lease.check(),
        Check::Head {
            log: space.log(ITEMS),
            head,
        },
    ];
    let mut rows = Vec::new();
    if index.names() == placement.names() {
        checks.extend_from_slice(guards);
    } else {
        // Rows are judged and deleted where they are.
        let is_row = |write: &Write| matches!(write, Write::Untrack { .. });
        (rows, writes) = writes.into_iter().partition(is_row);
        let judged = Batch {
            checks: guards.to_vec(),
            writes: Vec::new(),
        };
        index.driver().commit(judged).await?;
    }
    driver.commit(Batch { checks, writes }).await?;
    Ok((had_something, rows))
}

pub(crate) fn untrack(row: &Tracked) -> Write {
    Write::Untrack {
        tenant: row.tenant.clone(),
        id: row.id.clone(),
    }
}
