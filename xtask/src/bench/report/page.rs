//! The page that is made of a run's lines.

use super::line::{FailureLine, Lines};
use super::plot::Chart;
use super::reasons::Loss;
use super::table::{Measured, Table};
use super::work::{group, number, way};
use super::{reasons, summary, targets, text};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What each work is.
const WORKS: &[(&str, &str)] = &[
    (
        "W1",
        "one turn's two messages, about 300 bytes each, appended and committed; the size is the messages of history",
    ),
    ("W2", "loading a conversation; the size is its messages"),
    (
        "W3",
        "listing one user's 100 conversations, starting one more; the size is all conversations",
    ),
    (
        "W4",
        "memory; the size is the operations, or the items of the list",
    ),
    (
        "W5",
        "16 writers on one conversation; what is there at the end, and turns a second",
    ),
    (
        "W6",
        "writers on conversations of their own; the size is the writers",
    ),
    (
        "W7",
        "a hook in a fresh runtime: 3 calls of memory, 1 trace node, 2 log lines, 10 messages in and out",
    ),
    (
        "W8",
        "whole turns of existing chats; the size is the clients at once. Ambit's go through HTTP, with both hooks, stored and streamed. What is counted of the store is a turn's in process",
    ),
    ("W9", "a stream of 2,000 chunks; the size is its readers"),
    (
        "W10",
        "the server as a process; the size is the turns it has made",
    ),
    ("W11", "turns that each wait 50 ms in a tool, all at once"),
    (
        "W12",
        "a model's query from a hook, against the bare driver",
    ),
    (
        "W13",
        "indexing texts of 150 words, beside SQLite's own full-text search, and with vectors of 384 numbers, which cost nothing to make; the size is the chunks",
    ),
    (
        "W14",
        "searching by words, by vectors and by both; the size is the chunks. FTS5 is asked for any of the same words, ranked by its `bm25()`",
    ),
    (
        "W15",
        "a provider's token on its way to the client; the size is the streams",
    ),
    (
        "W16",
        "the first minutes with the sources: a fresh clone until it answers, and an edit of the runtime until it answers again, as `cargo run --release` builds them",
    ),
    (
        "W17",
        "what has grown: a chat, a person's chats, a store. Turns in process, without HTTP; and how long a small write waits for upkeep",
    ),
    (
        "W18",
        "whole turns in process, without HTTP, kept to so many cores; the size is the cores. [scale.md](scale.md) says what it means",
    ),
    (
        "W19",
        "whole turns of several nodes on one PostgreSQL; the size is the nodes",
    ),
];

const BEFORE: &str = "\
<!-- Made by `cargo xtask bench` from benchmarks/results.jsonl. What is written here by hand is lost. -->

# Benchmarks

Ambit and other frameworks, doing the same work in the same run on the same machine. Figures are FIGURES;
ratios say how many times better Ambit is than the best peer whose store promises the same. An absolute time says little
about another machine, so that every target is a ratio, a count or a budget for a machine of this size.

What the works are on the side of the peers, and what to know before believing a figure, is written in
[bench/peers](../bench/peers/README.md).
";

/// What no line says of the works that not every store has.
const STORES: &str = "\
Servers (W8 to W11, W15) are measured over memory and over SQLite whose commits are synced, W8 and W15 over PostgreSQL too; hooks (W7)
over memory, models (W12) on SQLite and PostgreSQL, indexes (W13, W14) below contexts and not over files, growth (W17) on SQLite, cores (W18) over
memory and SQLite, nodes (W19) on PostgreSQL.
";

/// The whole page.
pub fn page(lines: &Lines, table: &Table, charts: &[Chart]) -> String {
    let mut page = BEFORE.replace("FIGURES", figures(lines));
    page += &summary::section(lines, table);
    for chart in charts {
        let _ = write!(
            page,
            "\n![{}](benchmarks/{}.svg)\n",
            chart.title, chart.file
        );
    }
    page += &losses(table);
    page += &works(table);
    page += &absent(lines);
    page += &about(lines);
    page + &repeat(lines)
}

