//! All that can be read of a store, as text without the numbers that it gives for itself.

use crate::Failure;
use crate::draft::{identities, spaces};
use crate::random::Side;
use ambit_storage::directory::{Filter, Order, PageRequest, Tracked, Viewer};
use ambit_storage::driver::{Part, Range, Scan};
use ambit_storage::pattern::Pattern;
use std::collections::BTreeMap;

impl Side {
    /// All that can be read, without the store's own numbers.
    pub async fn view(&self) -> Result<Vec<String>, Failure> {
        let mut view = Vec::new();
        for space in spaces() {
            for name in self.driver.logs(&space).await? {
                let log = space.log(name);
                let page = self.driver.read(&log, Range::from(1, usize::MAX)).await?;
                let mut back = self.driver.read(&log, Range::last(3)).await?.entries;
                back.reverse();
                assert!(page.entries.ends_with(&back), "{log} read backwards");
                let entries = page.entries.iter();
                let entries: Vec<_> = entries
                    .map(|entry| (entry.seq, &entry.id, &entry.body))
                    .collect();
                view.push(blur(&format!("{log} {:?} {entries:?}", page.head)));
            }
            for (pattern, after, limit, part) in [
                ("*", None, 100, Part::Whole),
                ("a*", Some("a"), 2, Part::Items(-2, -1)),
                ("*b*", None, 2, Part::Items(1, 5)),
                ("ab", None, 100, Part::Nothing),
            ] {
                let scan = Scan {
                    pattern: Pattern::parse(pattern),
                    after: after.map(str::to_owned),
                    limit,
                    part,
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
            for order in [Order::Oldest, Order::Newest, Order::Recent] {
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
                if order == Order::Recent {
                    rows.sort_by_key(|row| row.ordinal);
                }
                let rows = rows.into_iter().map(spell_row);
                view.extend(rows.map(|row| format!("{place} {order:?} {row}")));
            }
        }
        Ok(view)
    }

    /// All rows, by small pages.
    async fn all(&self, filter: &Filter, order: Order) -> Result<Vec<Tracked>, Failure> {
        let mut rows: Vec<Tracked> = Vec::new();
        loop {
            let after = rows.last().map(Tracked::position);
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

fn filters() -> Vec<Filter> {
    let some = |text: &str| Some(text.to_owned());
    vec![
        Filter::default(),
        Filter::tenant("t1"),
        Filter {
            agent: some("C"),
            ..Filter::tenant("t1")
        },
        Filter {
            user: some("u1"),
            agent: some("A"),
            ..Filter::tenant("t2")
        },
        Filter {
            group: some("g"),
            ..Filter::tenant("t2")
        },
        Filter {
            chat: some("c"),
            ..Filter::default()
        },
        Filter {
            user: some("u%"),
            labels: BTreeMap::from([("l".to_owned(), "x".to_owned())]),
            ..Filter::tenant("t1")
        },
        Filter {
            visible_to: Some(Viewer {
                user: some("u1"),
                team: some("team"),
            }),
            ..Filter::tenant("t1")
        },
        Filter {
            storage_key: Some(identities()[1].storage_key()),
            ..Filter::tenant("t1")
        },
        Filter {
            active_before: Some(7),
            ..Filter::tenant("t1")
        },
    ]
}

fn spell_row(mut row: Tracked) -> String {
    // Exact to the hours by which the clock is moved.
    let coarse = |time: i64| (time + 30_000) / 60_000;
    row.ordinal = 0;
    row.generation = row.generation.min(1);
    (row.created_at, row.last_activity_at) = (coarse(row.created_at), coarse(row.last_activity_at));
    for touch in &mut row.touches {
        (touch.first_at, touch.last_at) = (coarse(touch.first_at), coarse(touch.last_at));
    }
    format!("{row:?}")
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
