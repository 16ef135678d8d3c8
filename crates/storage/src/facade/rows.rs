//! The rows of a query, page after page.

use super::Query;
use crate::Result;
use crate::directory::{Order, PageRequest, Position, Tracked};

/// Rows of a query, page after page in constant memory.
#[derive(Debug)]
pub struct Rows<'a> {
    pub(super) query: &'a Query,
    pub(super) after: Option<Position>,
    pub(super) order: Order,
    pub(super) size: usize,
    pub(super) is_over: bool,
}

impl Rows<'_> {
    /// The next rows that match; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Tracked>>> {
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
        self.after = rows.last().map(Tracked::position);
        let passes = |row: &Tracked| self.query.tests.iter().all(|test| test(row));
        Ok(Some(rows.into_iter().filter(passes).collect()))
    }
}
