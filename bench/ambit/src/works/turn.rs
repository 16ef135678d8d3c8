//! W1: one turn's two messages, appended and committed.

use super::{Bench, recall, seed};
use crate::level::{Level, Session};
use crate::measure::{Row, WRITERS, pair, written};
use crate::{Result, syncs};

/// Longer histories are not loaded whole for a turn, by nobody.
const WHOLE: usize = 5_000;

/// Stores that this process itself writes and syncs.
const EMBEDDED: &[&str] = &["sqlite", "file"];

pub async fn run(bench: &Bench) -> Result<()> {
    let level = bench.level("w1")?;
    for &length in bench.sizes.history {
        let session = seed(level.as_ref(), &format!("c{length}"), length).await?;
        append(bench, level.as_ref(), &session, length).await?;
        turn(bench, level.as_ref(), &session, length).await?;
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

async fn append(bench: &Bench, level: &dyn Level, session: &Session, length: usize) -> Result<()> {
    let row = Row {
        work: "W1 append only",
        p: length,
        unit: "ms/turn",
        note: "",
    };
    let before = written();
    let append = async |number| level.append(session, pair(number)).await;
    bench.output.median(row, bench.sizes.turns, append).await?;
    // What goes to a server is not what the server writes.
    let is_embedded = EMBEDDED.contains(&bench.scheme());
    if let (true, Some(before), Some(after)) = (is_embedded, before, written()) {
        // Three more turns than are timed.
        let each = (after - before) as f64 / 1024.0 / (bench.sizes.turns + 3) as f64;
        let row = Row {
            work: "W1 written by the process",
            unit: "KB/turn",
            ..row
        };
        bench.output.row(row, each);
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
