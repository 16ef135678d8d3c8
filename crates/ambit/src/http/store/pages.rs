//! The values of a space, as many at a time as fit into the memory that one request may take.

use super::space::StoreSpace;
use ambit_runtime::Result;
use ambit_storage::batch::ValueEntry;
use ambit_storage::driver::{Direction, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;

/// Bytes of one page; its last value may have more.
const BYTES: usize = 4 << 20;
/// Values of one page, at most.
const MOST: usize = 1_000;

/// Pages of values, by name.
pub struct ItemPages<'a> {
    space: &'a StoreSpace,
    scan: ValueScan,
    is_over: bool,
}

impl<'a> ItemPages<'a> {
    /// Those with such a name.
    pub fn of(space: &'a StoreSpace, pattern: Pattern) -> Self {
        let scan = ValueScan {
            bytes: BYTES,
            ..ValueScan::first(pattern, MOST, ValuePart::Whole)
        };
        Self {
            space,
            scan,
            is_over: false,
        }
    }

    /// The same, in this direction, behind this name.
    pub fn from(mut self, direction: Direction, after: Option<String>) -> Self {
        self.scan.direction = direction;
        self.scan.after = after;
        self
    }

    /// This part of each.
    pub fn of_part(mut self, part: ValuePart) -> Self {
        self.scan.part = part;
        self
    }

    /// The next ones, at most so many; `None` at the end.
    pub async fn next(&mut self, most: usize) -> Result<Option<Vec<(String, ValueEntry)>>> {
        if self.is_over {
            return Ok(None);
        }
        self.scan.limit = most.min(MOST);
        let page = self
            .space
            .driver
            .scan(&self.space.owned, &self.scan)
            .await?;
        self.is_over = self.scan.is_last(&page);
        self.scan.after = page.last().map(|(name, _)| name.clone());
        Ok(Some(page))
    }
}
