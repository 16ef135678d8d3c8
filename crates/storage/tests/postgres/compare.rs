//! The same random batches on two drivers: outcomes, errors and what can be read afterwards must be equal, but for
//! the absolute numbers that a store gives out and for times.

use crate::dice::{Dice, Given, identities};
use ambit_storage::Error;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, WriteOutcome};
use ambit_storage::clock::Clock;
use ambit_storage::directory::{PageRequest, RowOrder, RowPosition};
use ambit_storage::driver::{self, Driver, DriverOptions, LogRange, ValuePart, ValueScan};
use ambit_storage::operation::OperationOutput;
use ambit_storage::pattern::Pattern;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

struct Side {
    driver: Arc<dyn Driver>,
    clock: Clock,
    given: Given,
    numbers: HashMap<u64, usize>,
    rows: Vec<String>,
}

impl Side {
    async fn open(url: &str) -> Self {
        let clock = Clock::default();
        let options = DriverOptions {
            clock: clock.clone(),
            ..DriverOptions::default()
        };
        let driver = driver::open(url, options).await.unwrap();
        Self {
            driver,
            clock,
            given: Given::default(),
            numbers: HashMap::new(),
            rows: Vec::new(),
        }
    }

    /// The order in which the store's numbers are first seen stands for them.
    fn number(&mut self, number: u64) -> String {
        let next = self.numbers.len();
        format!("#{}", self.numbers.entry(number).or_insert(next))
    }

    /// Numbers behind these words are the store's own.
    fn text(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        let words = ["generation: ", "\"epoch\":", "epoch: ", "version: "];
        while let Some((at, word)) = words
            .iter()
            .filter_map(|word| Some((rest.find(word)?, *word)))
            .min()
        {
            let behind = at + word.len();
            out.push_str(&rest[..behind]);
            rest = &rest[behind..];
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                out.push_str(&self.number(rest[..digits].parse().unwrap()));
            }
            rest = &rest[digits..];
        }
        out + rest
    }

    fn error(&mut self, error: Error) -> String {
        match error {
            Error::Conflict {
                what,
                expected,
                found,
            } => {
                let mut side = |text: &str| match text.parse() {
                    Ok(number) => self.number(number),
                    Err(_) => self.text(text),
                };
                format!("conflict {what} {} {}", side(&expected), side(&found))
            }
            Error::Fenced { lease, epoch } => format!("fenced {lease} {}", self.number(epoch)),
            other => format!("{other}"),
        }
    }

    async fn commit(&mut self, batch: Batch) -> Vec<String> {
        match self.driver.commit(batch).await {
            Ok(outcomes) => outcomes
                .into_iter()
                .map(|outcome| self.outcome(outcome))
                .collect(),
            Err(error) => vec![self.error(error)],
        }
    }

    fn outcome(&mut self, outcome: WriteOutcome) -> String {
        match outcome {
            WriteOutcome::Appended { head, seqs } => {
                self.given.heads.push(Some(head));
                format!(
                    "appended {} {} {seqs:?}",
                    self.number(head.generation),
                    head.last
                )
            }
            WriteOutcome::Applied {
                output: OperationOutput::Epoch(epoch),
                version,
            } => {
                self.given.epochs.push(epoch);
                let version = version.map(|version| self.number(version));
                format!("epoch {} {version:?}", self.number(epoch))
            }
            WriteOutcome::Applied { output, version } => {
                self.given.versions.push(version);
                let output = self.text(&format!("{output:?}"));
                format!("{output} {:?}", version.map(|version| self.number(version)))
            }
            WriteOutcome::Tracked { id, is_new } => {
                self.rows.push(id.clone());
                format!("tracked {id} {is_new}")
            }
            other => format!("{other:?}"),
        }
    }

    /// All that can be seen of the four spaces and their leases.
    async fn seen(&mut self, dice: &mut Dice) -> Vec<String> {
        let mut seen = Vec::new();
        let part = [
            ValuePart::Whole,
            ValuePart::Nothing,
            ValuePart::Items(-2, -1),
            ValuePart::Items(1, 2),
            ValuePart::Items(i64::MIN, i64::MAX),
        ][usize::try_from(dice.below(5)).unwrap()];
        for identity in identities() {
            let space = Space::of("default", &identity);
            let lease = self.driver.get(&space.lease(), part).await.unwrap();
            if let Some(entry) = lease {
                seen.push(self.entry("lease", entry));
            }
            self.logs(&space, dice, &mut seen).await;
            self.values(&space, part, dice, &mut seen).await;
        }
        self.index(dice, &mut seen).await;
        seen
    }

    fn entry(&mut self, name: &str, mut entry: ambit_storage::batch::ValueEntry) -> String {
        let (version, life) = (
            self.number(entry.version),
            entry.expires_at.take().is_some(),
        );
        entry.version = 0;
        format!(
            "{name:?} {version} {life} {}",
            self.text(&format!("{entry:?}"))
        )
    }

    async fn logs(&mut self, space: &Space, dice: &mut Dice, seen: &mut Vec<String>) {
        let names = self.driver.logs(space).await.unwrap();
        let limit = usize::try_from(dice.below(30)).unwrap();
        let from = dice.below(20);
        for name in ["items", "blobs", "none", "nul\0"] {
            let log = space.log(name);
            for range in [
                LogRange::from(from, limit),
                LogRange::back_from(from, limit),
                LogRange::last(limit),
                LogRange::from(0, usize::MAX),
            ] {
                let page = self.driver.read(&log, range).await.unwrap();
                let head = page
                    .head
                    .map(|head| format!("{} {}", self.number(head.generation), head.last));
                let entries: Vec<_> = page
                    .entries
                    .iter()
                    .map(|entry| (entry.seq, &entry.id, &entry.body))
                    .collect();
                seen.push(format!("{log} {names:?} {head:?} {entries:?}"));
            }
        }
    }

    async fn values(
        &mut self,
        space: &Space,
        part: ValuePart,
        dice: &mut Dice,
        seen: &mut Vec<String>,
    ) {
        for name in ["a", "a\0b", "none"] {
            if let Some(entry) = self.driver.get(&space.key(name), part).await.unwrap() {
                seen.push(self.entry(name, entry));
            }
        }
        let after =
            [None, Some("a"), Some("a\0b"), Some("b")][usize::try_from(dice.below(4)).unwrap()];
        let few = usize::try_from(dice.below(4)).unwrap();
        for (pattern, limit) in [
            (Pattern::all(), usize::MAX),
            (dice.pattern(), few),
            (dice.pattern(), 100),
        ] {
            let scan = ValueScan {
                after: after.map(str::to_owned),
                ..ValueScan::first(pattern, limit, part)
            };
            for (name, entry) in self.driver.scan(space, &scan).await.unwrap() {
                seen.push(self.entry(&name, entry));
            }
        }
    }

    async fn index(&mut self, dice: &mut Dice, seen: &mut Vec<String>) {
        let filter = dice.filter();
        seen.push(format!(
            "count {}",
            self.driver.count(&filter).await.unwrap()
        ));
        for order in [RowOrder::Oldest, RowOrder::Newest, RowOrder::Recent] {
            let mut after: Option<RowPosition> = None;
            let mut lines = Vec::new();
            loop {
                let page = PageRequest {
                    order,
                    after,
                    limit: 2,
                };
                let rows = self.driver.identities(&filter, &page).await.unwrap();
                let Some(last) = rows.last() else { break };
                after = Some(last.position());
                for mut row in rows {
                    (row.created_at, row.last_activity_at) = (0, 0);
                    row.touches
                        .iter_mut()
                        .for_each(|touch| (touch.first_at, touch.last_at) = (0, 0));
                    let ordinal = self.number(row.ordinal);
                    row.ordinal = 0;
                    lines.push(format!("{ordinal} {}", self.text(&format!("{row:?}"))));
                }
            }
            if order == RowOrder::Recent {
                lines.sort();
            }
            seen.append(&mut lines);
        }
    }
}

