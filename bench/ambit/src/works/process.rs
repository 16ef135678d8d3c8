//! W10: the server as a process: how soon it answers, what it holds, how large it is.

use super::{Bench, served::turns};
use crate::measure::{Row, median};
use crate::served::{Served, program};
use crate::{Result, app};
use std::process::Command;
use std::sync::Arc;

/// Starts that are measured.
const STARTS: usize = 9;
/// Who talks to it meanwhile.
const CLIENTS: usize = 16;

pub async fn run(bench: &Bench) -> Result<()> {
    let Some(store) = bench.served("w10") else {
        return Ok(());
    };
    let mut spent = Vec::with_capacity(STARTS);
    for number in 0..STARTS {
        spent.push(start(&format!("{store}-{number}")).await?);
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
        .row(row("W10 start", 1, "ms", note), median(spent));
    // A store in memory grows with what it holds; that says nothing about the server.
    if bench.scheme() == "sqlite" {
        grow(bench, &store).await?;
        size(bench)?;
    }
    Ok(())
}

/// Milliseconds from the start of the process to the first byte of an answer.
async fn start(store: &str) -> Result<f64> {
    let served = Served::start(store).await?;
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
    Ok(spent)
}

/// What is resident before any turn and after many.
async fn grow(bench: &Bench, store: &str) -> Result<()> {
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
    turns(&served, "a", CLIENTS, half).await?;
    let before = served.resident()?;
    output.row(row(all / 2, "after so many turns"), before);
    turns(&served, "b", CLIENTS, half).await?;
    let after = served.resident()?;
    output.row(row(all, "after so many turns"), after);
    let growth = Row {
        work: "W10 growth",
        p: all,
        unit: "MB",
        note: "in the second half of the turns",
    };
    output.row(growth, after - before);
    let served = Arc::into_inner(served).ok_or("the server is still in use")?;
    served.stop().await
}

/// The program's size, and without what debuggers read.
fn size(bench: &Bench) -> Result<()> {
    let program = program()?;
    let megabytes = |path: &std::path::Path| -> Result<f64> {
        Ok(std::fs::metadata(path)?.len() as f64 / f64::from(1 << 20))
    };
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
