//! Random batches, in the numbers of the store that they are for.

use super::Store;
use super::dice::{AGENTS, Dice, LOGS, NAMES, any_entry, any_json, any_track, spaces};
use ambit_storage::address::{Key, LogKey};
use ambit_storage::batch::{Batch, Check, Head, Mirror, Write};
use ambit_storage::driver::{Part, Range};
use ambit_storage::op::{Op, epoch_of};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, Value};
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

    async fn any_check(&self, dice: &mut Dice) -> Check {
        let space = dice.pick(&spaces());
        let is_right = dice.roll(4) > 0;
        let key = space.key(dice.pick(&NAMES));
        match dice.roll(3) {
            0 => {
                let log = space.log(dice.pick(&LOGS));
                let head = self.driver.read(&log, Range::head()).await.unwrap().head;
                Check::Head {
                    log,
                    head: head.filter(|_| is_right),
                }
            }
            1 => Check::Version {
                version: self.version(&key).await.filter(|_| is_right),
                key,
            },
            _ => Check::Lease {
                epoch: self.epoch(&key).await,
                key,
            },
        }
    }

    async fn version(&self, key: &Key) -> Option<u64> {
        let entry = self.driver.get(key, Part::Nothing).await.unwrap();
        entry.map(|entry| entry.version)
    }

    async fn epoch(&self, key: &Key) -> u64 {
        let entry = self.driver.get(key, Part::Whole).await.unwrap();
        entry
            .and_then(|entry| epoch_of(&entry.value.into()))
            .unwrap_or(999_999)
    }

    async fn any_write(&self, dice: &mut Dice) -> Write {
        let space = dice.pick(&spaces());
        let log = space.log(dice.pick(&LOGS));
        match dice.roll(25) {
            0..=6 => Write::Append {
                log,
                entries: (0..dice.roll(4)).map(|_| any_entry(dice)).collect(),
            },
            7 => Write::Redact {
                log,
                bodies: (0..dice.roll(3))
                    .map(|_| (dice.roll(6), any_json(dice)))
                    .collect(),
            },
            8..=16 => {
                let key = space.key(dice.pick(&NAMES));
                Write::Apply {
                    op: self.any_op(&key, dice).await,
                    life: (dice.roll(3) == 0).then_some(4_000),
                    key,
                }
            }
            17 => Write::Wipe {
                space,
                pattern: Pattern::parse(dice.pick(&["*", "a*", "*b", "a"])),
            },
            18 => Write::Clear { space },
            19 => Write::Remove { space },
            23 => Write::Drop { log },
            20 | 21 => Write::Track(Box::new(any_track(dice))),
            22 => Write::Untrack {
                tenant: dice.pick(&["t", "other"]).to_owned(),
                id: format!("row-{}", dice.roll(4)),
            },
            _ => self.any_mirror(log, dice).await,
        }
    }

    /// Copies a log or a value of this store to itself, or deletes a value.
    async fn any_mirror(&self, log: LogKey, dice: &mut Dice) -> Write {
        if dice.roll(2) == 0 {
            let page = self
                .driver
                .read(&log, Range::from(dice.roll(4), 10))
                .await
                .unwrap();
            let head = page.head.unwrap_or(Head {
                generation: 1,
                last: 0,
            });
            let log = dice.pick(&spaces()).log(log.name);
            return Write::Mirror(Mirror::Log {
                log,
                head,
                entries: page.entries,
            });
        }
        let key = log.space.key(dice.pick(&NAMES));
        let entry = self.driver.get(&key, Part::Whole).await.unwrap();
        let key = dice.pick(&spaces()).key(key.name);
        Write::Mirror(Mirror::Value { key, entry })
    }

    async fn any_op(&self, key: &Key, dice: &mut Dice) -> Op {
        let items = |dice: &mut Dice| {
            (0..dice.roll(4))
                .map(|_| any_json(dice))
                .collect::<Vec<_>>()
        };
        match dice.roll(15) {
            0 => Op::Set(any_json(dice).into()),
            1 => Op::Set(Value::List(items(dice))),
            2 => Op::Del,
            3 => Op::GetDel,
            4 => Op::Incr(dice.roll(10).into()),
            5 | 6 => Op::Push(items(dice)),
            7 => Op::Pop,
            8 => Op::Pull(dice.roll(3)),
            9 => Op::PullAll,
            10 => Op::AddToSet(items(dice)),
            11 => Op::ArraySet(dice.roll(7) as i64 - 3, any_json(dice)),
            12 => Op::Tally {
                labels: Json::parse("{\"m\":1}").unwrap(),
                add: BTreeMap::from([("tokens".to_owned(), dice.roll(9) as i64)]),
            },
            13 => Op::Acquire {
                holder: dice.pick(&AGENTS).to_owned(),
            },
            _ if dice.roll(2) == 0 => Op::Renew {
                epoch: self.epoch(key).await,
            },
            _ => Op::Release {
                epoch: self.epoch(key).await,
            },
        }
    }
}
