//! Random writes while the secondary comes and goes: what the chain says never depends on it, and in the end both
//! drivers are equal.

use super::flaky::Fault;
use super::support::{Pair, append, apply, content, set, space, track};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::driver::chain::WritePolicy;
use ambit_storage::driver::{Driver, LogRange, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, Json};

fn roll(seed: &mut u64, sides: u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    usize::try_from((*seed >> 11) % sides).unwrap()
}

fn write(seed: &mut u64, turn: usize) -> BatchWrite {
    let at = roll(seed, 3);
    let log = space(at).log(["items", "overlays"][roll(seed, 2)]);
    let key = space(at).key(["k", "l"][roll(seed, 2)]);
    match roll(seed, 17) {
        0..=4 => append(&log, &turn.to_string()),
        5 => set(&key, &turn.to_string()),
        6 => apply(&space(at).key("n"), Operation::Incr(1.into())),
        7 => apply(
            &space(at).key("list"),
            Operation::Push(vec![Json::of(&turn).unwrap()]),
        ),
        8 => apply(&key, Operation::Del),
        9 => apply(&space(at).key("list"), Operation::Pop),
        10 => BatchWrite::Wipe {
            space: space(at),
            pattern: Pattern::parse("l*"),
        },
        11 => BatchWrite::Clear { space: space(at) },
        12 => BatchWrite::Remove { space: space(at) },
        13 => BatchWrite::redact(log, vec![(1, Json::of("gone").unwrap())]),
        14 => BatchWrite::untrack("default", format!("row-{at}")),
        15 => BatchWrite::Drop { log },
        _ => track(at),
    }
}

#[tokio::test]
async fn a_secondary_that_comes_and_goes_changes_no_answer_and_ends_equal() {
    for seed in [0x2545_F491_4F6C_DD1D, 12_345, 42] {
        run(seed).await;
    }
}

async fn run(mut seed: u64) {
    let pair = Pair::new();
    let mut chain = pair.chain(WritePolicy::All);
    for turn in 0..1000 {
        let faults = [
            Fault::Nothing,
            Fault::Nothing,
            Fault::Down,
            Fault::Writes,
            Fault::Answers,
        ];
        pair.second.fails(faults[roll(&mut seed, 5)]);
        let before = content(&*pair.first).await;
        let at = roll(&mut seed, 3);
        chain
            .read(&space(at).log("items"), LogRange::head())
            .await
            .unwrap();
        chain
            .get(&space(at).key("k"), ValuePart::Nothing)
            .await
            .unwrap();
        let after = content(&*pair.first).await;
        // A read may settle a note of an erasure, which comes before the rows, and brings nothing back.
        assert_eq!(
            after[..after.len() - 2],
            before[..before.len() - 2],
            "turn {turn}"
        );
        let writes: Vec<_> = (0..1 + roll(&mut seed, 3))
            .map(|_| write(&mut seed, turn))
            .collect();
        match chain.commit(Batch::of(writes.clone())).await {
            Ok(_) | Err(Error::Partial { .. }) => {}
            Err(error) => panic!("turn {turn}: {error} {writes:?}"),
        }
        if turn % 50 == 0 {
            chain = pair.chain(WritePolicy::All);
        }
        if turn % 25 == 0 {
            pair.second.fails(Fault::Nothing);
            for at in 0..3 {
                assert_eq!(
                    chain.repair_space(&space(at)).await.unwrap(),
                    [],
                    "turn {turn}"
                );
            }
            assert_eq!(
                content(&*pair.second).await,
                content(&*pair.first).await,
                "turn {turn}"
            );
        }
    }
}
