//! Bringing all drivers of a chain level, and telling where they are not. For `doctor`, and after a secondary was away.

use super::{ChainDriver, ChainMember, copy};
use crate::Result;
use crate::address::Space;
use crate::batch::ValueEntry;
use crate::directory::RowFilter;
use crate::driver::{LogRange, RowPages, ValuePages, ValuePart};
use crate::pattern::Pattern;
use futures::future::BoxFuture;
use std::collections::BTreeSet;

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// How many spaces were looked at.
    pub spaces: u64,
    /// What could not be repaired, by driver, and why.
    pub failed: Vec<(String, String)>,
}

/// Index rows that are read at once: so many are not looked at for one that is damaged.
const STEP: usize = 64;

impl ChainDriver {
    /// Repairs every space that has an index row in some driver. Spaces without one (memory, ledgers) are repaired by
    /// `repair_space`, or by the next write to them.
    pub async fn repair(&self) -> Result<RepairReport> {
        let mut done = RepairReport::default();
        for member in self.members() {
            let mut pages = RowPages::of(&*member.driver, RowFilter::default()).in_steps(STEP);
            loop {
                let rows = match pages.next().await {
                    Ok(Some(rows)) => rows,
                    Ok(None) => break,
                    Err(error) if member.name != self.primary.name => {
                        done.failed.push((member.name.clone(), error.to_string()));
                        break;
                    }
                    Err(error) => return Err(error),
                };
                for row in &rows {
                    done.spaces += 1;
                    done.failed.extend(self.repair_space(&row.space()).await?);
                }
            }
        }
        Ok(done)
    }

    /// Makes one space equal in all drivers, and tells by driver what could not be.
    pub fn repair_space<'a>(
        &'a self,
        space: &'a Space,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>>> {
        Box::pin(async move {
            let (_turn, stone) = self.lock_space(space).await?;
            let mut failed = Vec::new();
            let (mut logs, mut names) = (BTreeSet::new(), BTreeSet::new());
            for member in self.members() {
                if stone.owing.contains(&member.name) {
                    failed.push((
                        member.name.clone(),
                        format!("an erasure in {space} is owed"),
                    ));
                    continue;
                }
                match contents(member, space).await {
                    Ok(found) => {
                        logs.extend(found.0);
                        names.extend(found.1);
                    }
                    Err(error) if member.name != self.primary.name => {
                        failed.push((member.name.clone(), error.to_string()));
                    }
                    Err(error) => return Err(error),
                }
            }
            for log in &logs {
                self.refill_log(&space.log(log.as_str()), &stone).await?;
            }
            for name in &names {
                self.refill_value(&space.key(name.as_str()), &stone).await?;
            }
            self.refill_row(space, &stone).await?;
            let unreachable: BTreeSet<String> =
                failed.iter().map(|(name, _)| name.clone()).collect();
            let rest = self.secondaries.iter();
            for member in rest.filter(|member| !unreachable.contains(&member.name)) {
                if let Err(error) = self.make_equal(member, space, &logs, &names).await {
                    failed.push((member.name.clone(), error.to_string()));
                }
            }
            Ok(failed)
        })
    }

    async fn make_equal(
        &self,
        to: &ChainMember,
        space: &Space,
        logs: &BTreeSet<String>,
        names: &BTreeSet<String>,
    ) -> Result<()> {
        let (from, to) = (&*self.primary.driver, &*to.driver);
        for log in logs {
            copy::log(from, to, &space.log(log.as_str())).await?;
        }
        for name in names {
            copy::value(from, to, &space.key(name.as_str())).await?;
        }
        copy::row(from, to, space).await
    }

    /// What the drivers find themselves, and where a secondary has what its primary has not.
    pub(super) async fn compare(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for member in self.members() {
            let own = member.driver.check().await;
            let own = own.unwrap_or_else(|error| vec![error.to_string()]);
            found.extend(
                own.iter()
                    .map(|finding| format!("{}: {finding}", member.name)),
            );
        }
        found.extend(self.contradictions().await?);
        Ok(found)
    }

    /// Where a secondary has what its primary cannot have given it.
    pub(crate) async fn contradictions(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for member in &self.secondaries {
            found.extend(self.compare_with(member).await?);
        }
        Ok(found)
    }

    async fn compare_with(&self, member: &ChainMember) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut pages = RowPages::of(&*member.driver, RowFilter::default()).in_steps(STEP);
        loop {
            let rows = match pages.next().await {
                Ok(Some(rows)) => rows,
                Ok(None) => return Ok(found),
                Err(error) => {
                    found.push(format!("{}: {error}", member.name));
                    return Ok(found);
                }
            };
            for row in &rows {
                found.extend(self.ahead(member, &row.space()).await?);
            }
        }
    }

    async fn ahead(&self, member: &ChainMember, space: &Space) -> Result<Vec<String>> {
        let primary = &*self.primary.driver;
        if self.tombstone(space).await?.owing.contains(&member.name) {
            return Ok(Vec::new());
        }
        let (logs, names) = match contents(member, space).await {
            Ok(found) => found,
            Err(error) => return Ok(vec![format!("{}: {error}", member.name)]),
        };
        let mut found = Vec::new();
        for log in logs.iter().map(|name| space.log(name.as_str())) {
            let theirs = member.driver.read(&log, LogRange::head()).await?.head;
            let ours = primary.read(&log, LogRange::head()).await?.head;
            if let (Some(theirs), Some(ours)) = (theirs, ours)
                && theirs > ours
            {
                let error = copy::ahead(&format!("log {log}"), ours, theirs);
                found.push(format!("{}: {error}", member.name));
            }
        }
        for key in names.iter().map(|name| space.key(name.as_str())) {
            let version = |entry: ValueEntry| entry.version;
            let theirs = member
                .driver
                .get(&key, ValuePart::Nothing)
                .await?
                .map(version);
            let ours = primary.get(&key, ValuePart::Nothing).await?.map(version);
            if let (Some(theirs), Some(ours)) = (theirs, ours)
                && theirs > ours
            {
                let error = copy::ahead(&format!("value {key}"), ours, theirs);
                found.push(format!("{}: {error}", member.name));
            }
        }
        Ok(found)
    }
}

/// The names of the logs and values of a space.
async fn contents(member: &ChainMember, space: &Space) -> Result<(Vec<String>, Vec<String>)> {
    let logs = member.driver.logs(space).await?;
    let mut names = Vec::new();
    let mut values = ValuePages::of(&*member.driver, space, Pattern::all(), ValuePart::Nothing);
    while let Some(found) = values.next().await? {
        names.extend(found.into_iter().map(|(name, _)| name));
    }
    Ok((logs, names))
}
