//! The rows of a query, page after page.

use super::SessionQuery;
use crate::Result;
use crate::directory::{IndexRow, PageRequest, RowOrder, RowPosition};

/// Rows of a query, page after page in constant memory.
#[derive(Debug)]
pub struct QueryRows<'a> {
    pub(super) query: &'a SessionQuery,
    pub(super) after: Option<RowPosition>,
    pub(super) order: RowOrder,
    pub(super) size: usize,
    pub(super) is_over: bool,
}

impl QueryRows<'_> {
    /// The next rows that match; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<IndexRow>>> {
        if self.is_over {
            return Ok(None);
        }
        let page = PageRequest {
            order: self.order,
            after: self.after,
            limit: self.size,
        };
        let rows = self
            .query
            .driver()?
            .identities(&self.query.compiled()?, &page)
            .await?;
        self.is_over = rows.len() < self.size;
        self.after = rows.last().map(IndexRow::position);
        let passes = |row: &IndexRow| self.query.tests.iter().all(|test| test(row));
        Ok(Some(rows.into_iter().filter(passes).collect()))
    }
}
