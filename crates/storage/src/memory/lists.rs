//! The methods on lists. On a key that holds something else all of them fail, reads included.

use super::values::refused;
use super::{Memory, items_of, unexpected};
use crate::Result;
use crate::batch::ValueEntry;
use crate::driver::ValuePart;
use crate::error::ValueProblem;
use crate::json::Json;
use crate::operation::{Operation, OperationOutput};
use serde::Serialize;

impl Memory {
    /// Appends the items of a list, or one other value; a missing list is created. The answer is the new length. The
    /// values are taken as they are at the call.
    pub fn push<'a, T: Serialize + ?Sized>(
        &'a self,
        key: &str,
        values: &T,
    ) -> impl Future<Output = Result<u64>> + Send + use<'a, T> {
        self.grow(key, Json::of(values), Operation::Push)
    }

    /// Appends those items that are not in the list yet, by deep equality. The answer is the new length. The values
    /// are taken as they are at the call.
    pub fn add_to_set<'a, T: Serialize + ?Sized>(
        &'a self,
        key: &str,
        values: &T,
    ) -> impl Future<Output = Result<u64>> + Send + use<'a, T> {
        self.grow(key, Json::of(values), Operation::AddToSet)
    }

    /// Takes the last item; `None` where there is none.
    pub async fn pop(&self, key: &str) -> Result<Option<Json>> {
        match self.apply(self.plan(key, Operation::Pop, None)?).await? {
            OperationOutput::Taken(item) => Ok(item.map(|item| item.json())),
            other => Err(unexpected(&other)),
        }
    }

    /// Takes the last `count` items, in stored order; none for a count of 0 or less.
    pub async fn pull(&self, key: &str, count: i64) -> Result<Vec<Json>> {
        let count = u64::try_from(count).unwrap_or(0);
        self.take(key, Operation::Pull(count)).await
    }

    /// Takes all items and leaves an empty list.
    pub async fn pull_all(&self, key: &str) -> Result<Vec<Json>> {
        self.take(key, Operation::PullAll).await
    }

    /// The number of items; 0 where the list is missing.
    pub async fn array_len(&self, key: &str) -> Result<u64> {
        let list = self.list("ArrayLen", key, ValuePart::Nothing).await?;
        Ok(list.map_or(0, |entry| entry.length))
    }

    /// The item at an index, a negative one counted from the end; `None` outside the list.
    pub async fn array_get(&self, key: &str, index: i64) -> Result<Option<Json>> {
        let items = self
            .items("ArrayGet", key, ValuePart::Items(index, index))
            .await?;
        Ok(items.into_iter().next())
    }

    /// Replaces the item at an index, a negative one counted from the end; outside the list it fails. The value is
    /// taken as it is at the call.
    pub fn array_set<'a, T: Serialize + ?Sized>(
        &'a self,
        key: &str,
        index: i64,
        value: &T,
    ) -> impl Future<Output = Result<()>> + Send + use<'a, T> {
        let op = Json::of(value).map(|item| Operation::ArraySet(index, item));
        let write = op.and_then(|op| self.plan(key, op, None));
        async move { self.apply(write?).await.map(drop) }
    }

    /// The items from `start` to `end`, **both included**, negative ones counted from the end; cut to what there is.
    pub async fn array_slice(&self, key: &str, start: i64, end: i64) -> Result<Vec<Json>> {
        self.items("ArraySlice", key, ValuePart::Items(start, end))
            .await
    }

    /// One page of items. Pages count from 1, and lower ones mean 1; a size below 1 gives nothing.
    pub async fn array_page(&self, key: &str, page: i64, size: i64) -> Result<Vec<Json>> {
        let part = if size < 1 {
            ValuePart::Nothing
        } else {
            let start = (page.max(1) - 1).saturating_mul(size);
            ValuePart::Items(start, start.saturating_add(size - 1))
        };
        self.items("ArrayPage", key, part).await
    }

    /// All items.
    pub async fn array_all(&self, key: &str) -> Result<Vec<Json>> {
        self.items("ArrayAll", key, ValuePart::Whole).await
    }

    fn grow<'a>(
        &'a self,
        key: &str,
        values: Result<Json>,
        op: fn(Vec<Json>) -> Operation,
    ) -> impl Future<Output = Result<u64>> + Send + use<'a> {
        let write = values.and_then(|values| self.plan(key, op(items_of(values)), None));
        async move {
            match self.apply(write?).await? {
                OperationOutput::Length(length) => Ok(length),
                other => Err(unexpected(&other)),
            }
        }
    }

    async fn take(&self, key: &str, op: Operation) -> Result<Vec<Json>> {
        match self.apply(self.plan(key, op, None)?).await? {
            OperationOutput::Items(items) => Ok(items),
            other => Err(unexpected(&other)),
        }
    }

    async fn items(&self, method: &'static str, key: &str, part: ValuePart) -> Result<Vec<Json>> {
        match self.list(method, key, part).await? {
            Some(_) if part == ValuePart::Nothing => Ok(Vec::new()),
            Some(entry) => entry.value.to(),
            None => Ok(Vec::new()),
        }
    }

    async fn list(
        &self,
        method: &'static str,
        key: &str,
        part: ValuePart,
    ) -> Result<Option<ValueEntry>> {
        let entry = self.read(key, part).await?;
        if let Some(entry) = &entry
            && entry.kind != "list"
        {
            let problem = ValueProblem::Type {
                key: key.to_owned(),
                holds: entry.kind,
                wants: "list",
            };
            return Err(refused(method, problem));
        }
        Ok(entry)
    }
}
