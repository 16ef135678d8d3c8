//! The table at the top of the page: Ambit and every peer at the works that say most.

use super::line::Lines;
use super::table::{Measured, Table};
use super::work::group;
use super::{targets, text};
use std::fmt::Write;

/// A row of the table: a work, its size where it has several, and Ambit's store.
struct Headline {
    what: &'static str,
    work: &'static str,
    size: Option<u64>,
    store: &'static str,
}

const fn on_sqlite(what: &'static str, work: &'static str, size: Option<u64>) -> Headline {
    Headline {
        what,
        work,
        size,
        store: "sqlite",
    }
}

const fn without_sync(what: &'static str, work: &'static str, size: Option<u64>) -> Headline {
    Headline {
        what,
        work,
        size,
        store: "sqlite NORMAL",
    }
}

const HEADLINES: &[Headline] = &[
    on_sqlite("append a turn", "W1 append only", Some(100)),
    on_sqlite(
        "load and append at 100 messages",
        "W1 turn (load last 10 + append)",
        Some(100),
    ),
    on_sqlite(
        "load and append at 5,000 messages",
        "W1 turn (load last 10 + append)",
        Some(5_000),
    ),
    on_sqlite("load 1,000 messages", "W2 load", Some(1_000)),
    on_sqlite(
        "list a user's chats among 10,000",
        "W3 list one user's sessions",
        Some(10_000),
    ),
    on_sqlite("memory: set", "W4 set", None),
    on_sqlite("memory: get", "W4 get", None),
    on_sqlite(
        "counted of 400 by 16 writers",
        "W4c 16 writers incr one key, counted",
        None,
    ),
    on_sqlite("16 writers, one chat", "W5 same session", None),
    on_sqlite("16 writers, a chat each", "W6 different sessions", Some(16)),
    without_sync(
        "load and append at 5,000 messages, not synced",
        "W1 turn (load last 10 + append)",
        Some(5_000),
    ),
    without_sync(
        "16 writers, a chat each, not synced",
        "W6 different sessions",
        Some(16),
    ),
    Headline {
        what: "hooks a CPU-second",
        work: "W7 hooks per CPU-second",
        size: None,
        store: "memory",
    },
    on_sqlite("whole turns, 16 clients", "W8 turns", Some(16)),
    Headline {
        what: "whole turns, 16 clients, in memory",
        work: "W8 turns",
        size: Some(16),
        store: "memory",
    },
];

impl Headline {
    fn find<'a>(&self, table: &'a Table) -> Option<&'a Measured> {
        table.0.iter().find(|row| {
            let line = &row.line;
            row.is_ours()
                && line.work == self.work
                && line.backend == self.store
                && line.place == "disk"
                && self.size.is_none_or(|size| size == line.p)
        })
    }
}

/// The table, and how many targets are met.
pub fn section(lines: &Lines, table: &Table) -> String {
    let rows: Vec<(&Headline, &Measured)> = HEADLINES
        .iter()
        .filter_map(|headline| Some((headline, headline.find(table)?)))
        .collect();
    let mut names: Vec<String> = Vec::new();
    for peer in rows.iter().flat_map(|(_, row)| table.peers(row)) {
        let name = text::name(&peer.line.peer);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_unstable();
    let mut out = String::from("\n## In short\n\n");
    if !rows.is_empty() {
        let mut columns = vec!["what", "Ambit:"];
        let others: Vec<String> = names.iter().map(|name| format!("{name}:")).collect();
        columns.extend(others.iter().map(String::as_str));
        columns.push("ratio to the best:");
        out += &text::head(&columns);
        for (headline, row) in rows {
            out += &summary_row(table, headline, row, &names);
        }
    }
    let (met, missed) = verdicts(table);
    let _ = write!(
        out,
        "\n{met} targets are met and {missed} are missed. On SQLite and the disk where nothing else is said. Of each framework \
         its best way is\nshown, and only on stores that promise what Ambit's does; servers are compared whole.\n"
    );
    out + &unjudged(lines)
}

/// That targets have no verdict, where peers are missing that they are set against.
fn unjudged(lines: &Lines) -> String {
    let peers = lines.uninstalled();
    if peers.is_empty() {
        return String::new();
    }
    let peers = text::cell(&peers.join(", "));
    format!(
        "\n**Not installed, and so not judged against: {peers}.** Targets against them have no verdict and are in neither number.\n"
    )
}

/// How many targets are met, and how many are not.
pub fn verdicts(table: &Table) -> (usize, usize) {
    let ours = table.0.iter().filter(|row| row.is_ours());
    let all: Vec<bool> = ours
        .flat_map(|row| targets::of(table, row))
        .map(|target| target.is_met())
        .collect();
    let met = all.iter().filter(|is_met| **is_met).count();
    (met, all.len() - met)
}

fn summary_row(table: &Table, headline: &Headline, row: &Measured, names: &[String]) -> String {
    let peers = table.peers(row);
    let what = format!("{} ({})", headline.what, group(headline.work));
    let mut cells = vec![what, format!("**{}**", row.figure())];
    for name in names {
        let peer = peers
            .iter()
            .find(|peer| text::name(&peer.line.peer) == *name);
        cells.push(peer.map_or("–".to_owned(), |peer| text::number(peer.median())));
    }
    let ratio = peers.first().map(|best| text::number(row.ratio(best)));
    cells.push(ratio.map_or("–".to_owned(), |ratio| ratio + " ×"));
    text::row(&cells)
}
