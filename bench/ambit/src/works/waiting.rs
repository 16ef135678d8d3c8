//! W11: many turns at once that wait in a tool. What waits must hold no thread, and cost no more than its wait.

use super::Bench;
use super::served::check;
use crate::measure::{Row, median, text, together};
use crate::served::Served;
use crate::{Result, app};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// How often all turns are made, waiting and not.
const ROUNDS: usize = 3;
/// How often the threads are counted meanwhile.
const LOOK: Duration = Duration::from_millis(2);

pub async fn run(bench: &Bench) -> Result<()> {
    let Some(store) = bench.served("w11") else {
        return Ok(());
    };
    allow_connections()?;
    let served = Arc::new(Served::start(&store).await?);
    let turns = bench.sizes.operations;
    burst(&served, app::PROMPT, "before", turns).await?;
    let (mut at_once, mut waiting, mut threads) = (Vec::new(), Vec::new(), 0.0_f64);
    for round in 0..ROUNDS {
        at_once.push(burst(&served, app::PROMPT, &format!("p{round}"), turns).await?);
        let name = format!("w{round}");
        let (spent, most) = watched(&served, burst(&served, app::WAITER, &name, turns)).await?;
        waiting.push(spent);
        threads = threads.max(most);
    }
    let (at_once, waiting) = (median(at_once), median(waiting));
    let count = turns as f64;
    let cores = std::thread::available_parallelism()?.get() as f64;
    let row = |work, unit, note| Row {
        work,
        p: turns,
        unit,
        note,
    };
    let output = &bench.output;
    let note = "all at once, each waits 50 ms in a tool; client and server on this machine";
    output.row(row("W11 turns", "turns/s", note), count / waiting);
    let note = "the same turns, whose tool does not wait";
    output.row(row("W11 turns at once", "turns/s", note), count / at_once);
    let ideal = at_once.max(app::WAIT.as_secs_f64());
    let note = "the ideal: what the machine can do of turns whose tool does not wait";
    output.row(row("W11 of the ideal", "%", note), 100.0 * ideal / waiting);
    let note = "the most that were seen while the turns wait";
    output.row(
        row("W11 threads beyond the cores", "threads", note),
        threads - cores,
    );
    let note = "the most of the whole run";
    output.row(row("W11 resident", "MB", note), served.most_resident()?);
    let served = Arc::into_inner(served).ok_or("the server is still in use")?;
    served.stop().await
}

/// Lets this process, and servers that it starts, hold as many connections as the system allows.
pub fn allow_connections() -> Result<()> {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files)?;
    Ok(())
}

/// So many turns at once, each in a chat and over a connection of its own; the seconds until the last has ended.
pub async fn burst(served: &Arc<Served>, agent: &str, name: &str, turns: usize) -> Result<f64> {
    together(turns, |number| {
        let served = Arc::clone(served);
        let chat = format!("{name}-{number}");
        let request = app::request(agent, &chat, "standard", &text(number));
        async move {
            let mut client = served.client().await?;
            check(&client.turn(&request).await?)
        }
    })
    .await
}

/// What work takes, and the most threads that were seen meanwhile.
async fn watched(served: &Served, work: impl Future<Output = Result<f64>>) -> Result<(f64, f64)> {
    let mut work = pin!(work);
    let mut look = tokio::time::interval(LOOK);
    let mut most = 0.0_f64;
    loop {
        tokio::select! {
            spent = &mut work => return Ok((spent?, most)),
            _ = look.tick() => most = most.max(served.threads()?),
        }
    }
}
