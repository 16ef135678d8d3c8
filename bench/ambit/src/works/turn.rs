//! W1: one turn's two messages, appended and committed.

use super::{Bench, recall, seed};
use crate::level::{Level, Session};
use crate::measure::{Row, WRITERS, median, pair, written};
use crate::{Result, syncs};

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
    let row = Row {
        work: "W1 append only",
        p: 0,
        unit: "ms/turn",
        note: "",
    };
    let lengths: Vec<usize> = histories.iter().map(|(length, _)| *length).collect();
    let append = async |which: usize, number| level.append(&histories[which].1, pair(number)).await;
    let (output, turns) = (&bench.output, bench.sizes.turns);
    output.medians(row, &lengths, turns, append).await?;
    // What goes to a server is not what the server writes.
    if EMBEDDED.contains(&bench.scheme()) {
        count_bytes(bench, level, histories).await?;
    }
    Ok(())
}

/// The bytes of such turns, which are not timed: to ask for them takes longer than a turn.
async fn count_bytes(
    bench: &Bench,
    level: &dyn Level,
    histories: &[(usize, Session)],
) -> Result<()> {
    let (mut all, turns) = (0.0, bench.sizes.turns);
    for (length, session) in histories {
        let mut each = Vec::with_capacity(turns);
        for number in 0..turns {
            let before = written();
            level.append(session, pair(number)).await?;
            each.extend(
                written()
                    .zip(before)
                    .map(|(now, then)| (now - then) as f64 / 1024.0),
            );
        }
        // Some systems do not say.
        if each.is_empty() {
            return Ok(());
        }
        all += each.iter().sum::<f64>();
        let row = Row {
            work: "W1 written by the process",
            p: *length,
            unit: "KB/turn",
            note: "of the usual turn",
        };
        bench.output.row(row, median(each));
    }
    let count = histories.len() * turns;
    let row = Row {
        work: "W1 written by the process, all turns",
        p: count,
        unit: "KB/turn",
        note: "of so many turns; over SQLite with what was copied from its log into the database meanwhile",
    };
    bench.output.row(row, all / count as f64);
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
