//! The log of the whole process at every level, through the server's own filter.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Keep;

impl io::Write for Keep {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes).into_owned();
        let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Begins to collect.
pub fn collect() {
    let lines = tracing_subscriber::fmt::layer();
    let lines = lines.with_ansi(false).with_writer(|| Keep);
    let lines = lines.with_filter(ambit::log::filter("trace").unwrap());
    tracing_subscriber::registry().with(lines).init();
}

/// The levels of all lines so far.
pub fn heard() -> BTreeSet<String> {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    let level = |line: &String| line.split_whitespace().nth(1).map(str::to_owned);
    lines.iter().filter_map(level).collect()
}

/// The lines that hold this text.
pub fn with(text: &str) -> Vec<String> {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    let found = lines.iter().filter(|line| line.contains(text));
    found.cloned().collect()
}
