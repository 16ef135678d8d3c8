//! W8: whole turns through the server. The hook of W7, the model's answer, the stream to its end, everything stored.

use super::Bench;
use crate::measure::{Row, median, percentile, together};
use crate::served::Served;
use crate::{Result, app, syncs};
use std::sync::{Arc, Mutex, PoisonError};

/// Clients at once.
const CLIENTS: [usize; 3] = [1, 16, 64];
/// Turns of each client that are not counted.
const BEFORE: usize = 5;
/// Turns of one chat, as of the peers': then a new one begins.
const CHAT: usize = 20;

pub async fn run(bench: &Bench) -> Result<()> {
    let Some(store) = bench.served("w8") else {
        return Ok(());
    };
    let served = Arc::new(Served::start(&store).await?);
    for clients in CLIENTS {
        let each = bench.sizes.operations.div_ceil(clients);
        turns(&served, &format!("b{clients}"), clients, BEFORE).await?;
        let (cpu, start) = (served.clock()?, std::time::Instant::now());
        let spent = turns(&served, &format!("c{clients}"), clients, each).await?;
        let seconds = start.elapsed().as_secs_f64();
        let count = (clients * each) as f64;
        let cpu = served.spent(&cpu)? * 1e3 / count;
        let row = |work, unit| Row {
            work,
            p: clients,
            unit,
            note: "hook, scripted model, SSE; client and server on this machine",
        };
        let output = &bench.output;
        output.row(row("W8 turns", "turns/s"), count / seconds);
        output.row(row("W8 turn, p50", "ms"), median(spent.clone()));
        output.row(row("W8 turn, p99", "ms"), percentile(spent, 99));
        output.row(row("W8 server's CPU", "ms/turn"), cpu);
    }
    if bench.scheme() == "sqlite" {
        count_syncs(bench, &store).await;
    }
    Ok(())
}

/// Turns of so many clients, each with chats of its own: how long each took, in milliseconds.
pub async fn turns(
    served: &Arc<Served>,
    name: &str,
    clients: usize,
    each: usize,
) -> Result<Vec<f64>> {
    let spent = Arc::new(Mutex::new(Vec::with_capacity(clients * each)));
    together(clients, |number| {
        let (served, spent) = (Arc::clone(served), Arc::clone(&spent));
        let name = format!("{name}-{number}");
        async move {
            let mut client = served.client().await?;
            let mut own = Vec::with_capacity(each);
            for turn in 0..each {
                let chat = format!("{name}-{}", turn / CHAT);
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
        syncs::of_server(&store, async |served: &Arc<Served>| {
            turns(served, "s", 1, times).await.map(drop)
        })
        .await
    });
    match counted.await {
        Ok(syncs) => bench.output.row(row, syncs),
        Err(error) => bench.output.missing(row, &error.to_string()),
    }
}
