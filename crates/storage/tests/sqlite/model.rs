//! Random batches on the sqlite driver and on the memory driver, which must answer the same and hold the same.
//! Numbers given by the store are compared by the order in which they were first seen.

mod batch;
mod dice;

use ambit_storage::Error;
use ambit_storage::batch::{Head, ValueEntry, WriteOutcome};
use ambit_storage::clock::to_millis;
use ambit_storage::directory::{IndexRow, PageRequest, RowOrder};
use ambit_storage::driver::{
    Driver, DriverOptions, Durability, LogRange, ValuePart, ValueScan, open,
};
use ambit_storage::operation::{OperationOutput, epoch_of};
use ambit_storage::pattern::Pattern;
use dice::{Dice, LOGS, any_filter, spaces};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Lives and steps of the clock are so long that the time a store takes does not matter.
const HOUR: Duration = Duration::from_secs(3_600);

/// One of the two stores, with what has been seen of it.
struct Store {
    driver: Arc<dyn Driver>,
    numbers: HashMap<u64, usize>,
}

impl Store {
    fn number(&mut self, number: u64) -> String {
        let next = self.numbers.len();
        format!("n{}", self.numbers.entry(number).or_insert(next))
    }

    fn head(&mut self, head: Option<Head>) -> String {
        match head {
            Some(head) => format!("{}/{}", self.number(head.generation), head.last),
            None => "absent".to_owned(),
        }
    }

    fn answer(&mut self, answer: Result<Vec<WriteOutcome>, Error>) -> String {
        let outcomes = match answer {
            Ok(outcomes) => outcomes,
            Err(error @ (Error::Conflict { .. } | Error::Fenced { .. })) => {
                return error.to_string().replace(|c: char| c.is_ascii_digit(), "");
            }
            Err(error) => return error.to_string(),
        };
        let texts = outcomes.into_iter().map(|outcome| match outcome {
            WriteOutcome::Appended { head, seqs } => format!("{} {seqs:?}", self.head(Some(head))),
            WriteOutcome::Applied { output, version } => {
                let version = version.map(|version| self.number(version));
                let output = match output {
                    OperationOutput::Epoch(epoch) => self.number(epoch),
                    // A lease's text holds its epoch.
                    OperationOutput::Taken(Some(value)) if epoch_of(&value).is_some() => {
                        "lease".to_owned()
                    }
                    other => format!("{other:?}"),
                };
                format!("{output} {version:?}")
            }
            other => format!("{other:?}"),
        });
        texts.collect::<Vec<_>>().join("; ")
    }

    async fn contents(&mut self) -> String {
        let mut text = String::new();
        for space in spaces() {
            let names = self.driver.logs(&space).await.unwrap();
            text += &format!("{space} {names:?}\n");
            for name in LOGS {
                for range in [
                    LogRange::from(0, 1_000),
                    LogRange::from(3, 2),
                    LogRange::back_from(4, 2),
                ] {
                    let page = self.driver.read(&space.log(name), range).await.unwrap();
                    let entries: Vec<_> = page
                        .entries
                        .iter()
                        .map(|entry| (entry.seq, &entry.id, &entry.body))
                        .collect();
                    let line = format!("{entries:?}\n");
                    text += &format!("  {name} {} {line}", self.head(page.head));
                }
            }
            for (pattern, part) in [
                ("*", ValuePart::Whole),
                ("a*", ValuePart::Items(-2, 5)),
                ("*b*", ValuePart::Nothing),
            ] {
                let scan = ValueScan {
                    after: (part == ValuePart::Nothing).then(|| "a".to_owned()),
                    ..ValueScan::first(Pattern::parse(pattern), 3, part)
                };
                for (name, entry) in self.driver.scan(&space, &scan).await.unwrap() {
                    text += &self.value(&name, &entry);
                }
            }
        }
        text
    }

    fn value(&mut self, name: &str, entry: &ValueEntry) -> String {
        let value = if epoch_of(&entry.value.clone().into()).is_some() {
            "lease".to_owned()
        } else {
            entry.value.to_string()
        };
        let (kind, length) = (entry.kind, entry.length);
        let (version, ends) = (self.number(entry.version), entry.expires_at.is_some());
        format!("  {name:?} {kind} {length} {value} {version} {ends}\n")
    }

    async fn rows(&mut self, dice: &mut Dice) -> String {
        let filter = any_filter(dice);
        let order = dice.pick(&[RowOrder::Oldest, RowOrder::Newest, RowOrder::Recent]);
        let mut page = PageRequest {
            order,
            after: None,
            limit: 2,
        };
        let mut text = format!(
            "{filter:?} {order:?} {}\n",
            self.driver.count(&filter).await.unwrap()
        );
        loop {
            let rows = self.driver.identities(&filter, &page).await.unwrap();
            for row in &rows {
                text += &self.row(row);
            }
            match rows.last() {
                Some(last) => page.after = Some(last.position()),
                None => return text,
            }
        }
    }

    fn row(&mut self, row: &IndexRow) -> String {
        let moved = to_millis(HOUR);
        let touches: Vec<_> = row
            .touches
            .iter()
            .map(|touch| {
                (
                    &touch.agent,
                    &touch.base,
                    touch.last_at > touch.first_at + moved,
                )
            })
            .collect();
        let has_moved = row.last_activity_at > row.created_at + moved;
        let labels = &row.labels;
        let by = (&row.created_by, &row.team, &row.placement);
        let line = format!(
            "{labels:?} {by:?} {touches:?} {has_moved} {:?} {}\n",
            row.state, row.items
        );
        let ordinal = self.number(row.ordinal);
        let generation = if row.generation == 0 {
            "none".to_owned()
        } else {
            self.number(row.generation)
        };
        format!("{} {ordinal} {} {generation} {line}", row.id, row.identity)
    }
}

#[tokio::test]
async fn random_batches_mean_the_same_as_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let options = DriverOptions {
        durability: Durability::Normal,
        ..DriverOptions::default()
    };
    let file = format!("sqlite:{}/model.db", folder.path().display());
    let mut stores = Vec::new();
    for url in ["memory:", file.as_str()] {
        stores.push(Store {
            driver: open(url, options.clone()).await.unwrap(),
            numbers: HashMap::new(),
        });
    }
    let mut dice = Dice::new(0x9E37_79B9_7F4A_7C15);
    for round in 0..250 {
        if dice.roll(2) == 0 {
            options.clock.advance(HOUR * 3 / 2);
        }
        let mut told = Vec::new();
        let mut rolled = Vec::new();
        for store in &mut stores {
            let mut dice = dice.clone();
            let batch = store.batch(&mut dice).await;
            let shown = format!("{batch:?}");
            let answer = store.driver.commit(batch).await;
            let mut text = store.answer(answer);
            if round % 7 == 0 {
                text += &format!("\nswept {}", store.driver.sweep(1_000).await.unwrap());
            }
            text += &format!("\n{}", store.contents().await);
            text += &store.rows(&mut dice).await;
            told.push((text, shown));
            rolled.push(dice);
        }
        let (memory, sqlite) = (&told[0].0, &told[1].0);
        assert_eq!(sqlite, memory, "round {round}: {}", told[1].1);
        dice = rolled.remove(0);
    }
    let findings = stores[1].driver.check().await.unwrap();
    assert_eq!(findings, Vec::<String>::new());
    stores[1].driver.close().await.unwrap();
}