/// What the figures are, where the run says how many rounds it had.
fn figures(lines: &Lines) -> &'static str {
    let rounds = lines.facts.iter().find(|fact| fact.fact == "rounds");
    match rounds {
        Some(rounds) if rounds.value == "1" => "those of one round",
        _ => "medians over the rounds",
    }
}

/// Rows that miss a target, and rows where a peer is better.
fn losses(table: &Table) -> String {
    let mut rows = String::new();
    let columns = [
        "work",
        "size",
        "store",
        "Ambit:",
        "best peer:",
        "target",
        "why",
    ];
    for row in table.0.iter().filter(|row| row.is_ours()) {
        let missed: Vec<String> = missed(table, row);
        let better = table.best_peer(row).filter(|peer| row.ratio(peer) < 1.0);
        if missed.is_empty() && better.is_none() {
            continue;
        }
        let why = reasons::of(&Loss {
            table,
            row,
            missed: &missed,
            better,
        });
        let line = &row.line;
        let peer = better.map(|peer| format!("{} {}", text::name(&peer.line.peer), peer.figure()));
        rows += &text::row(&[
            line.work.clone(),
            text::count(line.p),
            store(row),
            row.figure(),
            peer.unwrap_or_default(),
            missed.join("; "),
            why,
        ]);
    }
    let table = if rows.is_empty() {
        "Nothing: every target is met, and no peer is better at what was measured.\n".to_owned()
    } else {
        text::head(&columns) + &rows
    };
    format!(
        "\n## What we lose\n\nEvery row that misses its target, and every row where a peer is better. Where the last column is empty, \
         nothing that was measured\nexplains it; figures in it are of this run, those of a profile of its day.\n\n{table}"
    )
}

fn missed(table: &Table, row: &Measured) -> Vec<String> {
    let targets = targets::of(table, row).into_iter();
    let missed = targets.filter(|target| !target.is_met());
    missed.map(|target| target.to_string()).collect()
}

/// One table for each work.
fn works(table: &Table) -> String {
    let groups: BTreeSet<(u32, &str)> = table
        .0
        .iter()
        .map(|row| (number(&row.line.work), group(&row.line.work)))
        .collect();
    groups
        .into_iter()
        .map(|(_, name)| work(table, name))
        .collect()
}

fn work(table: &Table, name: &str) -> String {
    let what = WORKS.iter().find(|(known, _)| *known == name);
    let mut out = format!("\n## {name}\n\n");
    if let Some((_, what)) = what {
        let _ = write!(out, "{name} is {what}.\n\n");
    }
    let rows = table.0.iter().filter(|row| group(&row.line.work) == name);
    let (ours, theirs): (Vec<_>, Vec<_>) = rows.partition(|row| row.is_ours());
    if !ours.is_empty() {
        out += &text::head(&[
            "what",
            "size:",
            "store",
            "Ambit:",
            "peers, the best first",
            "ratio:",
            "target",
        ]);
    }
    for row in ours {
        out += &our_row(table, row, &table.peers(row));
    }
    let alone = theirs.into_iter().filter(|row| !table.has_ours(row));
    out + &without_ours(alone)
}

fn our_row(table: &Table, row: &Measured, peers: &[&Measured]) -> String {
    let line = &row.line;
    let what = line.work.split_once(' ').map_or("", |(_, what)| what);
    let theirs: Vec<String> = peers.iter().map(|peer| their(peer)).collect();
    let ratio = peers.first().map(|best| text::number(row.ratio(best)));
    let targets: Vec<String> = targets::of(table, row)
        .iter()
        .map(ToString::to_string)
        .collect();
    text::row(&[
        what.to_owned(),
        text::count(line.p),
        store(row),
        row.figure(),
        theirs.join(", "),
        ratio.map(|ratio| ratio + " ×").unwrap_or_default(),
        targets.join("; "),
    ])
}

