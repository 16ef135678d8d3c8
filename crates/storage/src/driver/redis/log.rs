//! Logs: how an entry is stored, and reading in steps, so that a long read holds nobody up.

use super::server::RedisServer;
use crate::address::LogKey;
use crate::batch::{Head, LogEntry};
use crate::driver::{Direction, LogPage, LogRange};
use crate::json::Json;
use crate::{Error, Result};

/// So many entries are read in one step.
const STEP: usize = 1_000;

pub fn parse_head(text: &str, log: &LogKey) -> Result<Head> {
    let read = || {
        let (generation, last) = text.split_once(' ')?;
        Some(Head::new(generation.parse().ok()?, last.parse().ok()?))
    };
    read().ok_or_else(|| Error::corrupt(log.to_string(), format!("its head is \"{text}\"")))
}

/// A head as stored; nothing where there is no log.
pub fn head_text(head: Option<Head>) -> String {
    head.map_or_else(String::new, |head| {
        format!("{} {}", head.generation, head.last)
    })
}

/// Part of a log. If it is cleared between two steps, reading starts anew.
pub async fn read(server: &RedisServer, log: &LogKey, range: LogRange) -> Result<LogPage> {
    loop {
        if let Some(page) = read_once(server, log, range).await? {
            return Ok(page);
        }
    }
}

async fn read_once(server: &RedisServer, log: &LogKey, range: LogRange) -> Result<Option<LogPage>> {
    let mut page = read_step(server, log, range).await?;
    let Some(head) = page.head else {
        return Ok(Some(page));
    };
    while page.entries.len() < range.limit {
        let Some(from) = following(&page.entries, head, range.direction) else {
            break;
        };
        let rest = LogRange {
            from,
            limit: range.limit - page.entries.len(),
            direction: range.direction,
        };
        let step = read_step(server, log, rest).await?;
        if step.head.map(|head| head.generation) != Some(head.generation) {
            return Ok(None);
        }
        let known = step
            .entries
            .into_iter()
            .filter(|entry| entry.seq <= head.last);
        page.entries.extend(known);
    }
    Ok(Some(page))
}

/// Where to read on; `None` at the end of the log that was first seen.
fn following(entries: &[LogEntry], head: Head, direction: Direction) -> Option<u64> {
    let last = entries.last()?.seq;
    match direction {
        Direction::Forward => Some(last + 1).filter(|next| *next <= head.last),
        Direction::Backward => Some(last - 1).filter(|next| *next > 0),
    }
}

/// One step. Head and entries are read by two plain commands at one moment: a script takes three times as long for the
/// same, because it makes texts of its own of all entries.
async fn read_step(server: &RedisServer, log: &LogKey, range: LogRange) -> Result<LogPage> {
    let (first, last) = window(range);
    let mut commands = redis::pipe();
    commands.atomic();
    commands.hget(server.key_of("g", &log.space.digest()), &log.name);
    let entries = entries_key(server, log);
    commands.cmd("LRANGE").arg(entries).arg(first).arg(last);
    let (head, texts): (Option<String>, Vec<String>) = server.ask_all(&commands).await?;
    let Some(head) = head else {
        return Ok(LogPage::default());
    };
    let head = parse_head(&head, log)?;
    let entries: Result<Vec<LogEntry>> = match range.direction {
        Direction::Forward => {
            let first = range.from.max(1);
            let placed = (0..).zip(texts);
            placed
                .map(|(place, text)| entry(log, first + place, &text))
                .collect()
        }
        Direction::Backward if range.from != u64::MAX && range.from > head.last => {
            // The window was behind the end.
            let from = head.last;
            return Box::pin(read_step(server, log, LogRange { from, ..range })).await;
        }
        Direction::Backward => {
            let numbered = (1..=range.from.min(head.last)).rev();
            let numbered = numbered.zip(texts.into_iter().rev());
            numbered.map(|(seq, text)| entry(log, seq, &text)).collect()
        }
    };
    Ok(LogPage {
        head: Some(head),
        entries: entries?,
        stale_possible: false,
    })
}

/// The places of the entries of one step, first and last, as a list of Redis counts them.
fn window(range: LogRange) -> (i64, i64) {
    let limit = range.limit.min(STEP) as i64;
    if limit == 0 {
        return (1, 0);
    }
    let from = i64::try_from(range.from).unwrap_or(i64::MAX);
    match range.direction {
        Direction::Forward => {
            let first = from.max(1) - 1;
            (first, first.saturating_add(limit - 1))
        }
        Direction::Backward if range.from == u64::MAX => (-limit, -1),
        Direction::Backward if from == 0 => (1, 0),
        Direction::Backward => ((from - limit).max(0), from - 1),
    }
}

/// The list of a log's entries.
fn entries_key(server: &RedisServer, log: &LogKey) -> String {
    let name = sha1_smol::Sha1::from(&log.name).digest();
    server.key_of("e", &format!("{}:{name}", log.space.digest()))
}

fn entry(log: &LogKey, seq: u64, text: &str) -> Result<LogEntry> {
    parse_entry(seq, text).ok_or_else(|| {
        let place = format!("{log} entry {seq}");
        Error::corrupt(place, "it has not the form of an entry")
    })
}

/// An entry is stored as its time, the length of its id, its id and its body.
fn parse_entry(seq: u64, text: &str) -> Option<LogEntry> {
    let (at, rest) = text.split_once(' ')?;
    let (size, rest) = rest.split_once(' ')?;
    let (id, body) = rest.split_at_checked(size.parse().ok()?)?;
    Some(LogEntry {
        seq,
        id: id.to_owned(),
        at: at.parse().ok()?,
        body: Json::stored(body),
    })
}
