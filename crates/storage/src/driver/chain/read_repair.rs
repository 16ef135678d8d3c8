//! Giving back to the primary what it lost: absent there without a note of an erasure, and held by a secondary.

use super::tombstone::Tombstone;
use super::{ChainDriver, ChainMember, copy};
use crate::Result;
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchWrite};
use crate::driver::{LogRange, ValuePart};

impl ChainDriver {
    /// True where the primary was given the log.
    pub(super) async fn refill_log(&self, log: &LogKey, stone: &Tombstone) -> Result<bool> {
        let primary = &*self.primary.driver;
        if primary.read(log, LogRange::head()).await?.head.is_some() {
            return Ok(false);
        }
        let mut newest = None;
        for member in self.trusted_members(stone) {
            let Some(page) = answer_or_log(member, member.driver.read(log, LogRange::head()).await)
            else {
                continue;
            };
            if page.head > newest.and_then(|(_, best)| best) {
                newest = Some((member, page.head));
            }
        }
        let Some((member, _)) = newest else {
            return Ok(false);
        };
        note(member, &format!("log {log}"));
        copy::log(&*member.driver, primary, log).await?;
        Ok(true)
    }

    /// True where the primary was given the value.
    pub(super) async fn refill_value(&self, key: &ValueKey, stone: &Tombstone) -> Result<bool> {
        let primary = &*self.primary.driver;
        if primary.get(key, ValuePart::Nothing).await?.is_some() {
            return Ok(false);
        }
        let mut newest: Option<(&ChainMember, u64)> = None;
        for member in self.trusted_members(stone) {
            let found =
                answer_or_log(member, member.driver.get(key, ValuePart::Nothing).await).flatten();
            let Some(entry) = found else {
                continue;
            };
            if newest.is_none_or(|(_, best)| entry.version > best) {
                newest = Some((member, entry.version));
            }
        }
        let Some((member, _)) = newest else {
            return Ok(false);
        };
        note(member, &format!("value {key}"));
        copy::value(&*member.driver, primary, key).await?;
        Ok(true)
    }

    /// True where the primary was given the index row.
    pub(super) async fn refill_row(&self, space: &Space, stone: &Tombstone) -> Result<bool> {
        let primary = &*self.primary.driver;
        if copy::row_of(primary, space).await?.is_some() {
            return Ok(false);
        }
        for member in self.trusted_members(stone) {
            let found = answer_or_log(member, copy::row_of(&*member.driver, space).await).flatten();
            if let Some(row) = found {
                note(member, &format!("the index row of {space}"));
                let mirror = BatchWrite::mirror_row(row);
                primary.commit(Batch::of([mirror])).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn trusted_members<'a>(
        &'a self,
        stone: &'a Tombstone,
    ) -> impl Iterator<Item = &'a ChainMember> {
        let owes = |member: &&ChainMember| !stone.owing.contains(&member.name);
        self.secondaries.iter().filter(owes)
    }
}

/// What a secondary answered. One that cannot answer is no reason to refuse what the primary says.
fn answer_or_log<T>(member: &ChainMember, answer: Result<T>) -> Option<T> {
    answer
        .inspect_err(|error| {
            tracing::warn!(driver.name = %member.name, error.message = %error, "a secondary could not be asked");
        })
        .ok()
}

fn note(member: &ChainMember, what: &str) {
    tracing::warn!(driver.name = %member.name, what, "the primary lost what a secondary has; copied back");
}