/// A peer's figure in the cell of a row that has the unit.
fn their(peer: &Measured) -> String {
    let line = &peer.line;
    let way = way(&line.work);
    let how = if way.is_empty() {
        line.backend.clone()
    } else {
        format!("{}; {way}", line.backend)
    };
    let value = text::number(peer.median());
    text::cell(&format!("{} ({how}) {value}", text::name(&line.peer)))
}

/// What peers did on stores that nothing of Ambit's stands beside.
fn without_ours<'a>(rows: impl Iterator<Item = &'a Measured>) -> String {
    let mut out = String::new();
    for row in rows {
        let line = &row.line;
        let what = line.work.split_once(' ').map_or("", |(_, what)| what);
        out += &text::row(&[
            what.to_owned(),
            text::count(line.p),
            store(row),
            text::name(&line.peer),
            row.figure(),
            text::cell(&line.note),
        ]);
    }
    if out.is_empty() {
        return out;
    }
    let head = text::head(&["what", "size:", "store", "peer", "figure:", "note"]);
    format!(
        "\nPeers' results that have no row of Ambit's on such a store beside them:\n\n{head}{out}"
    )
}

/// The store, and where it is kept if that is not the disk.
fn store(row: &Measured) -> String {
    let line = &row.line;
    if matches!(line.place.as_str(), "" | "disk") {
        return line.backend.clone();
    }
    format!("{}, {}", line.backend, line.place)
}

/// What was not measured: programs that failed, and what a framework does not have.
fn absent(lines: &Lines) -> String {
    let mut out = format!("\n## What was not measured\n\n{STORES}\n");
    let mut failures: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for failure in &lines.failures {
        let key = (failure.failed.as_str(), failure.why.as_str());
        failures.entry(key).or_default().push(when(failure));
    }
    let mut rows: Vec<String> = Vec::new();
    for ((failed, why), when) in failures {
        rows.push(text::row(&[
            text::cell(failed),
            when.join(", "),
            text::cell(why),
        ]));
    }
    let none = lines.results.iter().filter(|line| line.v.is_none());
    let none: BTreeSet<_> = none
        .map(|line| {
            (
                text::name(&line.peer),
                &line.backend,
                &line.work,
                &line.note,
            )
        })
        .collect();
    for (peer, backend, work, note) in none {
        rows.push(text::row(&[
            format!("{peer} ({backend})"),
            work.clone(),
            text::cell(note),
        ]));
    }
    if rows.is_empty() {
        return out + "Nothing was left out.\n";
    }
    out += &text::head(&["who", "what", "why"]);
    out + &rows.concat()
}

fn when(failure: &FailureLine) -> String {
    match (failure.round, failure.place.as_str()) {
        (0, _) => "all of it".to_owned(),
        (round, "disk" | "") => format!("round {round}"),
        (round, place) => format!("round {round} on {place}"),
    }
}

fn about(lines: &Lines) -> String {
    let mut out = String::from("\n## The run\n\n");
    out += &text::head(&["", ""]);
    for fact in &lines.facts {
        out += &text::row(&[text::cell(&fact.fact), text::cell(&fact.value)]);
    }
    out
}

fn repeat(lines: &Lines) -> String {
    let command = lines.facts.iter().find(|fact| fact.fact == "command");
    let command = command.map_or("cargo xtask bench --peers", |fact| fact.value.as_str());
    format!(
        "\n## How to repeat it\n\n\
         Linux on x86-64, Rust, `python3`, `npm` and `strace`; PostgreSQL and Redis are started in private folders, and their \
         Debian packages\ninstalled where they are missing. The first run downloads the peers, some 1.8 GB, into \
         `~/.cache/ambit-bench-peers`.\n\n```sh\n{command}\n```\n\n\
         Of three rounds the first is always made, and each other one where it ends within 30 minutes: `--minutes 100` allows all three.\n\n\
         Every line that the programs printed is kept in [benchmarks/results.jsonl](benchmarks/results.jsonl), and this page is made of \
         nothing else:\n\n```sh\ncargo xtask bench --from docs/benchmarks/results.jsonl\n```\n"
    )
}