pub async fn random_batches(url: String) {
    let (mut memory, mut postgres) = (Side::open("memory:").await, Side::open(&url).await);
    let seed = std::env::var_os("TEST_SEED")
        .and_then(|seed| seed.into_string().ok()?.parse().ok())
        .unwrap_or(1);
    let count = std::env::var_os("TEST_BATCHES")
        .and_then(|count| count.into_string().ok()?.parse().ok())
        .unwrap_or(3_000);
    let mut dice = Dice::new(seed);
    let mut kinds = std::collections::BTreeMap::<String, u32>::new();
    for number in 1..=count {
        let mut other = dice.clone();
        let batch = dice.batch(&memory.given, number, &memory.rows);
        let shown = format!("{batch:?}");
        let wanted = memory.commit(batch).await;
        let found = postgres
            .commit(other.batch(&postgres.given, number, &postgres.rows))
            .await;
        assert_eq!(found, wanted, "batch {number} of seed {seed}: {shown}");
        for line in &wanted {
            let kind = line.split(|letter: char| !letter.is_alphabetic()).next();
            *kinds
                .entry(kind.unwrap_or_default().to_owned())
                .or_insert(0) += 1;
        }
        if dice.below(8) == 0 {
            let mut other = dice.clone();
            let wanted = memory.seen(&mut dice).await;
            let found = postgres.seen(&mut other).await;
            assert_eq!(
                found, wanted,
                "after batch {number} of seed {seed}: {shown}"
            );
        }
        if dice.below(40) == 0 {
            for side in [&memory, &postgres] {
                side.clock.advance(Duration::from_secs(7_000));
            }
        }
        if dice.below(40) == 0 {
            let (wanted, found) = (
                memory.driver.sweep(1_000).await,
                postgres.driver.sweep(1_000).await,
            );
            assert_eq!(
                found.unwrap(),
                wanted.unwrap(),
                "sweep after batch {number}"
            );
        }
        if dice.below(200) == 0 {
            assert_eq!(
                postgres.driver.check().await.unwrap(),
                Vec::<String>::new(),
                "batch {number}"
            );
        }
    }
    eprintln!("outcomes: {kinds:?}");
}
