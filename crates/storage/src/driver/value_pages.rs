//! All values of a space, a page at a time.

use super::{Driver, ValuePart, ValueScan};
use crate::Result;
use crate::address::Space;
use crate::batch::ValueEntry;
use crate::pattern::Pattern;

/// Values that are read in one go.
const PAGE: usize = 500;

/// The live values of a space whose name matches, in order of their names.
pub struct ValuePages<'a> {
    driver: &'a dyn Driver,
    space: &'a Space,
    scan: ValueScan,
    is_over: bool,
}

impl<'a> ValuePages<'a> {
    /// Those with such a name, and this part of each.
    pub fn of(driver: &'a dyn Driver, space: &'a Space, pattern: Pattern, part: ValuePart) -> Self {
        Self {
            driver,
            space,
            scan: ValueScan {
                pattern,
                after: None,
                limit: PAGE,
                part,
            },
            is_over: false,
        }
    }

    /// Only those whose names come behind this one.
    pub fn after(mut self, name: Option<String>) -> Self {
        self.scan.after = name;
        self
    }

    /// The next ones; `None` at the end. What is written meanwhile is seen where it stands behind them.
    pub async fn next(&mut self) -> Result<Option<Vec<(String, ValueEntry)>>> {
        if self.is_over {
            return Ok(None);
        }
        let found = self.driver.scan(self.space, &self.scan).await?;
        self.is_over = found.len() < PAGE;
        self.scan.after = found.last().map(|(name, _)| name.clone());
        Ok(Some(found))
    }
}
