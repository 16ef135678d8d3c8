//! Index rows whose data never came: where index and data are in different stores, a row is written just before its
//! data, and a process may end between the two.

use crate::Result;
use crate::address::Space;
use crate::ambit::Ambit;
use crate::batch::{Batch, Mirror, Write};
use crate::clock::to_millis;
use crate::directory::{Filter, Order, PageRequest, Tracked};
use crate::driver::{Driver, Part, Range, Scan};
use crate::pattern::Pattern;
use std::time::Duration;

/// Data that has not come by now does not come any more.
const PATIENCE: Duration = Duration::from_secs(3_600);
/// Rows looked at in one go.
const PAGE: usize = 500;

/// Deletes the rows of the caller's tenant whose data never came; the answer is how many there were. A row whose data
/// cannot be looked for stays.
pub(crate) async fn sweep(ambit: &Ambit) -> Result<u64> {
    let (stores, index) = (ambit.stores(), ambit.stores().index()?);
    let filter = Filter {
        active_before: Some(stores.options().clock.now() - to_millis(PATIENCE)),
        ..Filter::tenant(ambit.caller().tenant())
    };
    let (mut after, mut swept) = (None, 0);
    loop {
        let page = PageRequest {
            order: Order::Oldest,
            after,
            limit: PAGE,
        };
        let rows = index.driver().identities(&filter, &page).await?;
        let Some(last) = rows.last() else {
            return Ok(swept);
        };
        after = Some(last.position());
        // In one store, row and data come in one commit.
        for row in rows.iter().filter(|row| row.placement != index.names()) {
            match end_if_alone(ambit, index.driver().as_ref(), row).await {
                Ok(is_ended) => swept += u64::from(is_ended),
                Err(error) => {
                    tracing::warn!(session.key = %row.identity.key(), %error, "a row could not be compared with its data");
                }
            }
        }
    }
}

/// Deletes a row that has no data; true where it had none.
async fn end_if_alone(ambit: &Ambit, index: &dyn Driver, row: &Tracked) -> Result<bool> {
    let placement = ambit.stores().chain(&row.placement)?;
    let space = Space::of(&row.tenant, &row.identity);
    if has_data(placement.driver().as_ref(), &space).await? {
        return Ok(false);
    }
    let untrack = Write::Untrack {
        tenant: row.tenant.clone(),
        id: row.id.clone(),
    };
    index.commit(Batch::of([untrack])).await?;
    if has_data(placement.driver().as_ref(), &space).await? {
        // It was written just now, relying on the row.
        let back = Write::Mirror(Mirror::Row(Box::new(row.clone())));
        index.commit(Batch::of([back])).await?;
        return Ok(false);
    }
    Ok(true)
}

/// True where there is a log, if an empty one, or a value.
async fn has_data(driver: &dyn Driver, space: &Space) -> Result<bool> {
    for name in driver.logs(space).await? {
        let page = driver.read(&space.log(name), Range::head()).await?;
        if page.head.is_some() {
            return Ok(true);
        }
    }
    let scan = Scan {
        pattern: Pattern::all(),
        after: None,
        limit: 1,
        part: Part::Nothing,
    };
    Ok(!driver.scan(space, &scan).await?.is_empty())
}
