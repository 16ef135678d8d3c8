//! W8: whole turns of existing chats through the server. Both hooks, the model's answer, the stream to its end, everything stored.

mod counts;

use super::Bench;
use crate::measure::{Row, median, percentile, together};
use crate::served::Served;
use crate::{Result, app, syncs};
use std::sync::{Arc, Mutex, PoisonError};

/// Clients at once.
const CLIENTS: [usize; 3] = [1, 16, 64];
/// Turns of one chat, as of the peers': then another one follows.
const CHAT: usize = 20;
/// Turns over PostgreSQL, in tenths of those over other stores: they take long, and peers make no more.
const ON_POSTGRES: usize = 3;

/// Turns of clients at once, each in chats of its own.
#[derive(Clone)]
pub struct ClientTurns {
    /// What sets their chats apart.
    pub name: String,
    pub clients: usize,
    /// Turns of each client.
    pub each: usize,
    /// Turns of one chat.
    pub of_a_chat: usize,
}

impl ClientTurns {
    pub fn new(name: &str, clients: usize, each: usize) -> Self {
        Self {
            name: name.to_owned(),
            clients,
            each,
            of_a_chat: CHAT,
        }
    }

    /// The first turn of each of their chats, which makes it.
    fn first(&self) -> Self {
        Self {
            each: self.each.div_ceil(self.of_a_chat),
            of_a_chat: 1,
            ..self.clone()
        }
    }
}

pub async fn run(bench: &Bench) -> Result<()> {
    let Some(store) = bench.served_or_shared("w8") else {
        return Ok(());
    };
    let all = match bench.scheme() {
        "postgres" => bench.sizes.operations * ON_POSTGRES / 10,
        _ => bench.sizes.operations,
    };
    let served = Arc::new(Served::start(&store).await?);
    for clients in CLIENTS {
        let name = format!("{}-{clients}", bench.run);
        let load = ClientTurns::new(&name, clients, all.div_ceil(clients));
        turns(&served, &load.first()).await?;
        let (cpu, start) = (served.clock()?, std::time::Instant::now());
        let spent = turns(&served, &load).await?;
        let seconds = start.elapsed().as_secs_f64();
        let count = (clients * load.each) as f64;
        let cpu = served.spent(&cpu)? * 1e3 / count;
        let row = |work, unit| Row {
            work,
            p: clients,
            unit,
            note: "two hooks, existing chats, scripted model, SSE; client and server on this machine",
        };
        let output = &bench.output;
        output.row(row("W8 turns", "turns/s"), count / seconds);
        output.row(row("W8 turn, p50", "ms"), median(spent.clone()));
        output.row(row("W8 turn, p99", "ms"), percentile(spent, 99));
        output.row(row("W8 server's CPU", "ms/turn"), cpu);
    }
    let served = Arc::into_inner(served).ok_or("the server is still in use")?;
    served.stop().await?;
    if bench.scheme() == "sqlite" {
        count_syncs(bench, &store).await;
        counts::run(bench, &format!("{store}-counts")).await?;
    }
    Ok(())
}

/// Makes them: how long each took, in milliseconds.
pub async fn turns(served: &Arc<Served>, load: &ClientTurns) -> Result<Vec<f64>> {
    let spent = Arc::new(Mutex::new(Vec::with_capacity(load.clients * load.each)));
    together(load.clients, |number| {
        let (served, spent, load) = (Arc::clone(served), Arc::clone(&spent), load.clone());
        async move {
            let mut client = served.client().await?;
            let mut own = Vec::with_capacity(load.each);
            for turn in 0..load.each {
                let chat = format!("{}-{number}-{}", load.name, turn / load.of_a_chat);
                let text = crate::measure::text(turn);
                let request = app::request(app::CLERK, &chat, "standard", &text);
                let start = std::time::Instant::now();
                let answer = client.turn(&request).await?;
                own.push(start.elapsed().as_secs_f64() * 1e3);
                check(&answer)?;
            }
            spent
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(own);
            Ok(())
        }
    })
    .await?;
    let mut spent = spent.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *spent))
}

/// Whether a stream is that of a turn that went well.
pub fn check(answer: &str) -> Result<()> {
    let is_whole = answer.ends_with("data: [DONE]\n\n");
    if is_whole && answer.contains(r#""finish_reason":"stop""#) {
        return Ok(());
    }
    Err(format!("a turn did not end as it should: {answer}").into())
}

async fn count_syncs(bench: &Bench, store: &str) {
    let row = Row {
        work: "W8 syncs",
        p: 1,
        unit: "syncs/turn",
        note: "with two durable writes to memory by the hook; counted by strace",
    };
    let counted = syncs::each([5, 25], async |times| {
        // A file of its own for each run, beside the store's.
        let store = format!("{store}-syncs-{times}");
        let load = ClientTurns {
            of_a_chat: times,
            ..ClientTurns::new("s", 1, times)
        };
        syncs::of_server(&store, async |served: &Arc<Served>| {
            turns(served, &load).await.map(drop)
        })
        .await
    });
    match counted.await {
        Ok(syncs) => bench.output.row(row, syncs),
        Err(error) => bench.output.missing(row, &error.to_string()),
    }
}
