//! The values of a space, as many at a time as fit into the memory that one request may take.

use super::space::StoreSpace;
use ambit_runtime::Result;
use ambit_storage::batch::ValueEntry;
use ambit_storage::driver::{Direction, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;

/// Bytes that one page is meant to have.
const PAGE: usize = 4 << 20;
/// Values of the first page, and at most.
const FIRST: usize = 8;
const MOST: usize = 256;

/// Pages of values, by name.
pub struct ItemPages<'a> {
    space: &'a StoreSpace,
    scan: ValueScan,
    is_over: bool,
}

impl<'a> ItemPages<'a> {
    /// Those with such a name.
    pub fn of(space: &'a StoreSpace, pattern: Pattern) -> Self {
        Self {
            space,
            scan: ValueScan::first(pattern, FIRST, ValuePart::Whole),
            is_over: false,
        }
    }

    /// The same, in this direction, behind this name.
    pub fn from(mut self, direction: Direction, after: Option<String>) -> Self {
        self.scan.direction = direction;
        self.scan.after = after;
        self
    }

    /// The next ones, at most so many; `None` at the end.
    pub async fn next(&mut self, most: usize) -> Result<Option<Vec<(String, ValueEntry)>>> {
        if self.is_over {
            return Ok(None);
        }
        let scan = ValueScan {
            limit: self.scan.limit.min(most),
            ..self.scan.clone()
        };
        let page = self.space.driver.scan(&self.space.owned, &scan).await?;
        self.is_over = page.len() < scan.limit;
        self.scan.after = page.last().map(|(name, _)| name.clone());
        let bytes: usize = page
            .iter()
            .map(|(_, entry)| entry.value.as_str().len())
            .sum();
        let fitting = (PAGE / (bytes / page.len().max(1)).max(1)).clamp(1, MOST);
        // Values behind small ones may be large.
        self.scan.limit = fitting.min(self.scan.limit * 2);
        Ok(Some(page))
    }
}
