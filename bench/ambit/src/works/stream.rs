//! W9: a stream of many chunks, to one reader and to many: what a chunk costs the server for each of them, and what is
//! written of it.

use super::Bench;
use crate::app::{self, BRIEF, CHUNKS, FAST, LIVE};
use crate::client::Client;
use crate::measure::{Row, together};
use crate::served::Served;
use crate::{Result, syncs};
use ambit_storage::SessionIdentity;
use ambit_storage::address::{DEFAULT_TENANT, LogKey, Space};
use ambit_storage::driver::{self, DriverOptions, LogRange};
use std::sync::Arc;
use std::time::Instant;

/// Readers of one stream.
const READERS: [usize; 2] = [1, 100];
/// Who calls a server in development mode.
const USER: &str = "dev";
/// More rows than any log here has.
const ALL: usize = 1 << 20;

/// How a stream is said.
#[derive(Clone, Copy)]
struct Pace {
    agent: &'static str,
    work: &'static str,
    note: &'static str,
}

const PACES: [Pace; 2] = [
    Pace {
        agent: FAST,
        work: "W9 CPU per chunk and reader (at once)",
        note: "2,000 chunks without a pause; trace on",
    },
    Pace {
        agent: LIVE,
        work: "W9 CPU per chunk and reader (live)",
        note: "2,000 chunks, one a millisecond; trace on",
    },
];

pub async fn run(bench: &Bench) -> Result<()> {
    let Some(store) = bench.served("w9") else {
        return Ok(());
    };
    let served = Arc::new(Served::start(&store).await?);
    for readers in READERS {
        for pace in PACES {
            let times = bench.sizes.streams(pace.agent == LIVE, readers);
            follow(&served, pace.agent, "warm", readers).await?;
            let before = served.clock()?;
            for time in 0..times {
                let chat = format!("c{readers}-{time}");
                follow(&served, pace.agent, &chat, readers).await?;
            }
            let spent = served.spent(&before)? * 1e6;
            let row = Row {
                work: pace.work,
                p: readers,
                unit: "µs",
                note: pace.note,
            };
            bench
                .output
                .row(row, spent / (times * readers * CHUNKS) as f64);
        }
    }
    if bench.scheme() == "sqlite" {
        written(bench, served, &store).await?;
        count_syncs(bench, &store).await;
    }
    Ok(())
}

/// A turn that all of them read to its end: its id.
async fn follow(served: &Arc<Served>, agent: &str, chat: &str, readers: usize) -> Result<String> {
    let mut clients = Vec::with_capacity(readers);
    for _ in 0..readers {
        clients.push(served.client().await?);
    }
    let mut first = clients.pop().ok_or("nobody reads")?;
    let request = app::request(agent, chat, "cui-web", "Go on.");
    let head = first.post(&request).await?;
    let turn = head.request.clone().ok_or("the turn has no id")?;
    let clients: Vec<_> = clients
        .into_iter()
        .map(|client| Arc::new(tokio::sync::Mutex::new(client)))
        .collect();
    let others = together(clients.len(), |number| {
        let (client, turn) = (Arc::clone(&clients[number]), turn.clone());
        async move { read(&mut *client.lock().await, &turn).await }
    });
    let (own, others) = tokio::join!(first.body(&head), others);
    others?;
    check(&own?)?;
    Ok(turn)
}

async fn read(client: &mut Client, turn: &str) -> Result<()> {
    let path = format!("/v1/chat/requests/{turn}/stream?accept=cui-web");
    let head = client.get(&path).await?;
    let text = client.body(&head).await?;
    check(&text)
}

fn check(stream: &str) -> Result<()> {
    if stream.contains(r#""event":"stream_end""#) {
        return Ok(());
    }
    let end = stream.lines().rev().find(|line| !line.is_empty());
    Err(format!(
        "a stream did not come to its end: {}",
        end.unwrap_or_default()
    )
    .into())
}

/// Rows that a stream is kept in, but for those that every turn has.
async fn written(bench: &Bench, served: Arc<Served>, store: &str) -> Result<()> {
    let brief = follow(&served, BRIEF, "rows", 1).await?;
    let fast = follow(&served, FAST, "rows", 1).await?;
    let start = Instant::now();
    let live = follow(&served, LIVE, "rows", 1).await?;
    let tenths = start.elapsed().as_secs_f64() * 10.0;
    let served = Arc::into_inner(served).ok_or("the server is still in use")?;
    served.stop().await?;
    let brief = rows(store, BRIEF, &brief).await?;
    let row = |work, unit| Row {
        work,
        p: CHUNKS,
        unit,
        note: "rows of the stream's log beyond those of a turn of one word",
    };
    let fast = rows(store, FAST, &fast).await?.saturating_sub(brief);
    let live = rows(store, LIVE, &live).await?.saturating_sub(brief);
    bench
        .output
        .row(row("W9 rows (at once)", "rows"), fast as f64);
    bench
        .output
        .row(row("W9 rows (live)", "rows/100 ms"), live as f64 / tenths);
    Ok(())
}

/// Rows of a turn's stream.
async fn rows(store: &str, agent: &str, turn: &str) -> Result<usize> {
    let driver = driver::open(store, DriverOptions::default()).await?;
    let page = driver
        .read(&log(agent, turn)?, LogRange::from(1, ALL))
        .await?;
    driver.close().await?;
    if page.entries.is_empty() {
        return Err(format!("nothing is stored of the stream of {turn}").into());
    }
    Ok(page.entries.len())
}

fn log(agent: &str, turn: &str) -> Result<LogKey> {
    let base = SessionIdentity::builder(agent)
        .user_id(USER)
        .chat_name("rows")
        .build()?;
    let history = base.with_scope("chatHistory")?;
    let space = Space::of(DEFAULT_TENANT, &history);
    Ok(space.log(format!("turn/{turn}/events")))
}

async fn count_syncs(bench: &Bench, store: &str) {
    for (agent, work) in [(FAST, "W9 syncs (at once)"), (LIVE, "W9 syncs (live)")] {
        let row = Row {
            work,
            p: CHUNKS,
            unit: "syncs/stream",
            note: "all of the turn's; counted by strace",
        };
        let counted = syncs::each([1, 3], async |times| {
            let store = format!("{store}-{agent}-syncs-{times}");
            syncs::of_server(&store, async |served: &Arc<Served>| {
                for time in 0..times {
                    follow(served, agent, &format!("c{time}"), 1).await?;
                }
                Ok(())
            })
            .await
        });
        match counted.await {
            Ok(syncs) => bench.output.row(row, syncs),
            Err(error) => bench.output.missing(row, &error.to_string()),
        }
    }
}
