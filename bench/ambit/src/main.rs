//! The benchmark works on one driver. Each result is one line of JSON on the standard output, of the form that the peers'
//! scripts have too; `cargo xtask bench` makes one page of such lines.

mod app;
mod client;
mod level;
mod measure;
mod node;
mod provider;
mod served;
mod syncs;
mod works;

use clap::{Args, Parser, Subcommand};
use level::Session;
use measure::{Output, Sizes};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// What everything here answers.
pub type Result<T, E = Error> = std::result::Result<T, E>;
/// Why something could not be done.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs works on a store and prints their results.
    Run(Run),
    /// Appends turns and says nothing: what syncs are counted of.
    Turns(Load),
    /// Adds to one counter and says nothing: one of several processes.
    Count(Load),
    /// Makes whole turns in this process and says what they took.
    WorkThrough(Load),
}

#[derive(Args)]
struct Run {
    #[command(flatten)]
    store: Store,
    /// The name in the results; the scheme of the address without one.
    #[arg(long)]
    backend: Option<String>,
    /// Which works, as in W1,W4; all without it.
    #[arg(long, value_delimiter = ',')]
    work: Vec<String>,
    /// Which works are left out.
    #[arg(long, value_delimiter = ',')]
    without: Vec<String>,
    /// Small sizes: to see that it works, not to measure.
    #[arg(long)]
    quick: bool,
}

/// Which store, and how it is opened.
#[derive(Args, Clone, Debug)]
struct Store {
    /// The address, for instance sqlite:/tmp/a.db.
    #[arg(long)]
    url: String,
    /// Commits are not synced.
    #[arg(long)]
    normal: bool,
    /// Through agents, contexts and memories instead of the bare driver.
    #[arg(long)]
    contexts: bool,
}

impl Store {
    /// The options that another process needs beside the address.
    fn flags(&self) -> impl Iterator<Item = &'static str> {
        let all = [(self.normal, "--normal"), (self.contexts, "--contexts")];
        all.into_iter()
            .filter_map(|(is_set, flag)| is_set.then_some(flag))
    }
}

/// Work for a process that is watched or runs beside others.
#[derive(Args, Debug)]
struct Load {
    #[command(flatten)]
    store: Store,
    #[arg(long, default_value = "load")]
    tenant: String,
    /// How many write at once.
    #[arg(long, default_value_t = 1)]
    writers: usize,
    /// What each of them does so many times.
    #[arg(long)]
    times: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Program::parse().command {
        Command::Run(run) => all(run).await,
        Command::Turns(load) => turns(load).await,
        Command::Count(load) => count(load).await,
        Command::WorkThrough(load) => work_through(load).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ambit-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Run {
    fn has(&self, work: &str) -> bool {
        let names = |works: &[String]| works.iter().any(|named| named == work);
        (self.work.is_empty() || names(&self.work)) && !names(&self.without)
    }
}

/// Runs the works one after the other; one that fails is in the results, and stops none of the others.
async fn all(run: Run) -> Result<()> {
    let scheme = run.store.url.split(':').next().unwrap_or_default();
    let backend = run.backend.clone().unwrap_or_else(|| scheme.to_owned());
    let mut sizes = if run.quick {
        Sizes::quick()
    } else {
        Sizes::full()
    };
    // So many take minutes to make.
    let is_named = |name: &str| !run.quick && run.work.iter().any(|work| work == name);
    if is_named("W17") {
        sizes.entries = 10_000_000;
    }
    if is_named("W14") {
        sizes.chunks = &[1_000, 100_000, 1_000_000];
    }
    let since = std::time::UNIX_EPOCH.elapsed()?;
    let bench = works::Bench {
        run: since.as_millis().to_string(),
        driver: level::open(&run.store).await?,
        store: run.store.clone(),
        sizes,
        output: Output { backend },
    };
    let mut failed = Vec::new();
    for (name, work) in works::WORKS.iter().filter(|(name, _)| run.has(name)) {
        let begun = Instant::now();
        if let Err(error) = work(&bench).await {
            bench.output.failure(name, &error.to_string());
            failed.push(*name);
        }
        bench.output.spent(name, begun.elapsed().as_secs_f64());
    }
    bench.driver.close().await?;
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("{} did not come to an end", failed.join(" and ")).into())
}

async fn turns(load: Load) -> Result<()> {
    let driver = level::open(&load.store).await?;
    let level = level::over(driver.clone(), &load.store, &load.tenant)?;
    let times = load.times;
    measure::together(load.writers, move |writer| {
        let level = Arc::clone(&level);
        async move {
            let session = Session::new("user", &format!("chat{writer}"));
            level.start(&session).await?;
            for turn in 0..times {
                level.append(&session, measure::pair(turn)).await?;
            }
            Ok(())
        }
    })
    .await?;
    driver.close().await?;
    Ok(())
}

async fn count(load: Load) -> Result<()> {
    let driver = level::open(&load.store).await?;
    let level = level::over(driver.clone(), &load.store, &load.tenant)?;
    let times = load.times;
    measure::together(load.writers, move |_| {
        let level = Arc::clone(&level);
        async move {
            for _ in 0..times {
                level.add("counter").await?;
            }
            Ok(())
        }
    })
    .await?;
    driver.close().await?;
    Ok(())
}

async fn work_through(load: Load) -> Result<()> {
    let report = works::cores::load(&load.store.url, load.writers, load.times).await?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}
