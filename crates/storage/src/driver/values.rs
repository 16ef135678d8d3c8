//! All values of a space, a page at a time.

use super::{Driver, Part, Scan};
use crate::Result;
use crate::address::Space;
use crate::batch::Entry;
use crate::pattern::Pattern;

/// Values that are read in one go.
const PAGE: usize = 500;

/// The live values of a space whose name matches, in order of their names.
pub struct Values<'a> {
    driver: &'a dyn Driver,
    space: &'a Space,
    scan: Scan,
    is_over: bool,
}

impl<'a> Values<'a> {
    /// Those with such a name, and this part of each.
    pub fn of(driver: &'a dyn Driver, space: &'a Space, (pattern, part): (Pattern, Part)) -> Self {
        Self {
            driver,
            space,
            scan: Scan {
                pattern,
                after: None,
                limit: PAGE,
                part,
            },
            is_over: false,
        }
    }

    /// The next ones; `None` at the end. What is written meanwhile is seen where it stands behind them.
    pub async fn next(&mut self) -> Result<Option<Vec<(String, Entry)>>> {
        if self.is_over {
            return Ok(None);
        }
        let found = self.driver.scan(self.space, &self.scan).await?;
        self.is_over = found.len() < PAGE;
        self.scan.after = found.last().map(|(name, _)| name.clone());
        Ok(Some(found))
    }
}
