//! Pages of rows.

use super::statement::RowWindow;
use serde_json::{Value, json};

/// Rows of a page where nobody says how many.
const USUAL: u64 = 20;

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPage {
    /// Its number, from 1.
    number: u64,
    /// Its rows.
    size: u64,
}

impl RowPage {
    /// A page; the first of 20 rows where nothing is said.
    pub fn new(number: Option<u64>, size: Option<u64>) -> Self {
        Self {
            number: number.unwrap_or(1).max(1),
            size: size.unwrap_or(USUAL).max(1),
        }
    }

    /// The rows that are on it. Databases count to 2^63.
    pub fn window(self) -> RowWindow {
        let offset = (self.number - 1).saturating_mul(self.size);
        RowWindow {
            offset: offset.min(i64::MAX as u64),
            limit: self.size,
        }
    }

    /// The page as scripts get it.
    pub fn shown(self, rows: Vec<Value>, total: u64) -> Value {
        let count = total.div_ceil(self.size);
        let is_there = |number: u64| (1..=count).contains(&number);
        let or_none = |number: Option<u64>| {
            let number = number.filter(|number| is_there(*number));
            number.map_or_else(|| json!(-1), |number| json!(number))
        };
        json!({
            "data": Value::Array(rows),
            "page": self.number,
            "pagesize": self.size,
            "pagecnt": count,
            "next": or_none(self.number.checked_add(1)),
            "prev": or_none(self.number.checked_sub(1)),
            "total": total,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::RowPage;
    use serde_json::{Value, json};

    fn shown(number: u64, total: u64) -> (Value, Value, Value) {
        let page = RowPage::new(Some(number), Some(10)).shown(Vec::new(), total);
        let part = |name: &str| page[name].clone();
        (part("pagecnt"), part("next"), part("prev"))
    }

    #[test]
    fn there_is_nothing_before_the_first_page_and_behind_the_last() {
        for ((number, total), expected) in [
            ((1, 0), (0, -1, -1)),
            ((1, 10), (1, -1, -1)),
            ((1, 11), (2, 2, -1)),
            ((2, 11), (2, -1, 1)),
            ((2, 35), (4, 3, 1)),
            ((9, 35), (4, -1, -1)),
        ] {
            let (count, next, prev) = expected;
            assert_eq!(
                shown(number, total),
                (json!(count), json!(next), json!(prev))
            );
        }
    }
}
