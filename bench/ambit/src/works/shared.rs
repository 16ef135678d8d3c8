//! W5: many writers on one conversation.

use super::{Bench, seed};
use crate::Result;
use crate::measure::{Row, WRITERS, pair, together};
use std::sync::Arc;

pub async fn run(bench: &Bench) -> Result<()> {
    let level = bench.level("w5")?;
    let session = seed(level.as_ref(), "shared", 0).await?;
    let each = bench.sizes.turns_each;
    let seconds = together(WRITERS, |_| {
        let (level, session) = (Arc::clone(&level), session.clone());
        async move {
            for turn in 0..each {
                level.load(&session, Some(10)).await?;
                level.append(&session, pair(turn)).await?;
            }
            Ok(())
        }
    })
    .await?;
    let turns = WRITERS * each;
    let row = Row {
        work: "W5 same session, survived",
        p: turns * 2,
        unit: "messages",
        note: "",
    };
    let kept = level.load(&session, None).await?;
    bench.output.row(row, kept as f64);
    let row = Row {
        work: "W5 same session",
        p: WRITERS,
        unit: "turns/s",
        note: "load last 10 + append",
    };
    bench.output.row(row, turns as f64 / seconds);
    Ok(())
}
