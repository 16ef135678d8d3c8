//! Sizes, messages, clocks and the form of a result.

use crate::Result;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::future::Future;
use std::time::Instant;

/// How much of everything.
pub struct Sizes {
    /// Messages that a conversation has before a turn.
    pub history: &'static [usize],
    /// Turns measured, at each length.
    pub turns: usize,
    /// Messages of the conversations that are loaded.
    pub loads: &'static [usize],
    /// Messages of the conversation whose end is loaded.
    pub long: usize,
    /// Conversations in the index.
    pub sessions: &'static [usize],
    /// Operations of each kind on memory.
    pub operations: usize,
    /// Items of the lists that are pushed onto.
    pub lists: &'static [usize],
    /// Turns of each of several writers.
    pub turns_each: usize,
    /// Tokens of each stream whose tokens are timed.
    pub tokens: usize,
    /// Chats of a person who has many.
    pub chats: usize,
    /// Entries of a store that has grown.
    pub entries: usize,
    /// Chunks of the indexes that are searched.
    pub chunks: &'static [usize],
}

/// Calls before those that are timed.
pub const UNCOUNTED: usize = 3;
/// Writers at once.
pub const WRITERS: usize = 16;
/// What each writer adds to one counter.
pub const ADDS: usize = 25;

impl Sizes {
    pub fn full() -> Self {
        Self {
            history: &[10, 100, 1_000, 5_000, 100_000],
            turns: 50,
            loads: &[100, 1_000],
            long: 100_000,
            sessions: &[10_000, 1_000_000],
            operations: 1_000,
            lists: &[10, 100_000],
            turns_each: 50,
            tokens: 200,
            chats: 100_000,
            entries: 1_000_000,
            chunks: &[1_000, 100_000],
        }
    }

    /// Streams that are followed, so that the processor's clock shows them: live ones take their time.
    pub fn streams(&self, is_live: bool, readers: usize) -> usize {
        let most = match (is_live, readers) {
            (true, _) => 2,
            (false, 1) => 20,
            (false, _) => 3,
        };
        most.min(self.operations / 50)
    }

    pub fn quick() -> Self {
        Self {
            history: &[10, 100],
            turns: 10,
            loads: &[100, 1_000],
            long: 1_000,
            sessions: &[1_000],
            operations: 100,
            lists: &[10, 1_000],
            turns_each: 5,
            tokens: 50,
            chats: 1_000,
            entries: 100_000,
            chunks: &[500, 2_000],
        }
    }
}

/// A result's name and size.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub work: &'a str,
    pub p: usize,
    pub unit: &'a str,
    pub note: &'a str,
}

/// Prints results.
pub struct Output {
    pub backend: String,
}

impl Output {
    pub fn row(&self, row: Row<'_>, value: f64) {
        self.row_of("ambit", row, value);
    }

    /// A result of somebody else's, measured beside ours.
    pub fn row_of(&self, peer: &str, row: Row<'_>, value: f64) {
        let line = json!({
            "peer": peer, "backend": self.backend, "work": row.work, "p": row.p,
            "v": value, "unit": row.unit, "note": row.note,
        });
        println!("{line}");
    }

    /// Says that there is no result, and why.
    pub fn missing(&self, row: Row<'_>, why: &str) {
        let line = json!({
            "peer": "ambit", "backend": self.backend, "work": row.work, "p": row.p,
            "v": null, "unit": row.unit, "note": why,
        });
        println!("{line}");
        eprintln!("{} is not measured: {why}", row.work);
    }

    /// Says how long a work has taken, with all that it prepares.
    pub fn spent(&self, work: &str, seconds: f64) {
        let spent = format!("Ambit on {}, {work}", self.backend);
        println!("{}", json!({"spent": spent, "seconds": seconds}));
    }

    /// Says that a work has failed.
    pub fn failure(&self, work: &str, why: &str) {
        let failed = format!("Ambit on {}, {work}", self.backend);
        eprintln!("{failed}: {why}");
        println!("{{\"failed\": {}, \"why\": {}}}", json!(failed), json!(why));
    }

    /// The median time of `times` calls in milliseconds, after some that are not counted.
    pub async fn median(
        &self,
        row: Row<'_>,
        times: usize,
        mut call: impl AsyncFnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let call = async move |_, number| call(number).await;
        self.medians(row, &[row.p], times, call).await
    }

    /// The same for several sizes, each with a row of its own, whose calls take turns: what the machine does meanwhile befalls each of
    /// them. A call is told which of the sizes it is for, and its number.
    pub async fn medians(
        &self,
        row: Row<'_>,
        sizes: &[usize],
        times: usize,
        mut call: impl AsyncFnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let mut spent = vec![Vec::with_capacity(times); sizes.len()];
        for number in 0..UNCOUNTED + times {
            for (which, spent) in spent.iter_mut().enumerate() {
                let start = Instant::now();
                call(which, number).await?;
                let took = start.elapsed().as_secs_f64() * 1e3;
                spent.extend((number >= UNCOUNTED).then_some(took));
            }
        }
        for (p, spent) in sizes.iter().zip(spent) {
            self.row(Row { p: *p, ..row }, median(spent));
        }
        Ok(())
    }

    /// How many calls a second one caller makes.
    pub async fn rate(
        &self,
        row: Row<'_>,
        mut call: impl AsyncFnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let start = Instant::now();
        for number in 0..row.p {
            call(number).await?;
        }
        self.row(row, row.p as f64 / start.elapsed().as_secs_f64());
        Ok(())
    }
}

/// The middle value.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The value that so many of a hundred do not exceed.
pub fn percentile(mut values: Vec<f64>, hundredth: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() * hundredth).div_ceil(100).max(1) - 1;
    values.get(at).copied().unwrap_or(f64::NAN)
}

/// Runs callers at once; the seconds until the last has ended.
pub async fn together<F>(callers: usize, call: impl Fn(usize) -> F) -> Result<f64>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let start = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|number| tokio::spawn(call(number)))
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Processor time of this process and all its threads.
pub fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Bytes that this process has written so far; `None` where the system does not say.
pub fn written() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
}

/// The two messages of a turn, about 300 bytes each.
pub fn pair(turn: usize) -> Vec<String> {
    ["user", "assistant"]
        .iter()
        .map(|role| json!({"role": role, "content": text(turn)}).to_string())
        .collect()
}

/// What one of them says.
pub fn text(turn: usize) -> String {
    const WORDS: [&str; 8] = [
        "alpha", "bravo", "order", "refund", "ticket", "please", "status", "invoice",
    ];
    let mut text = turn.to_string();
    let mut next = turn;
    while text.len() < 295 {
        text.push(' ');
        text.push_str(WORDS[next % WORDS.len()]);
        next = next.wrapping_mul(31).wrapping_add(7);
    }
    text.truncate(295);
    text
}
