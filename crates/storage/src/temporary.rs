//! Temporary sessions: untracked, and gone when they have been idle for their time.

use crate::address::Space;
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::clock::{Clock, Millis, to_millis};
use crate::driver::{Driver, ValuePages, ValuePart};
use crate::json::Json;
use crate::operation::Operation;
use crate::pattern::Pattern;
use crate::{Error, Result};
use std::time::Duration;

/// The write that lets a session's space live on. The end is a plain number, not the value's own life, so that the
/// upkeep still finds the space after it.
pub(crate) fn extend_life(space: &Space, clock: &Clock, life: Duration) -> Result<BatchWrite> {
    let end = clock.now().saturating_add(to_millis(life));
    let key = Space::temporary_sessions(&space.tenant).key(space.path.as_str());
    Ok(BatchWrite::apply(
        key,
        Operation::Set(Json::of(&end)?.into()),
        None,
    ))
}

/// Erases the space if its time is over; true where it was.
pub(crate) async fn erase_if_expired(
    driver: &dyn Driver,
    space: &Space,
    clock: &Clock,
) -> Result<bool> {
    let key = Space::temporary_sessions(&space.tenant).key(space.path.as_str());
    let Some(limit) = driver.get(&key, ValuePart::Whole).await? else {
        return Ok(false);
    };
    if limit.value.to::<Millis>()? > clock.now() {
        return Ok(false);
    }
    erase_if_unchanged(driver, space, limit.version).await
}

/// Erases the space unless somebody has come back since its end was read; what they wrote then lives on.
async fn erase_if_unchanged(driver: &dyn Driver, space: &Space, version: u64) -> Result<bool> {
    let check = BatchCheck::version(
        Space::temporary_sessions(&space.tenant).key(space.path.as_str()),
        Some(version),
    );
    match driver.commit(Batch::of(end(space)).checking(check)).await {
        Err(Error::Conflict { .. }) => Ok(false),
        ended => ended.map(|_| true),
    }
}

pub(crate) fn end(space: &Space) -> Vec<BatchWrite> {
    let spaces = [space.clone(), space.lease().space];
    let mut writes: Vec<BatchWrite> = spaces
        .into_iter()
        .map(|space| BatchWrite::Remove { space })
        .collect();
    writes.push(BatchWrite::Wipe {
        space: Space::turns(),
        pattern: Pattern::parse(&format!("{}/*", space.digest())),
    });
    writes.push(BatchWrite::apply(
        Space::temporary_sessions(&space.tenant).key(space.path.as_str()),
        Operation::Del,
        None,
    ));
    writes
}

/// Erases the temporary sessions of a tenant whose time is over; the answer is how many there were.
pub(crate) async fn sweep(driver: &dyn Driver, tenant: &str, clock: &Clock) -> Result<u64> {
    let sessions = Space::temporary_sessions(tenant);
    let mut values = ValuePages::of(driver, &sessions, Pattern::all(), ValuePart::Nothing);
    let mut swept = 0;
    while let Some(page) = values.next().await? {
        for (path, _) in page {
            let space = Space::new(tenant, path);
            swept += u64::from(erase_if_expired(driver, &space, clock).await?);
        }
    }
    Ok(swept)
}

#[cfg(test)]
mod tests {
    use super::{erase_if_unchanged, extend_life};
    use crate::SessionIdentity;
    use crate::address::{ITEMS, Space};
    use crate::batch::{Batch, BatchWrite, NewEntry};
    use crate::driver::memory::MemoryDriver;
    use crate::driver::{Driver, DriverOptions, LogRange, ValuePart};
    use crate::json::Json;
    use std::time::Duration;

    #[tokio::test]
    async fn who_comes_back_while_a_session_is_swept_keeps_what_they_write() {
        let options = DriverOptions::default();
        let driver = MemoryDriver::new(options.clone());
        let identity = SessionIdentity::builder("Support").chat_name("_temp");
        let space = Space::of("t", &identity.build().unwrap());
        let entry = NewEntry::new("a", Json::of(&1).unwrap());
        let append = BatchWrite::append(space.log(ITEMS), vec![entry]);
        let write = async |life| {
            let stay = extend_life(&space, &options.clock, life).unwrap();
            let batch = Batch::of([append.clone(), stay]);
            driver.commit(batch).await.unwrap();
        };
        let key = Space::temporary_sessions("t").key(space.path.as_str());
        let version = async || {
            let end = driver.get(&key, ValuePart::Nothing).await.unwrap();
            end.unwrap().version
        };
        let head = async || {
            let log = space.log(ITEMS);
            driver.read(&log, LogRange::head()).await.unwrap().head
        };
        write(Duration::ZERO).await;
        let seen = version().await;
        write(Duration::from_secs(60)).await;
        assert!(!erase_if_unchanged(&driver, &space, seen).await.unwrap());
        assert!(head().await.is_some());
        let seen = version().await;
        assert!(erase_if_unchanged(&driver, &space, seen).await.unwrap());
        assert_eq!(head().await, None);
    }
}
