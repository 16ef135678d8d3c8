//! W4: memory, by one caller, by many, and from several processes.

use super::Bench;
use crate::Result;
use crate::level::Level;
use crate::measure::{ADDS, Row, UNCOUNTED, WRITERS, median, together};
use ambit_storage::operation::MAX_LIST;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

const TEXT: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
const PROCESSES: usize = 4;
/// Items of one push while a list is made.
const ITEMS: usize = 1_000;
/// Pushes measured onto each list, and those that warm up.
const PUSHES: usize = 33;
/// How often the longest list is made and taken whole.
const PULLS: usize = 3;

pub async fn run(bench: &Bench) -> Result<()> {
    let level = bench.level("w4")?;
    one_caller(bench, level.as_ref()).await?;
    many_callers(bench, &level).await?;
    lists(bench, level.as_ref()).await?;
    whole_lists(bench, level.as_ref()).await?;
    counted(bench, &level).await?;
    if bench.scheme() != "memory" {
        counted_by_processes(bench).await?;
    }
    Ok(())
}

fn operations<'a>(bench: &Bench, work: &'a str) -> Row<'a> {
    Row {
        work,
        p: bench.sizes.operations,
        unit: "ops/s",
        note: "",
    }
}

async fn one_caller(bench: &Bench, level: &dyn Level) -> Result<()> {
    let output = &bench.output;
    let value = TEXT.repeat(2);
    let row = |work| operations(bench, work);
    let set = async |number| level.set(&format!("k{number}"), &value).await;
    output.rate(row("W4 set"), set).await?;
    let get = async |number| level.get(&format!("k{number}")).await.map(drop);
    output.rate(row("W4 get"), get).await?;
    output
        .rate(row("W4 incr"), async |_| level.add("n").await)
        .await?;
    let push = async |_| level.push("l", vec![TEXT.to_owned()]).await;
    output.rate(row("W4 push"), push).await?;
    let pop = async |_| level.pop("l").await.map(drop);
    output.rate(row("W4 pop"), pop).await
}

async fn many_callers(bench: &Bench, level: &Arc<dyn Level>) -> Result<()> {
    let each = bench.sizes.operations.div_ceil(4);
    let rate = |seconds: f64| (each * WRITERS) as f64 / seconds;
    let row = |work| Row {
        p: each * WRITERS,
        ..operations(bench, work)
    };
    let seconds = together(WRITERS, |caller| {
        let level = Arc::clone(level);
        async move {
            for number in 0..each {
                level.set(&format!("m{caller}-{number}"), TEXT).await?;
            }
            Ok(())
        }
    });
    bench
        .output
        .row(row("W4 set, 16 callers"), rate(seconds.await?));
    let seconds = together(WRITERS, |caller| {
        let level = Arc::clone(level);
        async move {
            for number in 0..each {
                level.get(&format!("m{caller}-{number}")).await?;
            }
            Ok(())
        }
    });
    bench
        .output
        .row(row("W4 get, 16 callers"), rate(seconds.await?));
    Ok(())
}

async fn lists(bench: &Bench, level: &dyn Level) -> Result<()> {
    let lengths = bench.sizes.lists;
    let key = |length: usize| format!("list{length}");
    for &length in lengths {
        // A list that is full takes no more: the longest one is filled by what is measured.
        let filled = length.min(MAX_LIST as usize - PUSHES);
        fill(level, &key(length), filled).await?;
    }
    let row = |work| Row {
        work,
        p: 0,
        unit: "ms",
        note: "",
    };
    let output = &bench.output;
    let push = async |which: usize, _| {
        let item = vec![TEXT.to_owned()];
        level.push(&key(lengths[which]), item).await
    };
    let work = row("W4 push onto a list");
    output
        .medians(work, lengths, PUSHES - UNCOUNTED, push)
        .await?;
    let pop = async |which: usize, _| level.pop(&key(lengths[which])).await.map(drop);
    let work = row("W4 pop from a list");
    output.medians(work, lengths, 30, pop).await
}

/// Lists of the longest length, each taken whole.
async fn whole_lists(bench: &Bench, level: &dyn Level) -> Result<()> {
    let length = bench.sizes.lists.iter().copied().max().unwrap_or_default();
    let mut spent = Vec::with_capacity(PULLS);
    for _ in 0..PULLS {
        fill(level, "whole", length).await?;
        let start = Instant::now();
        let pulled = level.pull_all("whole").await?;
        spent.push(start.elapsed().as_secs_f64() * 1e3);
        if pulled != length {
            return Err(format!("{pulled} items were taken instead of {length}").into());
        }
    }
    let row = Row {
        work: "W4 pull all of a list",
        p: length,
        unit: "ms",
        note: "",
    };
    bench.output.row(row, median(spent));
    Ok(())
}

/// Pushes so many items.
async fn fill(level: &dyn Level, key: &str, length: usize) -> Result<()> {
    for from in (0..length).step_by(ITEMS) {
        let items = ITEMS.min(length - from);
        level.push(key, vec![TEXT.to_owned(); items]).await?;
    }
    Ok(())
}

async fn counted(bench: &Bench, level: &Arc<dyn Level>) -> Result<()> {
    let seconds = together(WRITERS, |_| {
        let level = Arc::clone(level);
        async move {
            for _ in 0..ADDS {
                level.add("counted").await?;
            }
            Ok(())
        }
    })
    .await?;
    let sent = WRITERS * ADDS;
    let row = Row {
        work: "W4c 16 writers incr one key, counted",
        p: sent,
        unit: "of 400",
        note: &format!("{:.0} ops/s", sent as f64 / seconds),
    };
    bench
        .output
        .row(row, number(level.as_ref(), "counted").await?);
    Ok(())
}

async fn counted_by_processes(bench: &Bench) -> Result<()> {
    let level = bench.level("w4-processes")?;
    // A tenant that only the processes and this reader know.
    let tenant = bench.tenant("w4-processes");
    let writers = (WRITERS / PROCESSES).to_string();
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["count", "--url", &bench.store.url, "--tenant", &tenant]);
        command.args(["--writers", &writers, "--times", &ADDS.to_string()]);
        command.args(bench.store.flags());
        processes.push(command.spawn()?);
    }
    let mut failed = 0;
    for mut process in processes {
        failed += usize::from(!process.wait()?.success());
    }
    let row = Row {
        work: "W4c 4 processes incr one key, counted",
        p: WRITERS * ADDS,
        unit: "of 400",
        note: &format!("{failed} processes failed"),
    };
    bench
        .output
        .row(row, number(level.as_ref(), "counter").await?);
    Ok(())
}

async fn number(level: &dyn Level, key: &str) -> Result<f64> {
    let text = level.get(key).await?.unwrap_or_else(|| "0".to_owned());
    Ok(text.parse()?)
}
