//! How long upkeep keeps others from writing, and whether the file is given back.

use super::fill;
use crate::Result;
use crate::measure::{Row, median};
use crate::node::{Node, person};
use crate::works::Bench;
use ambit_runtime::chats::{self, ChatName};
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::driver::Driver;
use ambit_storage::operation::Operation;
use ambit_storage::upkeep::{Sweeper, SweeperOptions};
use ambit_storage::{Json, StoredValue};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The chat that is removed.
const CHAT: &str = "doomed";
/// Values of one batch.
const BATCH: usize = 5_000;
/// Writes before the one under whose eyes upkeep is done.
const QUIET: usize = 300;
/// How long the file may take to shrink.
const PATIENCE: Duration = Duration::from_secs(20);

pub async fn run(bench: &Bench, url: &str) -> Result<()> {
    let node = Node::open(url).await?;
    let size = bench.sizes.long;
    node.turn("ann", CHAT, 0).await?;
    fill::lengthen(&node, CHAT, size).await?;
    let commits = quiet(&node).await?;
    let row = |work, p, note| Row {
        work,
        p,
        unit: "ms",
        note,
    };
    let note = "a small write alone, the slowest of a hundred";
    bench
        .output
        .row(row("W17 wait for the writer", 0, note), commits);
    expire(&node, size).await?;
    let wait = watched(&node, sweep(&node)).await?;
    let note = "the longest that a small write has waited while so many values that have expired are erased";
    bench
        .output
        .row(row("W17 wait for the sweep", size, note), wait);
    let file = url.trim_start_matches("sqlite:");
    let full = bytes(file);
    let wait = watched(&node, remove(&node)).await?;
    let note =
        "the longest that a small write has waited while a chat of so many messages is removed";
    bench
        .output
        .row(row("W17 wait for a removal", size, note), wait);
    let left = shrunk(file, full).await;
    let note = "of the file's bytes, seconds after a chat of so many messages was removed";
    let row = Row {
        unit: "%",
        ..row("W17 file left", size, note)
    };
    bench.output.row(row, 100.0 * left / full);
    node.close().await
}

fn bytes(file: &str) -> f64 {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
    size(Path::new(file)) as f64
}

/// The bytes of the file once they get no fewer, or after as long as one would wait.
async fn shrunk(file: &str, full: f64) -> f64 {
    let begun = Instant::now();
    let (mut least, mut since) = (bytes(file), Instant::now());
    while begun.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = bytes(file);
        if now < least {
            (least, since) = (now, Instant::now());
        }
        if least < full / 2.0 && since.elapsed() > Duration::from_secs(3) {
            break;
        }
    }
    least
}

/// Values that have expired when this returns.
async fn expire(node: &Node, count: usize) -> Result<()> {
    let space = Space::user_memory("upkeep", "ann");
    let value = StoredValue::from(Json::of("a value of some length that is to be erased")?);
    let names: Vec<usize> = (0..count).collect();
    for names in names.chunks(BATCH) {
        let set = |name: &usize| {
            let key = space.key(format!("v{name}"));
            BatchWrite::apply(key, Operation::Set(value.clone()), Some(1))
        };
        node.driver.commit(Batch::of(names.iter().map(set))).await?;
    }
    tokio::time::sleep(Duration::from_millis(5)).await;
    Ok(())
}

/// One round of the sweeper that every store has.
async fn sweep(node: &Node) -> Result<()> {
    let sweeper = Sweeper::start(node.driver.clone(), SweeperOptions::default());
    let mut progress = sweeper.progress();
    progress.wait_for(|done| done.rounds > 0).await?;
    sweeper.stop().await;
    Ok(())
}

async fn remove(node: &Node) -> Result<()> {
    let who = person("ann");
    let ambit = node.runtime.contexts(&who);
    let name = ChatName {
        chat_id: CHAT,
        assistant_id: None,
        context: None,
    };
    Ok(chats::remove(&ambit, &who, name).await?)
}

/// The slowest of a hundred writes that nothing keeps waiting.
async fn quiet(node: &Node) -> Result<f64> {
    let mut worst = Vec::new();
    for _ in 0..QUIET / 100 {
        let mut spent = 0.0_f64;
        for _ in 0..100 {
            spent = spent.max(write(&node.driver).await?);
        }
        worst.push(spent);
    }
    Ok(median(worst))
}

/// The longest that a write takes while this work is done, in milliseconds.
async fn watched(node: &Node, work: impl Future<Output = Result<()>>) -> Result<f64> {
    let is_over = Arc::new(AtomicBool::new(false));
    let (driver, over) = (node.driver.clone(), Arc::clone(&is_over));
    let writer = tokio::spawn(async move {
        let mut longest = 0.0_f64;
        while !over.load(Ordering::Relaxed) {
            longest = longest.max(write(&driver).await?);
        }
        Ok::<f64, crate::Error>(longest)
    });
    let done = work.await;
    is_over.store(true, Ordering::Relaxed);
    let longest = writer.await?;
    done?;
    longest
}

/// The milliseconds that a small write takes.
async fn write(driver: &Arc<dyn Driver>) -> Result<f64> {
    let key = Space::user_memory("upkeep", "bob").key("counter");
    let start = Instant::now();
    let add = BatchWrite::apply(key, Operation::Incr(1.into()), None);
    driver.commit(Batch::of([add])).await?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
