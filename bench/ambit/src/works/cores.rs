//! W18: how many turns more two cores make than one, in a process without a server that is kept to so many cores.

use super::Bench;
use crate::Result;
use crate::measure::{Row, median, processor_seconds, together};
use crate::node::Node;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// The cores that the process is kept to.
const CORES: [&str; 2] = ["0", "0,1"];
/// How often each is measured, one after the other.
const ROUNDS: usize = 3;
/// Callers at once.
const CALLERS: usize = 16;
/// Turns of each caller that are not counted.
const BEFORE: usize = 10;
/// Turns of one chat: then a new one begins.
const CHAT: usize = 20;
/// The thread that writes to SQLite.
const WRITER: &str = "sqlite-writer";

/// What a process has measured of itself.
#[derive(Serialize, Deserialize)]
pub struct LoadReport {
    /// Turns in a second.
    rate: f64,
    /// Milliseconds of processor time for a turn.
    cpu: f64,
    /// The same by the names of threads.
    threads: BTreeMap<String, f64>,
}

pub async fn run(bench: &Bench) -> Result<()> {
    let Some(store) = bench.served("w18") else {
        return Ok(());
    };
    let row = |work, p, unit| Row {
        work,
        p,
        unit,
        note: "hook, scripted model, stored, read to the end, without HTTP; 16 callers; the size is the cores",
    };
    if std::thread::available_parallelism()?.get() < CORES.len() {
        let row = row("W18 turns", CORES.len(), "turns/s");
        bench.output.missing(row, "the machine has one core");
        return Ok(());
    }
    let mut reports: [Vec<LoadReport>; 2] = Default::default();
    for round in 0..ROUNDS {
        for (cores, reports) in CORES.iter().zip(&mut reports) {
            let url = match bench.scheme() {
                "memory" => store.clone(),
                _ => format!("{store}-{round}-{}", cores.len()),
            };
            reports.push(measured(&url, cores, bench.sizes.operations)?);
        }
    }
    let mut rates = Vec::new();
    for (index, reports) in reports.iter().enumerate() {
        let of = |which: fn(&LoadReport) -> f64| median(reports.iter().map(which).collect());
        let (p, rate) = (index + 1, of(|report| report.rate));
        rates.push(rate);
        bench.output.row(row("W18 turns", p, "turns/s"), rate);
        bench
            .output
            .row(row("W18 turn's CPU", p, "ms/turn"), of(|report| report.cpu));
        if bench.scheme() == "sqlite" {
            let writer = of(|report| report.threads.get(WRITER).copied().unwrap_or_default());
            bench
                .output
                .row(row("W18 writer's CPU", p, "ms/turn"), writer);
        }
    }
    let gain = row("W18 gain of the second core", CORES.len(), "times");
    bench.output.row(gain, rates[1] / rates[0]);
    Ok(())
}

/// Runs this program on these cores.
fn measured(url: &str, cores: &str, turns: usize) -> Result<LoadReport> {
    let output = Command::new("taskset")
        .args(["--cpu-list", cores])
        .arg(std::env::current_exe()?)
        .args(["work-through", "--url", url])
        .args(["--writers", &CALLERS.to_string()])
        .args(["--times", &turns.div_ceil(CALLERS).to_string()])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run taskset: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "a process on the cores {cores} ended with {}",
            output.status
        )
        .into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Turns of so many callers in this process.
pub async fn load(url: &str, callers: usize, times: usize) -> Result<LoadReport> {
    let node = Arc::new(Node::open(url).await?);
    turns(&node, "before", callers, BEFORE).await?;
    let (cpu, threads, start) = (processor_seconds(), threads()?, Instant::now());
    turns(&node, "chat", callers, times).await?;
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), processor_seconds() - cpu);
    let count = (callers * times) as f64;
    let spent = self::threads()?.into_iter().map(|(name, spent)| {
        let before = threads.get(&name).copied().unwrap_or_default();
        (name, (spent - before) * 1e3 / count)
    });
    let report = LoadReport {
        rate: count / seconds,
        cpu: cpu * 1e3 / count,
        threads: spent.collect(),
    };
    if let Some(node) = Arc::into_inner(node) {
        node.close().await?;
    }
    Ok(report)
}

async fn turns(node: &Arc<Node>, name: &str, callers: usize, each: usize) -> Result<()> {
    together(callers, |caller| {
        let (node, name) = (Arc::clone(node), format!("{name}-{caller}"));
        async move {
            for number in 0..each {
                let chat = format!("{name}-{}", number / CHAT);
                node.turn(&format!("user{caller}"), &chat, number).await?;
            }
            Ok(())
        }
    })
    .await?;
    Ok(())
}

/// Seconds that the threads of each name have run.
fn threads() -> Result<BTreeMap<String, f64>> {
    let mut threads = BTreeMap::new();
    for thread in std::fs::read_dir("/proc/self/task")? {
        let path = thread?.path();
        let read = |file: &str| std::fs::read_to_string(path.join(file));
        // A thread may have ended since.
        let (Ok(name), Ok(spent)) = (read("comm"), read("schedstat")) else {
            continue;
        };
        let spent: f64 = spent.split(' ').next().unwrap_or_default().parse()?;
        *threads.entry(name.trim().to_owned()).or_default() += spent / 1e9;
    }
    Ok(threads)
}
