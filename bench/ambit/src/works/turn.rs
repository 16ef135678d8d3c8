//! W1: one turn's two messages, appended and committed.

use super::{Bench, recall, seed};
use crate::level::{Level, Session};
use crate::measure::{Row, UNCOUNTED, WRITERS, median, pair, written};
use crate::{Result, syncs};
use std::time::Instant;

/// Longer histories are not loaded whole for a turn, by nobody.
const WHOLE: usize = 5_000;

/// Stores that this process itself writes and syncs.
const EMBEDDED: &[&str] = &["sqlite", "file"];

pub async fn run(bench: &Bench) -> Result<()> {
    let level = bench.level("w1")?;
    let mut histories = Vec::new();
    for &length in bench.sizes.history {
        let session = seed(level.as_ref(), &format!("c{length}"), length).await?;
        histories.push((length, session));
    }
    append(bench, level.as_ref(), &histories).await?;
    for (length, session) in &histories {
        turn(bench, level.as_ref(), session, *length).await?;
    }
    if bench.store.contexts {
        recall::run(bench).await?;
    }
    if EMBEDDED.contains(&bench.scheme()) {
        for writers in [1, WRITERS] {
            count_syncs(bench, writers);
        }
    }
    Ok(())
}

/// Appends to all histories in turn: what the machine does meanwhile befalls each of them.
async fn append(bench: &Bench, level: &dyn Level, histories: &[(usize, Session)]) -> Result<()> {
    let mut all = vec![(Vec::new(), Vec::new()); histories.len()];
    for number in 0..UNCOUNTED + bench.sizes.turns {
        for ((_, session), (spent, bytes)) in histories.iter().zip(&mut all) {
            let (before, start) = (written(), Instant::now());
            level.append(session, pair(number)).await?;
            let took = start.elapsed().as_secs_f64() * 1e3;
            if number >= UNCOUNTED {
                spent.push(took);
                bytes.extend(written().zip(before).map(|(now, then)| (now - then) as f64));
            }
        }
    }
    for ((length, _), (spent, bytes)) in histories.iter().zip(all) {
        let row = |work, unit, note| Row {
            work,
            p: *length,
            unit,
            note,
        };
        let output = &bench.output;
        output.row(row("W1 append only", "ms/turn", ""), median(spent));
        // What goes to a server is not what the server writes.
        if EMBEDDED.contains(&bench.scheme()) && !bytes.is_empty() {
            let note = "the usual turn; every some hundred turns the log is copied into the database besides";
            let row = row("W1 written by the process", "KB/turn", note);
            output.row(row, median(bytes) / 1024.0);
        }
    }
    Ok(())
}

async fn turn(bench: &Bench, level: &dyn Level, session: &Session, length: usize) -> Result<()> {
    let ways = [
        ("W1 turn (load last 10 + append)", Some(10)),
        ("W1 turn (load all + append)", None),
    ];
    for (work, last) in ways {
        if last.is_none() && length > WHOLE {
            continue;
        }
        let row = Row {
            work,
            p: length,
            unit: "ms/turn",
            note: "",
        };
        let turn = async |number| {
            level.load(session, last).await?;
            level.append(session, pair(number)).await
        };
        bench.output.median(row, bench.sizes.turns, turn).await?;
    }
    Ok(())
}

fn count_syncs(bench: &Bench, writers: usize) {
    let row = Row {
        work: "W1 syncs",
        p: writers,
        unit: "syncs/turn",
        note: "writers at once; counted by strace",
    };
    match syncs::a_turn(&bench.store, writers) {
        Ok(syncs) => bench.output.row(row, syncs),
        Err(error) => bench.output.missing(row, &error.to_string()),
    }
}
