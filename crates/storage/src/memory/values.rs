//! The methods on any value, on numbers, and on the namespace as a whole.

use super::{Memory, MemoryLocation, Ttl, check_key, unexpected};
use crate::batch::{Batch, BatchCheck, BatchWrite, ValueEntry};
use crate::driver::{ValuePart, ValueScan};
use crate::error::ValueProblem;
use crate::json::Json;
use crate::operation::{MAX_SAFE, Operation, OperationOutput};
use crate::pattern::Pattern;
use crate::{Error, Result};
use serde::Serialize;

/// How many names are asked of a store at a time, so that nobody waits long for it.
const PAGE: usize = 1_000;

impl Memory {
    /// The value; `None` where it is missing. A stored null is there.
    pub async fn get(&self, key: &str) -> Result<Option<Json>> {
        let entry = self.read(key, ValuePart::Whole).await?;
        Ok(entry.map(|entry| entry.value))
    }

    /// Replaces value, type and life. Without a `ttl` the namespace's default counts. The value is taken as it is at
    /// the call, not when the future is awaited.
    pub fn set<'a, T: Serialize + ?Sized>(
        &'a self,
        key: &str,
        value: &T,
        ttl: Option<Ttl>,
    ) -> impl Future<Output = Result<()>> + Send + use<'a, T> {
        let write =
            Json::of(value).and_then(|value| self.plan(key, Operation::Set(value.into()), ttl));
        async move { self.apply(write?).await.map(drop) }
    }

    /// The value that is there, or else this one, which then is there: of many callers all get the same. Without a `ttl` the
    /// namespace's default counts.
    pub async fn get_or_set<T: Serialize + ?Sized>(
        &self,
        key: &str,
        value: &T,
        ttl: Option<Ttl>,
    ) -> Result<Json> {
        let value = Json::of(value)?;
        let write = self.plan(key, Operation::Set(value.clone().into()), ttl)?;
        let absent = BatchCheck::version(self.owner()?.space.key(key), None);
        loop {
            if let Some(there) = self.get(key).await? {
                return Ok(there);
            }
            match self.commit_if(vec![absent.clone()], write.clone()).await {
                Ok(_) => return Ok(value),
                // Somebody was faster; what they have set may be gone again.
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Deletes the value; a missing one is no error. A key with a `*` is a pattern: all that match go in one step.
    pub async fn del(&self, key: &str) -> Result<()> {
        if !key.contains('*') {
            return self
                .apply(self.plan(key, Operation::Del, None)?)
                .await
                .map(drop);
        }
        let pattern = Pattern::parse(key);
        if !pattern.is_open() {
            check_key(pattern.prefix())?;
        }
        self.wipe(pattern).await
    }

    /// True where there is a value.
    pub async fn has(&self, key: &str) -> Result<bool> {
        Ok(self.read(key, ValuePart::Nothing).await?.is_some())
    }

    /// Takes the value away; of many callers one gets it.
    pub async fn get_del(&self, key: &str) -> Result<Option<Json>> {
        match self.apply(self.plan(key, Operation::GetDel, None)?).await? {
            OperationOutput::Taken(value) => Ok(value.map(|value| value.json())),
            other => Err(unexpected(&other)),
        }
    }

    /// The names of the live values that match, by code point.
    pub async fn keys(&self, pattern: Option<&str>) -> Result<Vec<String>> {
        let pattern = pattern.map_or_else(Pattern::all, Pattern::parse);
        let mut keys = Vec::new();
        let mut after = None;
        loop {
            let page = self.page(&pattern, after.take()).await?;
            let is_last = page.len() < PAGE;
            keys.extend(page.into_iter().map(|(name, _)| name));
            if is_last {
                return Ok(keys);
            }
            after = keys.last().cloned();
        }
    }

    /// Live values that match with their names, by code point, behind this one; at most `limit`.
    pub async fn entries(
        &self,
        pattern: Option<&str>,
        after: Option<String>,
        limit: usize,
    ) -> Result<Vec<(String, Json)>> {
        let Some(owner) = &self.owner else {
            return Ok(Vec::new());
        };
        let scan = ValueScan {
            after,
            ..ValueScan::first(
                pattern.map_or_else(Pattern::all, Pattern::parse),
                limit,
                ValuePart::Whole,
            )
        };
        let found = self.driver.scan(&owner.space, &scan).await?.into_iter();
        Ok(found.map(|(name, entry)| (name, entry.value)).collect())
    }

    /// How many live values there are.
    pub async fn len(&self) -> Result<u64> {
        let (all, mut length, mut after) = (Pattern::all(), 0, None);
        loop {
            let page = self.page(&all, after.take()).await?;
            length += page.len() as u64;
            if page.len() < PAGE {
                return Ok(length);
            }
            after = page.into_iter().next_back().map(|(name, _)| name);
        }
    }

    /// True where there is no live value.
    pub async fn is_empty(&self) -> Result<bool> {
        Ok(self.page(&Pattern::all(), None).await?.is_empty())
    }

    /// Deletes all values of this namespace in one step, and nothing else.
    pub async fn clear(&self) -> Result<()> {
        self.wipe(Pattern::all()).await
    }

    /// Adds to a number; a missing one counts as 0. Keeps the life.
    pub async fn incr(&self, key: &str, delta: f64) -> Result<serde_json::Number> {
        let write = self.plan(key, Operation::Incr(number(delta)?), None)?;
        match self.apply(write).await? {
            OperationOutput::Number(sum) => sum.to(),
            other => Err(unexpected(&other)),
        }
    }

    /// Subtracts from a number, which may go below zero.
    pub async fn decr(&self, key: &str, delta: f64) -> Result<serde_json::Number> {
        let renamed = |error| match error {
            Error::Refused { problem, .. } => refused("Decr", problem),
            other => other,
        };
        self.incr(key, -delta).await.map_err(renamed)
    }

    async fn wipe(&self, pattern: Pattern) -> Result<()> {
        let space = self.owner()?.space.clone();
        // The index has words of what goes. Where nothing does it stays as it is; what comes meanwhile is upkeep's.
        let first = ValueScan::first(pattern.clone(), 1, ValuePart::Nothing);
        let has_any = pattern.is_all() || !self.driver.scan(&space, &first).await?.is_empty();
        let location = self.location().filter(|_| has_any);
        let mut batch = Batch::of(location.iter().map(MemoryLocation::hide_index));
        batch.writes.push(BatchWrite::Wipe { space, pattern });
        self.driver.commit(batch).await?;
        self.tell_listener().await;
        match location {
            Some(location) => location.erase_index().await,
            None => Ok(()),
        }
    }

    async fn page(
        &self,
        pattern: &Pattern,
        after: Option<String>,
    ) -> Result<Vec<(String, ValueEntry)>> {
        let Some(owner) = &self.owner else {
            return Ok(Vec::new());
        };
        let scan = ValueScan {
            after,
            ..ValueScan::first(pattern.clone(), PAGE, ValuePart::Nothing)
        };
        self.driver.scan(&owner.space, &scan).await
    }
}

pub(super) fn refused(method: &'static str, problem: ValueProblem) -> Error {
    Error::Refused { method, problem }
}

/// A whole number stays one, so that adding is exact.
fn number(delta: f64) -> Result<serde_json::Number> {
    if delta.fract() == 0.0 && delta.abs() <= MAX_SAFE as f64 {
        return Ok((delta as i64).into());
    }
    serde_json::Number::from_f64(delta)
        .ok_or_else(|| Error::invalid("delta", "must be a finite number"))
}
