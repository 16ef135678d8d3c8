//! Random batches, in the numbers of the store that they are for.

use super::dice::{AGENTS, Dice, LOGS, NAMES, any_entry, any_json, any_track, spaces};
use super::{HOUR, Store};
use ambit_storage::address::{LogKey, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, Head, MirrorWrite};
use ambit_storage::clock::to_millis;
use ambit_storage::driver::{LogRange, ValuePart};
use ambit_storage::operation::{Operation, epoch_of};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, StoredValue};
use std::collections::BTreeMap;

impl Store {
    /// A batch by the dice. What it quotes (heads, versions, epochs) is what this store has.
    pub async fn batch(&self, dice: &mut Dice) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..dice.roll(3).saturating_sub(1) {
            batch.checks.push(self.any_check(dice).await);
        }
        for _ in 0..=dice.roll(4) {
            batch.writes.push(self.any_write(dice).await);
        }
        batch
    }

    async fn any_check(&self, dice: &mut Dice) -> BatchCheck {
        let space = dice.pick(&spaces());
        let is_right = dice.roll(4) > 0;
        let key = space.key(dice.pick(&NAMES));
        match dice.roll(3) {
            0 => {
                let log = space.log(dice.pick(&LOGS));
                let head = self.driver.read(&log, LogRange::head()).await.unwrap().head;
                BatchCheck::head(log, head.filter(|_| is_right))
            }
            1 => {
                let version = self.version(&key).await.filter(|_| is_right);
                BatchCheck::version(key, version)
            }
            _ => {
                let epoch = self.epoch(&key).await;
                BatchCheck::lease(key, epoch)
            }
        }
    }

    async fn version(&self, key: &ValueKey) -> Option<u64> {
        let entry = self.driver.get(key, ValuePart::Nothing).await.unwrap();
        entry.map(|entry| entry.version)
    }

    async fn epoch(&self, key: &ValueKey) -> u64 {
        let entry = self.driver.get(key, ValuePart::Whole).await.unwrap();
        entry
            .and_then(|entry| epoch_of(&entry.value.into()))
            .unwrap_or(999_999)
    }

    async fn any_write(&self, dice: &mut Dice) -> BatchWrite {
        let space = dice.pick(&spaces());
        let log = space.log(dice.pick(&LOGS));
        match dice.roll(25) {
            0..=6 => BatchWrite::append(log, (0..dice.roll(4)).map(|_| any_entry(dice)).collect()),
            7 => BatchWrite::redact(
                log,
                (0..dice.roll(3))
                    .map(|_| (dice.roll(6), any_json(dice)))
                    .collect(),
            ),
            8..=16 => {
                let key = space.key(dice.pick(&NAMES));
                let op = self.any_op(&key, dice).await;
                BatchWrite::apply(key, op, (dice.roll(3) == 0).then_some(to_millis(4 * HOUR)))
            }
            17 => BatchWrite::Wipe {
                space,
                pattern: Pattern::parse(dice.pick(&["*", "a*", "*b", "a"])),
            },
            18 => BatchWrite::Clear { space },
            19 => BatchWrite::Remove { space },
            23 => BatchWrite::Drop { log },
            20 | 21 => BatchWrite::Track(Box::new(any_track(dice))),
            22 => BatchWrite::untrack(
                dice.pick(&["t", "other"]).to_owned(),
                format!("row-{}", dice.roll(4)),
            ),
            _ => self.any_mirror(log, dice).await,
        }
    }

    /// Copies a log or a value of this store to itself, or deletes a value.
    async fn any_mirror(&self, log: LogKey, dice: &mut Dice) -> BatchWrite {
        if dice.roll(2) == 0 {
            let page = self
                .driver
                .read(&log, LogRange::from(dice.roll(4), 10))
                .await
                .unwrap();
            let head = page.head.unwrap_or(Head::new(1, 0));
            let log = dice.pick(&spaces()).log(log.name);
            return BatchWrite::mirror_log(log, head, page.entries);
        }
        let key = log.space.key(dice.pick(&NAMES));
        let entry = self.driver.get(&key, ValuePart::Whole).await.unwrap();
        let key = dice.pick(&spaces()).key(key.name);
        BatchWrite::Mirror(MirrorWrite::Value { key, entry })
    }

    async fn any_op(&self, key: &ValueKey, dice: &mut Dice) -> Operation {
        let items = |dice: &mut Dice| {
            (0..dice.roll(4))
                .map(|_| any_json(dice))
                .collect::<Vec<_>>()
        };
        match dice.roll(15) {
            0 => Operation::Set(any_json(dice).into()),
            1 => Operation::Set(StoredValue::List(items(dice))),
            2 => Operation::Del,
            3 => Operation::GetDel,
            4 => Operation::Incr(dice.roll(10).into()),
            5 | 6 => Operation::Push(items(dice)),
            7 => Operation::Pop,
            8 => Operation::Pull(dice.roll(3)),
            9 => Operation::PullAll,
            10 => Operation::AddToSet(items(dice)),
            11 => Operation::ArraySet(dice.roll(7) as i64 - 3, any_json(dice)),
            12 => Operation::Tally {
                labels: Json::parse("{\"m\":1}").unwrap(),
                add: BTreeMap::from([("tokens".to_owned(), dice.roll(9) as i64)]),
            },
            13 => Operation::Acquire {
                holder: dice.pick(&AGENTS).to_owned(),
            },
            _ if dice.roll(2) == 0 => Operation::Renew {
                epoch: self.epoch(key).await,
            },
            _ => Operation::Release {
                epoch: self.epoch(key).await,
            },
        }
    }
}
