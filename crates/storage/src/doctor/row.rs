//! One index row and what it stands for.

use super::Doctor;
use crate::address::{ITEMS, Space};
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::clock::Millis;
use crate::directory::IndexRow;
use crate::driver::chain::{compare, copy};
use crate::driver::{Driver, LogRange, ValuePart};
use crate::memory;
use crate::{Error, Result};

/// A row without data may be the beginning of a first write; after this long it no longer is.
const FIRST_WRITE: Millis = 60_000;

/// Data in another store than the index is written right behind its row, at times of two clocks. So much newer it is where the index
/// is from before.
const APART: Millis = 60 * 60 * 1_000;

impl Doctor<'_> {
    pub(super) async fn row(&mut self, row: &IndexRow) -> Result<()> {
        let place = format!("context {} ({})", row.id, row.identity.key());
        let examined = self.examine_row(row, &place).await;
        match examined {
            // One damaged or unreachable session does not keep the others from being looked at.
            Err(error) if error.is_failure() || matches!(error, Error::Invalid { .. }) => {
                self.left(&place, error.to_string());
                Ok(())
            }
            done => done,
        }
    }

    async fn examine_row(&mut self, row: &IndexRow, place: &str) -> Result<()> {
        let stores = self.ambit.stores();
        let placement = stores.chain(&row.placement)?;
        let space = row.space();
        self.index_copies(&space, place).await?;
        if placement.names() != stores.index()?.names() {
            self.older_row(row, placement.driver().as_ref(), place)
                .await?;
        }
        if placement.names().len() > 1 {
            self.copies(row, &space, place).await?;
        }
        if self
            .is_without_data(row, placement.driver().as_ref(), &space)
            .await?
        {
            self.row_without_data(row, place).await?;
        }
        Ok(())
    }

    /// The row in the other drivers of the index's chain.
    async fn index_copies(&mut self, space: &Space, place: &str) -> Result<()> {
        let stores = self.ambit.stores();
        let index = stores.index()?;
        let (primary, others) = (&index.names()[0], &index.names()[1..]);
        let ours = copy::row_of(stores.drivers()[primary].as_ref(), space).await?;
        for name in others {
            let other = stores.drivers()[name].as_ref();
            let theirs = copy::row_of(other, space).await?;
            if theirs.as_ref().map(of_row) == ours.as_ref().map(of_row) {
                continue;
            }
            let what = format!("its index row in {name} is not the one in {primary}");
            if !self.repairs {
                self.left(place, what);
                continue;
            }
            match copy::row_or_none(stores.drivers()[primary].as_ref(), other, space).await {
                Ok(()) => self.mended(place, what),
                Err(error) => self.left(place, format!("{what}: {error}")),
            }
        }
        Ok(())
    }

    /// The copies in a chain's other drivers.
    async fn copies(&mut self, row: &IndexRow, space: &Space, place: &str) -> Result<()> {
        let found = self.differing(row, space).await?;
        if found.is_empty() {
            return Ok(());
        }
        let mut why = Vec::new();
        if self.repairs {
            let chain = self.ambit.stores().chained(&row.placement)?;
            why = chain.repair_space(space).await?;
        }
        let left = self.differing(row, space).await?;
        for (name, what) in found {
            let what = format!("the copy in {name}: {what}");
            if !left.iter().any(|(other, _)| *other == name) {
                self.mended(place, what);
                continue;
            }
            let reasons = why.iter().filter(|(other, _)| *other == name);
            let reasons: Vec<String> = reasons.map(|(_, why)| format!("; {why}")).collect();
            self.left(place, format!("{what}{}", reasons.concat()));
        }
        Ok(())
    }

    /// Which of the row's other drivers differ from its primary, and in what.
    async fn differing(&self, row: &IndexRow, space: &Space) -> Result<Vec<(String, String)>> {
        let drivers = self.ambit.stores().drivers();
        let primary = drivers[&row.placement[0]].as_ref();
        let mut found = Vec::new();
        for name in &row.placement[1..] {
            match compare::difference(primary, drivers[name].as_ref(), space).await {
                Ok(None) => {}
                Ok(Some(what)) => found.push((name.clone(), what)),
                Err(error) => found.push((name.clone(), error.to_string())),
            }
        }
        Ok(found)
    }

    /// A row whose data, in another store, is newer than the row knows.
    async fn older_row(&mut self, row: &IndexRow, driver: &dyn Driver, place: &str) -> Result<()> {
        let items = row.space().log(ITEMS);
        let items = driver.read(&items, LogRange::last(1));
        let Some(last) = items.await?.entries.pop() else {
            return Ok(());
        };
        if last.at - row.last_used_at() <= APART {
            return Ok(());
        }
        let what = format!(
            "its data in {} is more than an hour newer than its index row: the index is of an older backup than that store",
            row.placement.join("+")
        );
        if !self.repairs {
            self.left(place, what);
            return Ok(());
        }
        let now = IndexRow {
            last_activity_at: last.at,
            ..row.clone()
        };
        let batch = Batch::of([BatchWrite::mirror_row(now)]).checking(BatchCheck::Row {
            space: row.space(),
            mark: Some(row.mark()),
        });
        match self.ambit.stores().index()?.driver().commit(batch).await {
            Ok(_) => self.mended(place, what),
            // Somebody is writing to it now.
            Err(Error::Conflict { .. }) => {}
            Err(error) => self.left(place, format!("{what}: {error}")),
        }
        Ok(())
    }

    /// True where a first write was interrupted behind its index row. A memory may be empty, and leaves no log.
    async fn is_without_data(
        &self,
        row: &IndexRow,
        driver: &dyn Driver,
        space: &Space,
    ) -> Result<bool> {
        let now = self.ambit.stores().options().clock.now();
        if row.identity.scope() == Some(memory::SCOPE) || now - row.last_activity_at < FIRST_WRITE {
            return Ok(false);
        }
        let head = driver.read(&space.log(ITEMS), LogRange::head()).await?.head;
        let values = driver
            .scan(space, &copy::page(None, ValuePart::Nothing))
            .await?;
        Ok(head.is_none() && values.is_empty())
    }

    async fn row_without_data(&mut self, row: &IndexRow, place: &str) -> Result<()> {
        let what = "is tracked, but its first write never came".to_owned();
        if !self.repairs {
            self.left(place, what);
            return Ok(());
        }
        let index = self.ambit.stores().index()?;
        let space = row.space();
        let mut batch = Batch::of([BatchWrite::untrack(row.tenant.clone(), row.id.clone())]);
        if index.names() == row.placement {
            batch = batch.checking(BatchCheck::head(space.log(ITEMS), None));
        } else if copy::row_of(index.driver().as_ref(), &space)
            .await?
            .as_ref()
            != Some(row)
        {
            // Somebody is writing to it now.
            return Ok(());
        }
        match index.driver().commit(batch).await {
            Ok(_) => self.mended(place, what),
            Err(Error::Conflict { .. }) => {}
            Err(error) => self.left(place, format!("{what}: {error}")),
        }
        Ok(())
    }
}

/// What of a row is the same in every driver: what its own log says of it may differ where the data is elsewhere.
fn of_row(row: &IndexRow) -> (&str, &[String], usize) {
    (&row.id, &row.placement, row.touches.len())
}
