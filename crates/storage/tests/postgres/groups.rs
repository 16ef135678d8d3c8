//! Callers who come at once: their batches share transactions, and each is judged for itself.

use super::waves::WaveCounter;
use super::{entry, open, space};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, WriteOutcome};
use ambit_storage::driver::{Driver, LogRange, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::{Error, Json, Result};
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use futures::{StreamExt, poll};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::Poll;
use tracing::instrument::WithSubscriber;

fn append(log: &str, id: &str) -> BatchWrite {
    BatchWrite::append(space("groups").log(log), vec![entry(id.to_owned())])
}

fn apply(key: &str, op: Operation) -> BatchWrite {
    BatchWrite::apply(space("groups").key(key), op, None)
}

fn text(text: &str) -> Json {
    Json::of(&text).unwrap()
}

fn holder(name: &str) -> Operation {
    let holder = name.to_owned();
    Operation::Acquire { holder }
}

/// Commits all at once; the outcomes, and how many waves of statements that took.
async fn at_once(
    driver: &Arc<dyn Driver>,
    batches: Vec<Batch>,
) -> (Vec<Result<Vec<WriteOutcome>>>, u32) {
    let counter = WaveCounter::default();
    let commits = batches.into_iter().map(|batch| driver.commit(batch));
    let outcomes = join_all(commits).with_subscriber(counter.clone()).await;
    (outcomes, counter.counts().0)
}

pub async fn shared(url: String) {
    let driver = open(&url).await;
    let own = |caller: usize| {
        let append = append(&format!("log{caller}"), "first");
        let set = apply(&format!("key{caller}"), Operation::Set(text("x").into()));
        Batch::of([append, set])
    };
    // Two begin at once, and those who wait follow in one transaction.
    let (outcomes, waves) = at_once(&driver, (0..40).map(own).collect()).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert!(waves < 10, "{waves}");
    let same = |caller: usize| match caller % 3 {
        0 => Batch::of([append("shared", &format!("{caller}"))]),
        1 => Batch::of([apply("count", Operation::Incr(1.into()))]),
        _ => Batch::of([apply("list", Operation::Push(vec![text("x")]))]),
    };
    driver.commit(same(2)).await.unwrap();
    let (outcomes, waves) = at_once(&driver, (0..30).map(same).collect()).await;
    assert!(waves < 10, "{waves}");
    let mut seqs = BTreeSet::new();
    for outcome in outcomes {
        if let WriteOutcome::Appended { head, seqs: given } = &outcome.unwrap()[0] {
            assert_eq!(given.as_slice(), [head.last]);
            seqs.extend(given);
        }
    }
    assert_eq!(seqs, (1..=10).collect());
    let count = space("groups").key("count");
    let count = driver.get(&count, ValuePart::Whole).await.unwrap();
    assert_eq!(count.unwrap().value.as_str(), "10");
    let list = space("groups").key("list");
    let list = driver.get(&list, ValuePart::Nothing).await.unwrap();
    assert_eq!(list.unwrap().length, 11);
    assert_eq!(driver.check().await.unwrap(), Vec::<String>::new());
}

pub async fn refused(url: String) {
    let driver = open(&url).await;
    let before = [
        append("known", "known"),
        apply("text", Operation::Set(text("x").into())),
        apply("lease", holder("other")),
    ];
    driver.commit(Batch::of(before)).await.unwrap();
    let absent = BatchCheck::head(space("groups").log("known"), None);
    let mark = || append("mark", "mark");
    let gone = Operation::Renew { epoch: 1 };
    let is_conflict: fn(&Error) -> bool = |error| matches!(error, Error::Conflict { .. });
    let is_refused: fn(&Error) -> bool = |error| matches!(error, Error::Refused { .. });
    let is_busy: fn(&Error) -> bool = |error| matches!(error, Error::Busy { .. });
    let is_fenced: fn(&Error) -> bool = |error| matches!(error, Error::Fenced { .. });
    let bad = [
        (Batch::of([mark()]).checking(absent), is_conflict),
        (
            Batch::of([mark(), apply("text", Operation::Pop)]),
            is_refused,
        ),
        (
            Batch::of([apply("text", Operation::Incr(1.into()))]),
            is_refused,
        ),
        (Batch::of([apply("lease", holder("me")), mark()]), is_busy),
        (Batch::of([mark(), apply("lease", gone)]), is_fenced),
    ];
    for (round, (bad, is_expected)) in bad.into_iter().enumerate() {
        let good = |caller: usize| Batch::of([append("good", &format!("{round}-{caller}"))]);
        let mut batches: Vec<Batch> = (0..9).map(good).collect();
        batches.insert(5, bad);
        // Its id is there already, which is no reason to refuse it.
        batches.push(Batch::of([append("known", "known")]));
        let (mut outcomes, _) = at_once(&driver, batches).await;
        let error = outcomes.remove(5).unwrap_err();
        assert!(is_expected(&error), "{error}");
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }
    let good = space("groups").log("good");
    let good = driver.read(&good, LogRange::head()).await.unwrap();
    assert_eq!(good.head.unwrap().last, 45);
    let logs = driver.logs(&space("groups")).await.unwrap();
    assert_eq!(logs, ["good", "known"]);
    assert_eq!(driver.check().await.unwrap(), Vec::<String>::new());
}

pub async fn left(url: String) {
    let driver = open(&url).await;
    for round in 0..10 {
        let commit = |caller: usize| {
            let append = append("items", &format!("{round}-{caller}"));
            Some(driver.commit(Batch::of([append])))
        };
        let mut commits: Vec<_> = (0..32).map(commit).collect();
        for waiting in &mut commits {
            if let Some(commit) = waiting
                && let Poll::Ready(outcomes) = poll!(commit)
            {
                outcomes.unwrap();
                waiting.take();
            }
        }
        for commit in commits.iter_mut().skip(round % 2).step_by(2) {
            commit.take();
        }
        for outcomes in join_all(commits.into_iter().flatten()).await {
            outcomes.unwrap();
        }
    }
    let log = space("groups").log("items");
    let page = driver.read(&log, LogRange::from(1, 1_000)).await.unwrap();
    let entries = page.entries;
    let stayed = |round: usize| (0..32).filter(move |caller| caller % 2 != round % 2);
    let wanted = (0..10).flat_map(|round| stayed(round).map(move |one| format!("{round}-{one}")));
    let found: BTreeSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    for id in wanted {
        assert!(found.contains(id.as_str()), "{id}");
    }
    assert_eq!(driver.check().await.unwrap(), Vec::<String>::new());
}

/// Callers who are not polled any more, though their batches are under way or wait, keep nobody else waiting.
pub async fn unpolled(url: String) {
    let driver = open(&url).await;
    let commit = |id: usize| driver.commit(Batch::of([append("left", &format!("{id}"))]));
    let mut callers: FuturesUnordered<_> = (0..5).map(commit).collect();
    callers.next().await.unwrap().unwrap();
    let other = Batch::of([append("other", "1")]);
    driver.commit(other).await.unwrap();
    while let Some(outcome) = callers.next().await {
        outcome.unwrap();
    }
    let page = driver
        .read(&space("groups").log("left"), LogRange::from(1, 10))
        .await
        .unwrap();
    assert_eq!(page.entries.len(), 5);
}
