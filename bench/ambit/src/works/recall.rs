//! W1 with recall in use: turns of a person who searches their conversations, and of others while an index of them is written.

use super::{Bench, seed_with};
use crate::Result;
use crate::level::{self, Level, Session};
use crate::measure::{Row, median, text};
use ambit_runtime::chats::{ChatFilter, PageWindow};
use ambit_runtime::recall::{RecallSettings, SessionSearch, search_sessions};
use ambit_runtime::{Authorized, DataConstraints};
use ambit_storage::Ambit;
use serde_json::json;
use std::time::Instant;

/// Messages of the conversation whose turns are timed, as W1 without recall has them too.
const LENGTH: usize = 100;
/// Words of the messages.
const WORDS: &str = "refund ticket";

pub async fn run(bench: &Bench) -> Result<()> {
    let level = bench.level("recall")?;
    let search = RecallSearch::new(bench)?;
    own_turns(bench, level.as_ref(), &search).await?;
    turns_of_others(bench, level.as_ref(), search).await
}

/// A person who searches their conversations.
struct RecallSearch {
    ambit: Ambit,
    who: Authorized,
}

impl RecallSearch {
    fn new(bench: &Bench) -> Result<Self> {
        let who = Authorized {
            tenant_id: Some(bench.tenant("recall")),
            user_id: Some("user".to_owned()),
            constraints: DataConstraints {
                owner_only: true,
                ..DataConstraints::default()
            },
            ..Authorized::default()
        };
        Ok(Self {
            ambit: level::installation(bench.driver.clone())?,
            who,
        })
    }

    /// Searches for what all conversations have.
    async fn find(&self) -> Result<()> {
        let (settings, filter) = (RecallSettings::default(), ChatFilter::default());
        let search = SessionSearch {
            text: WORDS,
            filter: &filter,
            window: PageWindow { skip: 0, limit: 10 },
        };
        let found = search_sessions(&self.ambit, &self.who, &settings, search).await?;
        match found.total {
            0 => Err(format!("no conversation with \"{WORDS}\" was found").into()),
            _ => Ok(()),
        }
    }
}

/// The two messages of a turn, as the index of what was said reads them.
fn said(turn: usize) -> Vec<String> {
    let said = |role: &&str| json!({"role": role, "parts": [{"type": "text", "text": text(turn)}]});
    let messages = ["user", "assistant"];
    messages.iter().map(|role| said(role).to_string()).collect()
}

/// Turns, with a search before each that takes in what the last ones have said. Between them are turns of somebody who does not
/// search, behind a pause as long: whoever comes right behind another turn finds everything awake.
async fn own_turns(bench: &Bench, level: &dyn Level, search: &RecallSearch) -> Result<()> {
    let session = seed_with(level, Session::new("user", "short"), LENGTH, said).await?;
    let other = seed_with(level, Session::new("quiet", "quiet"), LENGTH, said).await?;
    let [mut searched, mut paused] = [const { Vec::new() }; 2];
    for number in 0..bench.sizes.turns {
        let start = Instant::now();
        search.find().await?;
        let found = start.elapsed();
        searched.push(append(level, &session, number).await?);
        // A timer of tokio's is a millisecond late.
        std::thread::sleep(found);
        paused.push(append(level, &other, number).await?);
    }
    let row = |work, note| Row {
        work,
        p: LENGTH,
        unit: "ms/turn",
        note,
    };
    let note = "behind a search of the person's conversations, each time";
    let output = &bench.output;
    output.row(row("W1 with recall: append only", note), median(searched));
    let note = "in the same run, each behind a pause as long as the search";
    output.row(row("W1 behind a pause: append only", note), median(paused));
    Ok(())
}

/// Appends what a turn says; the milliseconds that it took.
async fn append(level: &dyn Level, session: &Session, number: usize) -> Result<f64> {
    let start = Instant::now();
    level.append(session, said(number)).await?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// Turns of somebody else while the words of a long conversation come into its person's index.
async fn turns_of_others(bench: &Bench, level: &dyn Level, search: RecallSearch) -> Result<()> {
    let length = 10 * bench.sizes.operations;
    seed_with(level, Session::new("user", "long"), length, said).await?;
    let other = Session::new("other", "other");
    level.start(&other).await?;
    level.append(&other, said(0)).await?;
    let searching = tokio::spawn(async move { search.find().await });
    let (mut longest, mut number) = (0.0_f64, 0);
    while !searching.is_finished() {
        number += 1;
        let start = Instant::now();
        level.append(&other, said(number)).await?;
        longest = longest.max(start.elapsed().as_secs_f64() * 1e3);
    }
    searching.await??;
    let note = format!("of {number} turns, while so many messages of another person are indexed");
    let row = Row {
        work: "W1 with recall: longest turn of others",
        p: length,
        unit: "ms",
        note: &note,
    };
    bench.output.row(row, longest);
    Ok(())
}
