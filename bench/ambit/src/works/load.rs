//! W2: loading a conversation, and the end of a short one and of a long one.

use super::{Bench, seed};
use crate::Result;
use crate::level::{Level, Session};
use crate::measure::Row;
use std::sync::Arc;

/// Loads of the end of a conversation, which take microseconds.
const TAILS: usize = 100;

pub async fn run(bench: &Bench) -> Result<()> {
    let level = bench.level("w2")?;
    let mut longest = None;
    for &length in bench.sizes.loads {
        let session = seed(level.as_ref(), &format!("c{length}"), length).await?;
        let row = Row {
            work: "W2 load",
            p: length,
            unit: "ms",
            note: "as JSON text",
        };
        let load = async |_| expect(level.load(&session, None).await?, length);
        bench.output.median(row, 30, load).await?;
        longest = Some((length, Arc::clone(&level), session));
    }
    let length = bench.sizes.long;
    // W1 has made one, where it has run.
    let level = bench.level("w1")?;
    let mut session = Session::new("user", &format!("c{length}"));
    if level.load(&session, Some(1)).await? == 0 {
        session = seed(level.as_ref(), &format!("c{length}"), length).await?;
    }
    let ends: Vec<_> = longest
        .into_iter()
        .chain([(length, level, session)])
        .collect();
    load_ends(bench, &ends).await
}

/// Loads of the last messages of conversations, each of this length.
async fn load_ends(bench: &Bench, all: &[(usize, Arc<dyn Level>, Session)]) -> Result<()> {
    let lengths: Vec<usize> = all.iter().map(|(length, ..)| *length).collect();
    for last in [10, 50] {
        let row = Row {
            work: &format!("W2 load last {last}"),
            p: 0,
            unit: "ms",
            note: "as JSON text",
        };
        let load = async |which: usize, _| {
            let (_, level, session) = &all[which];
            expect(level.load(session, Some(last)).await?, last)
        };
        bench.output.medians(row, &lengths, TAILS, load).await?;
    }
    Ok(())
}

fn expect(found: usize, wanted: usize) -> Result<()> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{found} messages were loaded instead of {wanted}").into())
    }
}
