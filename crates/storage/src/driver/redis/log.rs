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

async fn read_step(server: &RedisServer, log: &LogKey, range: LogRange) -> Result<LogPage> {
    let words = [
        log.space.digest(),
        log.name.clone(),
        range.from.to_string(),
        range.limit.min(STEP).to_string(),
        match range.direction {
            Direction::Forward => "f",
            Direction::Backward => "b",
        }
        .to_owned(),
    ];
    let mut texts: std::vec::IntoIter<String> = server
        .read::<Vec<String>>(&server.scripts.read, &words)
        .await?
        .into_iter();
    let Some(head) = texts.next() else {
        return Ok(LogPage::default());
    };
    let head = parse_head(&head, log)?;
    let first = match range.direction {
        Direction::Forward => range.from.max(1),
        Direction::Backward => range.from.min(head.last),
    };
    let entry = |(place, text): (u64, String)| {
        let seq = match range.direction {
            Direction::Forward => first + place,
            Direction::Backward => first - place,
        };
        parse_entry(seq, &text).ok_or_else(|| {
            Error::corrupt(
                format!("{log} entry {seq}"),
                "it has not the form of an entry",
            )
        })
    };
    Ok(LogPage {
        head: Some(head),
        entries: (0..).zip(texts).map(entry).collect::<Result<_>>()?,
        stale_possible: false,
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
