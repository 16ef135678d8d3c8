//! W10: the server as a process: how soon it answers, what it holds, how large it is.

use super::served::{ClientTurns, turns};
use super::{Bench, waiting};
use crate::measure::{Row, median};
use crate::served::{Served, program};
use crate::{Result, app};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// Starts that are measured.
const STARTS: usize = 9;
/// How long after a burst what it has taken should be given back.
const REST: Duration = Duration::from_secs(20);
/// Who talks to it meanwhile.
const CLIENTS: usize = 16;

pub async fn run(bench: &Bench) -> Result<()> {
    let Some(store) = bench.served("w10") else {
        return Ok(());
    };
    let (mut listening, mut answered) = (Vec::new(), Vec::new());
    for number in 0..STARTS {
        let [listens, answers] = start(&format!("{store}-{number}")).await?;
        listening.push(listens);
        answered.push(answers);
    }
    let row = |work, p, unit, note| Row {
        work,
        p,
        unit,
        note,
    };
    let note = "from the start of the process to the first byte of a turn's stream; a new store";
    bench
        .output
        .row(row("W10 start", 1, "ms", note), median(answered));
    let note = "from the start of the process until it says where it listens; a new store";
    let listens = row("W10 start until it listens", 1, "ms", note);
    bench.output.row(listens, median(listening));
    // A store in memory grows with what it holds; that says nothing about the server.
    if bench.scheme() == "sqlite" {
        grow(bench, &store).await?;
        size(bench)?;
    }
    Ok(())
}

/// Milliseconds from the start of the process until it listens, and to the first byte of an answer.
async fn start(store: &str) -> Result<[f64; 2]> {
    let served = Served::start(store).await?;
    let listens = served.since.elapsed().as_secs_f64() * 1e3;
    let mut client = served.client().await?;
    let head = client
        .post(&app::request(app::CLERK, "first", "standard", "Hello"))
        .await?;
    let mut body = Vec::new();
    client.piece(&mut body).await?;
    let spent = served.since.elapsed().as_secs_f64() * 1e3;
    let is_stream = String::from_utf8_lossy(&body).contains("data: ");
    if head.status != 200 || !is_stream {
        return Err(format!("the first answer is {}", String::from_utf8_lossy(&body)).into());
    }
    while client.piece(&mut body).await? {}
    served.stop().await?;
    Ok([listens, spent])
}

/// What is resident before any turn and after many.
async fn grow(bench: &Bench, store: &str) -> Result<()> {
    waiting::allow_connections()?;
    let served = Arc::new(Served::start(store).await?);
    let output = &bench.output;
    let row = |p, note| Row {
        work: "W10 resident",
        p,
        unit: "MB",
        note,
    };
    output.row(row(0, "idle"), served.resident()?);
    let all = bench.sizes.operations * 10;
    let half = all / 2 / CLIENTS;
    turns(&served, &ClientTurns::new("a", CLIENTS, half)).await?;
    let before = served.resident()?;
    output.row(row(all / 2, "after so many turns"), before);
    turns(&served, &ClientTurns::new("b", CLIENTS, half)).await?;
    let after = served.resident()?;
    output.row(row(all, "after so many turns"), after);
    let growth = Row {
        work: "W10 growth",
        p: all,
        unit: "MB",
        note: "in the second half of the turns",
    };
    output.row(growth, after - before);
    after_a_burst(bench, &served).await?;
    let served = Arc::into_inner(served).ok_or("the server is still in use")?;
    served.stop().await
}

/// What is still resident some time after turns that all waited at once.
async fn after_a_burst(bench: &Bench, served: &Arc<Served>) -> Result<()> {
    let turns = bench.sizes.operations;
    waiting::burst(served, app::WAITER, "burst", turns).await?;
    let row = |work, note| Row {
        work,
        p: turns,
        unit: "MB",
        note,
    };
    let output = &bench.output;
    let note = "the most so far, when so many turns have waited in script tools at once";
    let most = served.most_resident()?;
    output.row(row("W10 resident in a burst", note), most);
    tokio::time::sleep(REST).await;
    let note = "20 s later; runtimes are kept for 10 s, freed memory for 5";
    let left = served.resident()?;
    output.row(row("W10 resident after a burst", note), left);
    Ok(())
}

/// The program's size, and without what debuggers read.
fn size(bench: &Bench) -> Result<()> {
    let program = program()?;
    // Of a million bytes, as `cargo xtask dist` counts them.
    let megabytes =
        |path: &std::path::Path| -> Result<f64> { Ok(std::fs::metadata(path)?.len() as f64 / 1e6) };
    let row = |work, note| Row {
        work,
        p: 1,
        unit: "MB",
        note,
    };
    let output = &bench.output;
    output.row(row("W10 program", "as it is built"), megabytes(&program)?);
    let folder = tempfile::tempdir()?;
    let stripped = folder.path().join("ambit");
    let mut strip = Command::new("strip");
    strip.arg(&program).arg("-o").arg(&stripped);
    let row = row("W10 program, stripped", "without names and lines");
    match strip.status() {
        Ok(status) if status.success() => output.row(row, megabytes(&stripped)?),
        _ => output.missing(row, "there is no strip"),
    }
    Ok(())
}
