//! All that can be read of a store, as text without the numbers that it gives for itself.

use crate::Failure;
use crate::draft::{identities, spaces};
use crate::random::{STEP, Side};
use ambit_storage::clock::to_millis;
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter, RowOrder, Viewer};
use ambit_storage::driver::{LogRange, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use std::collections::BTreeMap;

impl Side {
    /// All that can be read, without the store's own numbers.
    pub async fn view(&self) -> Result<Vec<String>, Failure> {
        let mut view = Vec::new();
        for space in spaces() {
            for name in self.driver.logs(&space).await? {
                let log = space.log(name);
                let page = self
                    .driver
                    .read(&log, LogRange::from(1, usize::MAX))
                    .await?;
                let mut back = self.driver.read(&log, LogRange::last(3)).await?.entries;
                back.reverse();
                assert!(page.entries.ends_with(&back), "{log} read backwards");
                let entries = page.entries.iter();
                let entries: Vec<_> = entries
                    .map(|entry| (entry.seq, &entry.id, &entry.body))
                    .collect();
                view.push(blur(&format!("{log} {:?} {entries:?}", page.head)));
            }
            for (pattern, after, limit, part) in [
                ("*", None, 100, ValuePart::Whole),
                ("a*", Some("a"), 2, ValuePart::Items(-2, -1)),
                ("*b*", None, 2, ValuePart::Items(1, 5)),
                ("ab", None, 100, ValuePart::Nothing),
            ] {
                let scan = ValueScan {
                    after: after.map(str::to_owned),
                    ..ValueScan::first(Pattern::parse(pattern), limit, part)
                };
                for (name, entry) in self.driver.scan(&space, &scan).await? {
                    let ends = entry.expires_at.is_some();
                    let (kind, value) = (entry.kind, &entry.value);
                    let text = format!("{kind} {} {value} {ends}", entry.length);
                    view.push(blur(&format!("{space} {pattern} {name:?} {text}")));
                }
            }
        }
        view.extend(self.rows().await?);
        Ok(view)
    }

    async fn rows(&self) -> Result<Vec<String>, Failure> {
        let mut view = Vec::new();
        for (place, filter) in filters().iter().enumerate() {
            let count = self.driver.count(filter).await?;
            for order in [RowOrder::Oldest, RowOrder::Newest, RowOrder::Recent] {
                let mut rows = self.all(filter, order).await?;
                assert_eq!(
                    rows.len() as u64,
                    count,
                    "filter {place} in order {order:?}"
                );
                let mut sorted = rows.clone();
                order.sort(&mut sorted);
                assert_eq!(rows, sorted, "filter {place}");
                // Within a millisecond the two stores may have met other rows first.
                if order == RowOrder::Recent {
                    rows.sort_by_key(|row| row.ordinal);
                }
                let rows = rows.into_iter().map(|row| self.spell_row(row));
                view.extend(rows.map(|row| format!("{place} {order:?} {row}")));
            }
        }
        Ok(view)
    }

    fn spell_row(&self, mut row: IndexRow) -> String {
        // Exact to the steps by which the clock is moved, whatever time the stores take in between.
        let step = to_millis(STEP);
        let coarse = |time: i64| (time - self.begun + step / 2).div_euclid(step);
        row.ordinal = 0;
        row.generation = row.generation.min(1);
        (row.created_at, row.last_activity_at) =
            (coarse(row.created_at), coarse(row.last_activity_at));
        for touch in &mut row.touches {
            (touch.first_at, touch.last_at) = (coarse(touch.first_at), coarse(touch.last_at));
        }
        format!("{row:?}")
    }

    /// All rows, by small pages.
    async fn all(&self, filter: &RowFilter, order: RowOrder) -> Result<Vec<IndexRow>, Failure> {
        let mut rows: Vec<IndexRow> = Vec::new();
        loop {
            let after = rows.last().map(IndexRow::position);
            let limit = 2;
            let page = PageRequest {
                order,
                after,
                limit,
            };
            let page = self.driver.identities(filter, &page).await?;
            if page.is_empty() {
                return Ok(rows);
            }
            rows.extend(page);
        }
    }
}

fn filters() -> Vec<RowFilter> {
    let some = |text: &str| Some(text.to_owned());
    vec![
        RowFilter::default(),
        RowFilter::tenant("t1"),
        RowFilter {
            agent: some("C"),
            ..RowFilter::tenant("t1")
        },
        RowFilter {
            user: some("u1"),
            agent: some("A"),
            ..RowFilter::tenant("t2")
        },
        RowFilter {
            group: some("g"),
            ..RowFilter::tenant("t2")
        },
        RowFilter {
            chat: some("c"),
            ..RowFilter::default()
        },
        RowFilter {
            user: some("u%"),
            labels: BTreeMap::from([("l".to_owned(), "x".to_owned())]),
            ..RowFilter::tenant("t1")
        },
        RowFilter {
            visible_to: Some(Viewer {
                user: some("u1"),
                team: some("team"),
            }),
            ..RowFilter::tenant("t1")
        },
        RowFilter {
            storage_key: Some(identities()[1].storage_key()),
            ..RowFilter::tenant("t1")
        },
        RowFilter {
            active_before: Some(7),
            ..RowFilter::tenant("t1")
        },
    ]
}

/// The text without the numbers that each store gives for itself.
pub fn blur(text: &str) -> String {
    let mut text = text.to_owned();
    for mark in [
        "\"epoch\":",
        "generation: ",
        "Epoch(",
        "expected ",
        "found ",
        "with epoch ",
    ] {
        let pieces: Vec<String> = text
            .split(mark)
            .enumerate()
            .map(|(place, piece)| match place {
                0 => piece.to_owned(),
                _ => piece
                    .trim_start_matches(|letter: char| letter.is_ascii_digit())
                    .to_owned(),
            })
            .collect();
        text = pieces.join(&format!("{mark}_"));
    }
    text
}
