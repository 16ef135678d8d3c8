//! W3: listing one user's conversations among many, and starting one more.

use super::Bench;
use crate::Result;
use crate::level::Session;
use crate::measure::Row;

/// Conversations of one user.
const EACH: usize = 100;
const WORK: &str = "W3 list one user's sessions";
/// More conversations than this take minutes to make. They are made where an installation may come to have them, and on one level:
/// what a context adds to the driver does not depend on the conversations that nobody asks for.
const MANY: usize = 10_000;
const LARGE: &[&str] = &["sqlite", "postgres"];

pub async fn run(bench: &Bench) -> Result<()> {
    let is_bare = !bench.store.normal && !bench.store.contexts;
    for &count in bench.sizes.sessions {
        if count <= MANY || LARGE.contains(&bench.scheme()) && is_bare {
            among(bench, count).await?;
        } else {
            let row = Row {
                work: WORK,
                p: count,
                unit: "ms",
                note: "",
            };
            let why = "so many are made only in SQLite and PostgreSQL, by the bare driver";
            bench.output.missing(row, why);
        }
    }
    Ok(())
}

async fn among(bench: &Bench, count: usize) -> Result<()> {
    let level = bench.level(&format!("w3-{count}"))?;
    let users = (count / EACH).max(1);
    for from in (0..count).step_by(MANY) {
        let sessions: Vec<Session> = (from..count.min(from + MANY))
            .map(|number| Session::new(&format!("l{}", number % users), &format!("s{number}")))
            .collect();
        level.start_all(&sessions).await?;
    }
    let found = level.list("l7").await?;
    let row = Row {
        work: WORK,
        p: count,
        unit: "ms",
        note: &format!("{found} rows"),
    };
    let list = async |_| level.list("l7").await.map(drop);
    bench.output.median(row, 30, list).await?;
    let row = Row {
        work: "W3 register one more session",
        note: "",
        ..row
    };
    let start = async |number: usize| {
        let session = Session::new("newcomer", &format!("n{number}"));
        level.start(&session).await
    };
    bench.output.median(row, 30, start).await
}
