//! Temporary sessions: untracked, and gone when they have been idle for their time.

use crate::Result;
use crate::address::Space;
use crate::batch::{Batch, Write};
use crate::clock::{Clock, Millis, to_millis};
use crate::driver::{Driver, Part, Scan};
use crate::json::Json;
use crate::op::Op;
use crate::pattern::Pattern;
use std::time::Duration;

/// The write that lets a session's space live on. The end is a plain number, not the value's own life, so that the
/// upkeep still finds the space after it.
pub(crate) fn stay(space: &Space, clock: &Clock, life: Duration) -> Result<Write> {
    let end = clock.now().saturating_add(to_millis(life));
    let key = Space::temporary_sessions(&space.tenant).key(space.path.as_str());
    Ok(Write::Apply {
        key,
        op: Op::Set(Json::of(&end)?.into()),
        life: None,
    })
}

/// Erases the space if its time is over; true where it was.
pub(crate) async fn end_if_over(driver: &dyn Driver, space: &Space, clock: &Clock) -> Result<bool> {
    let key = Space::temporary_sessions(&space.tenant).key(space.path.as_str());
    let Some(limit) = driver.get(&key, Part::Whole).await? else {
        return Ok(false);
    };
    if limit.value.to::<Millis>()? > clock.now() {
        return Ok(false);
    }
    driver.commit(Batch::of(end(space))).await?;
    Ok(true)
}

/// The writes that end the space.
pub(crate) fn end(space: &Space) -> Vec<Write> {
    let spaces = [space.clone(), space.lease().space];
    let mut writes: Vec<Write> = spaces
        .into_iter()
        .map(|space| Write::Remove { space })
        .collect();
    writes.push(Write::Apply {
        key: Space::temporary_sessions(&space.tenant).key(space.path.as_str()),
        op: Op::Del,
        life: None,
    });
    writes
}

/// Erases the temporary sessions of a tenant whose time is over; the answer is how many there were.
pub(crate) async fn sweep(driver: &dyn Driver, tenant: &str, clock: &Clock) -> Result<u64> {
    let sessions = Space::temporary_sessions(tenant);
    let (mut after, mut swept) = (None, 0);
    loop {
        let scan = Scan {
            pattern: Pattern::all(),
            after,
            limit: 500,
            part: Part::Nothing,
        };
        let page = driver.scan(&sessions, &scan).await?;
        let Some((last, _)) = page.last() else {
            return Ok(swept);
        };
        after = Some(last.clone());
        for (path, _) in page {
            let space = Space {
                tenant: tenant.to_owned(),
                path,
            };
            swept += u64::from(end_if_over(driver, &space, clock).await?);
        }
    }
}
