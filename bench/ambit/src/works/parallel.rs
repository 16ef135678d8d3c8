//! W6: many writers, each on a conversation of its own.

use super::{Bench, seed};
use crate::Result;
use crate::measure::{Row, WRITERS, pair, together};
use std::sync::Arc;

pub async fn run(bench: &Bench) -> Result<()> {
    for writers in [WRITERS, 4 * WRITERS] {
        let level = bench.level(&format!("w6-{writers}"))?;
        let mut sessions = Vec::new();
        for writer in 0..writers {
            sessions.push(seed(level.as_ref(), &format!("c{writer}"), 0).await?);
        }
        let each = bench.sizes.turns_each;
        let seconds = together(writers, |writer| {
            let (level, session) = (Arc::clone(&level), sessions[writer].clone());
            async move {
                for turn in 0..each {
                    level.load(&session, Some(10)).await?;
                    level.append(&session, pair(turn)).await?;
                }
                Ok(())
            }
        })
        .await?;
        let row = Row {
            work: "W6 different sessions",
            p: writers,
            unit: "turns/s",
            note: "load last 10 + append",
        };
        bench.output.row(row, (writers * each) as f64 / seconds);
    }
    Ok(())
}
