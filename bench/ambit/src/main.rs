//! The benchmark works on one driver. Each result is one line of JSON on the standard output, of the form that the peers'
//! scripts have too; `cargo xtask bench` makes one page of such lines.

mod app;
mod client;
mod level;
mod measure;
mod provider;
mod served;
mod syncs;
mod works;

use clap::{Args, Parser, Subcommand};
use level::Session;
use measure::{Output, Sizes};
use std::process::ExitCode;
use std::sync::Arc;

/// What everything here answers.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

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
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ambit-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn all(run: Run) -> Result<()> {
    let scheme = run.store.url.split(':').next().unwrap_or_default();
    let backend = run.backend.clone().unwrap_or_else(|| scheme.to_owned());
    let sizes = if run.quick {
        Sizes::quick()
    } else {
        Sizes::full()
    };
    let since = std::time::UNIX_EPOCH.elapsed()?;
    let bench = works::Bench {
        run: since.as_millis().to_string(),
        driver: level::open(&run.store).await?,
        store: run.store,
        sizes,
        output: Output { backend },
    };
    for (name, work) in works::WORKS {
        if run.work.is_empty() || run.work.iter().any(|wanted| wanted == name) {
            work(&bench)
                .await
                .map_err(|error| format!("{name}: {error}"))?;
        }
    }
    bench.driver.close().await?;
    Ok(())
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
