//! What Ambit must be, against the best peer in the same run or against itself.

mod budgets;

use super::line::ResultLine;
use super::table::{Measured, Table, store};
use super::text;
use super::work::kind;
use std::fmt;

/// What one result must be.
#[derive(Debug)]
pub struct Target {
    /// What it is set against; empty where it is judged by itself.
    pub against: String,
    value: f64,
    limit: Limit,
}

#[derive(Debug)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Target {
    pub fn is_met(&self) -> bool {
        self.limit.allows(self.value)
    }
}

impl Limit {
    fn allows(&self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= *limit,
            Self::AtLeast(limit) => value >= *limit,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, limit) = match self.limit {
            Limit::AtMost(limit) => ("≤", limit),
            Limit::AtLeast(limit) => ("≥", limit),
        };
        let verdict = if self.is_met() { "met" } else { "**missed**" };
        let limit = text::number(limit);
        if self.against.is_empty() {
            return write!(f, "{word} {limit}: {verdict}");
        }
        let value = text::number(self.value);
        write!(f, "{word} {limit} × {}: {value}, {verdict}", self.against)
    }
}

/// Stores whose cost must not grow with the history.
const DURABLE: &[&str] = &["sqlite", "sqlite NORMAL", "postgres", "redis"];

/// Every target of one of Ambit's results.
pub fn of(table: &Table, row: &Measured) -> Vec<Target> {
    let alone = budgets::of(&row.line).map(|limit| Target {
        against: String::new(),
        value: row.median(),
        limit,
    });
    let mut targets: Vec<Target> = alone.into_iter().collect();
    targets.extend(growth(table, row));
    targets.extend(million(table, row));
    targets.extend(related(table, row));
    targets.extend(against(table, row));
    targets
}

/// The cost at the longest history against the cost at the shortest.
fn growth(table: &Table, row: &Measured) -> Option<Target> {
    let line = &row.line;
    let most = growth_of(&line.work)?;
    if !DURABLE.contains(&store(&line.backend)) {
        return None;
    }
    let same = |other: &&Measured| {
        other.is_ours()
            && other.line.work == line.work
            && other.line.backend == line.backend
            && other.line.place == line.place
    };
    let shortest = table.0.iter().filter(same).min_by_key(|row| row.line.p)?;
    let longest = table.0.iter().filter(same).map(|row| row.line.p).max()?;
    if line.p != longest || shortest.line.p == longest {
        return None;
    }
    Some(Target {
        against: format!("the same at {}", text::count(shortest.line.p)),
        value: row.median() / shortest.median(),
        limit: Limit::AtMost(most),
    })
}

/// What a work may cost at its largest size, against its smallest, where it may not grow as it likes.
fn growth_of(work: &str) -> Option<f64> {
    let flat = [
        "W1 append only",
        "W2 load last",
        "W3 list one user's sessions",
        "W3 register one more session",
        "W4 push onto a list",
        "W13 one chunk more, written",
        "W17 turn",
        "W17 first turn",
        "W17 list",
        "W17 start",
    ];
    flat.iter()
        .any(|flat| work.starts_with(flat))
        .then_some(1.2)
}

/// A million chunks against a tenth of them.
fn million(table: &Table, row: &Measured) -> Option<Target> {
    let line = &row.line;
    let is_tenth = |other: &&Measured| {
        other.is_ours()
            && other.line.work == line.work
            && other.line.backend == line.backend
            && other.line.place == line.place
            && other.line.p == 100_000
    };
    let is_largest = matches!(line.work.as_str(), SHORT | LONG) && line.p == 1_000_000;
    let tenth = table.0.iter().find(is_tenth).filter(|_| is_largest)?;
    Some(Target {
        against: "the same at 100,000".to_owned(),
        value: row.median() / tenth.median(),
        limit: Limit::AtMost(12.0),
    })
}

/// What may take at most so many times what another result of Ambit's takes, of the same size at the same place.
struct Relation {
    work: &'static str,
    /// Of these stores alone; empty for all.
    store: &'static str,
    to: &'static str,
    /// The other one's store; empty for the same.
    to_store: &'static str,
    against: &'static str,
    most: f64,
}

const fn relation(
    work: &'static str,
    to: &'static str,
    against: &'static str,
    most: f64,
) -> Relation {
    Relation {
        work,
        store: "",
        to,
        to_store: "",
        against,
        most,
    }
}

const SHORT: &str = "W14 query of 3 words, p50";
const LONG: &str = "W14 query of 25 words, p50";

const RELATIONS: &[Relation] = &[
    relation(
        "W1 with recall: append only",
        "W1 behind a pause: append only",
        "one behind a pause",
        1.2,
    ),
    relation(
        "W12 query from a hook",
        "W12 query by the bare driver",
        "the bare driver",
        3.0,
    ),
    relation(
        "W13 query p99, while indexing",
        "W13 query p99, idle",
        "idle",
        2.0,
    ),
    relation("W14 query of 3 words, p99", SHORT, "p50", 4.0),
    relation("W14 query of 25 words, p99", LONG, "p50", 4.0),
    relation("W14 query of 3 words, 1 % allowed", SHORT, "no filter", 1.3),
    relation("W14 query of 25 words, 1 % allowed", LONG, "no filter", 1.3),
    Relation {
        store: "postgres",
        to_store: "sqlite",
        ..relation(SHORT, SHORT, "sqlite", 3.0)
    },
    Relation {
        store: "postgres",
        to_store: "sqlite",
        ..relation(LONG, LONG, "sqlite", 3.0)
    },
];

/// Targets against other results of Ambit's.
fn related<'a>(table: &'a Table, row: &'a Measured) -> impl Iterator<Item = Target> + 'a {
    let line = &row.line;
    let relations = RELATIONS.iter().filter(move |relation| {
        relation.work == line.work && (relation.store.is_empty() || relation.store == line.backend)
    });
    relations.filter_map(move |relation| {
        let store = match relation.to_store {
            "" => line.backend.as_str(),
            store => store,
        };
        let is_other = |other: &&Measured| {
            other.is_ours()
                && other.line.work == relation.to
                && other.line.backend == store
                && other.line.p == line.p
                && other.line.place == line.place
        };
        let other = table.0.iter().find(is_other)?;
        Some(Target {
            against: relation.against.to_owned(),
            value: row.median() / other.median(),
            limit: Limit::AtMost(relation.most),
        })
    })
}

/// Targets against peers.
fn against(table: &Table, row: &Measured) -> Vec<Target> {
    let line = &row.line;
    let mut targets = Vec::new();
    let mut at_least = |factor: f64, which: fn(&ResultLine) -> bool| {
        let peer = table.best_of(row, which);
        // Who would take too long at this size was measured at a smaller one, where it is no slower: ten times as many are too
        // many for that.
        let is_bounded = line.work.starts_with("W13") || line.work.starts_with("W14");
        let is_bounded = is_bounded && line.p <= 100_000;
        let below = || table.best_below(row, which).filter(|_| is_bounded);
        if let Some(peer) = peer.or_else(below) {
            targets.push(Target {
                against: named(row, peer),
                value: row.ratio(peer),
                limit: Limit::AtLeast(factor),
            });
        }
    };
    let all: fn(&ResultLine) -> bool = |_| true;
    match kind(&line.work) {
        "W1 append only" if line.place == "tmpfs" => at_least(5.0, |peer| is_of(peer, "OpenAI")),
        "W1 append only" => at_least(1.5, |peer| is_of(peer, "OpenAI")),
        "W1 turn" if line.p >= 5_000 && line.work.contains("last") => at_least(5.0, all),
        // Who loads all is beside those who do so too.
        "W1 turn" if line.p >= 5_000 && line.work.contains("all") => {
            at_least(5.0, |peer| !peer.work.contains("last"));
        }
        "W2 load" => at_least(4.0, all),
        "W3 list one user's sessions" => at_least(10.0, all),
        "W4 get" => at_least(3.0, |peer| is_of(peer, "LangGraph")),
        "W4 set" | "W4 incr" | "W4 push" => at_least(3.0, all),
        "W5 same session" | "W6 different sessions" => at_least(8.0, all),
        "W7 hooks per CPU-second" => at_least(4.0, |peer| is_of(peer, "Node")),
        "W13 index by words" => at_least(0.5, is_full_text),
        "W13 index with vectors" => {
            at_least(3.0, |peer| is_of(peer, "LangGraph"));
            at_least(3.0, |peer| is_of(peer, "Mastra"));
            at_least(1.0, |peer| is_of(peer, "Agno"));
        }
        SHORT | LONG if line.p == 100_000 => at_least(10.0, is_full_text),
        "W14 query by vector, p50" if line.p >= 100_000 => {
            at_least(2.0, |peer| is_of(peer, "sqlite-vec"));
            at_least(2.0, |peer| is_of(peer, "Mastra"));
            at_least(1.0, |peer| is_of(peer, "Agno"));
        }
        "W8 turns" => {
            at_least(5.0, |peer| is_of(peer, "LangGraph") && !is_server(peer));
            at_least(10.0, is_server);
        }
        _ => {}
    }
    targets
}

/// The peer's name, with its size where it is another one.
fn named(row: &Measured, peer: &Measured) -> String {
    let name = text::name(&peer.line.peer);
    let is_bounded = peer.line.p < row.line.p && !row.line.work.starts_with("W4");
    if is_bounded {
        return format!("{name} at {}", text::count(peer.line.p));
    }
    name
}

fn is_of(peer: &ResultLine, whose: &str) -> bool {
    peer.peer.starts_with(whose)
}

fn is_full_text(peer: &ResultLine) -> bool {
    is_of(peer, "SQLite FTS5")
}

fn is_server(peer: &ResultLine) -> bool {
    peer.peer.contains(" server")
}

#[cfg(test)]
mod tests {
    use crate::bench::report::{line, table::Table};

    fn verdicts(lines: &[(&str, &str, &str, u32, f64, &str)]) -> Vec<&'static str> {
        let text: Vec<String> = lines
            .iter()
            .map(|(peer, backend, work, p, v, unit)| {
                format!(r#"{{"place":"disk","peer":"{peer}","backend":"{backend}","work":"{work}","p":{p},"v":{v},"unit":"{unit}"}}"#)
            })
            .collect();
        let lines = line::all(&text.join("\n"));
        let table = Table::of(lines.results.into_iter());
        let ours = table.0.iter().filter(|row| row.is_ours());
        let targets = ours.flat_map(|row| super::of(&table, row));
        let words = |target: super::Target| if target.is_met() { "met" } else { "missed" };
        targets.map(words).collect()
    }

    #[test]
    fn a_lost_message_misses_the_target() {
        let work = "W5 same session, survived";
        assert_eq!(
            verdicts(&[("ambit", "file", work, 10, 10.0, "messages")]),
            ["met"]
        );
        assert_eq!(
            verdicts(&[("ambit", "file", work, 10, 9.0, "messages")]),
            ["missed"]
        );
    }

    #[test]
    fn tokens_are_judged_by_how_many_streams_there_are() {
        let verdicts = |streams, middle, late| {
            verdicts(&[
                ("ambit", "sqlite", "W15 token, p50", streams, middle, "ms"),
                ("ambit", "sqlite", "W15 token, p99", streams, late, "ms"),
            ])
        };
        assert_eq!(verdicts(1, 5.0, 20.0), ["met", "met"]);
        assert_eq!(verdicts(1, 5.1, 21.0), ["missed", "missed"]);
        assert_eq!(verdicts(64, 9.0, 40.0), ["met"]);
        assert_eq!(verdicts(64, 9.0, 41.0), ["missed"]);
    }

    #[test]
    fn growth_is_judged_between_the_ends() {
        let flat = |cost| {
            [
                ("ambit", "redis", "W1 append only", 10, 1.0, "ms/turn"),
                ("ambit", "redis", "W1 append only", 100, 9.0, "ms/turn"),
                ("ambit", "redis", "W1 append only", 1000, cost, "ms/turn"),
            ]
        };
        assert_eq!(verdicts(&flat(1.1)), ["met"]);
        assert_eq!(verdicts(&flat(1.3)), ["missed"]);
    }

    #[test]
    fn the_end_of_a_conversation_is_flat_in_its_length() {
        let rows = |cost| {
            [
                ("ambit", "redis", "W2 load last 10", 1_000, 1.0, "ms"),
                ("ambit", "redis", "W2 load last 10", 100_000, cost, "ms"),
            ]
        };
        assert_eq!(verdicts(&rows(1.2)), ["met"]);
        assert_eq!(verdicts(&rows(1.3)), ["missed"]);
    }

    #[test]
    fn lists_of_chats_and_of_memory_are_flat_in_what_there_is() {
        let list = "W3 list one user's sessions";
        let push = "W4 push onto a list";
        let rows = |cost| {
            [
                ("ambit", "postgres", list, 10_000, 1.0, "ms"),
                ("ambit", "postgres", list, 1_000_000, cost, "ms"),
                ("ambit", "sqlite", push, 10, 1.0, "ms"),
                ("ambit", "sqlite", push, 100_000, cost, "ms"),
            ]
        };
        assert_eq!(verdicts(&rows(1.2)), ["met", "met"]);
        assert_eq!(verdicts(&rows(1.3)), ["missed", "missed"]);
    }

    #[test]
    fn who_loads_all_is_judged_beside_those_who_load_all() {
        let all = "W1 turn (load all + append)";
        let last = "W1 turn (load last 10 + append)";
        let rows = |ours| {
            [
                ("ambit", "sqlite NORMAL", all, 5_000, ours, "ms/turn"),
                ("Mastra", "libsql", last, 5_000, 0.1, "ms/turn"),
                ("OpenAI", "sqlite", all, 5_000, 10.0, "ms/turn"),
            ]
        };
        assert_eq!(verdicts(&rows(2.0)), ["met"]);
        assert_eq!(verdicts(&rows(2.1)), ["missed"]);
    }

    #[test]
    fn large_stores_cost_what_small_ones_do_and_upkeep_keeps_nobody_waiting() {
        let rows = |large, wait| {
            [
                ("ambit", "sqlite", "W17 list 20 chats", 100, 1.0, "ms"),
                ("ambit", "sqlite", "W17 list 20 chats", 100_000, large, "ms"),
                ("ambit", "sqlite", "W17 wait for the writer", 0, 30.0, "ms"),
                ("ambit", "sqlite", "W17 wait for the sweep", 9, wait, "ms"),
            ]
        };
        assert_eq!(verdicts(&rows(1.2, 20.0)), ["met", "met"]);
        assert_eq!(verdicts(&rows(1.3, 21.0)), ["missed", "missed"]);
    }

    #[test]
    fn a_query_is_judged_by_the_driver_below_it() {
        let rows = |ours| {
            [
                ("ambit", "sqlite", "W12 query from a hook", 20, ours, "ms"),
                (
                    "ambit",
                    "sqlite",
                    "W12 query by the bare driver",
                    20,
                    1.0,
                    "ms",
                ),
            ]
        };
        assert_eq!(verdicts(&rows(3.0)), ["met"]);
        assert_eq!(verdicts(&rows(3.1)), ["missed"]);
    }

    #[test]
    fn searches_are_judged_by_full_text_search_filters_and_other_stores() {
        let long = "W14 query of 25 words, p50";
        let some = "W14 query of 25 words, 1 % allowed";
        let rows = |ours, filtered, postgres, million| {
            [
                ("ambit", "sqlite", long, 100_000, ours, "ms"),
                ("ambit", "sqlite", long, 1_000_000, million, "ms"),
                ("SQLite FTS5", "sqlite", long, 100_000, 10.0, "ms"),
                ("ambit", "sqlite", some, 100_000, filtered, "ms"),
                ("ambit", "postgres", long, 100_000, postgres, "ms"),
            ]
        };
        assert_eq!(verdicts(&rows(1.0, 1.3, 3.0, 12.0)), ["met"; 4]);
        assert_eq!(verdicts(&rows(1.1, 1.5, 3.4, 13.3)), ["missed"; 4]);
    }

    #[test]
    fn vectors_are_judged_by_each_peer_and_hybrid_by_its_parts() {
        let (index, query) = ("W13 index with vectors", "W14 query by vector, p50");
        let share = "W14 hybrid of words and vectors alone";
        let rows = |rate, ours, both| {
            [
                ("ambit", "sqlite", index, 100_000, rate, "chunks/s"),
                ("LangGraph", "sqlite", index, 100_000, 100.0, "chunks/s"),
                ("Mastra", "sqlite", index, 100_000, 90.0, "chunks/s"),
                ("Agno", "sqlite", index, 100_000, 290.0, "chunks/s"),
                ("ambit", "sqlite", query, 100_000, ours, "ms"),
                ("sqlite-vec", "sqlite", query, 100_000, 20.0, "ms"),
                ("Mastra", "sqlite", query, 100_000, 30.0, "ms"),
                ("Agno", "sqlite", query, 100_000, 9.0, "ms"),
                ("ambit", "sqlite", share, 100_000, both, "%"),
            ]
        };
        assert!(!verdicts(&rows(300.0, 9.0, 110.0)).contains(&"missed"));
        let missed = verdicts(&rows(280.0, 11.0, 111.0));
        let count = missed
            .iter()
            .filter(|verdict| **verdict == "missed")
            .count();
        assert_eq!(count, 5, "{missed:?}");
    }

    #[test]
    fn a_peer_that_takes_too_long_is_judged_by_what_it_did_at_a_smaller_size() {
        let query = "W14 query by vector, p50";
        let rows = |ours| {
            [
                ("ambit", "sqlite", query, 100_000, ours, "ms"),
                ("Mastra", "sqlite", query, 1_000, 18.0, "ms"),
            ]
        };
        assert_eq!(verdicts(&rows(9.0)), ["met"]);
        assert_eq!(verdicts(&rows(9.1)), ["missed"]);
    }

    #[test]
    fn recall_is_judged_by_turns_without_it_and_by_how_long_it_holds_up_others() {
        let (with, without) = (
            "W1 with recall: append only",
            "W1 behind a pause: append only",
        );
        let others = "W1 with recall: longest turn of others";
        let rows = |turn, longest| {
            [
                ("ambit", "redis Context", without, 100, 1.0, "ms/turn"),
                ("ambit", "redis Context", with, 100, turn, "ms/turn"),
                ("ambit", "redis Context", others, 10_000, longest, "ms"),
            ]
        };
        assert_eq!(verdicts(&rows(1.2, 50.0)), ["met", "met"]);
        assert_eq!(verdicts(&rows(1.3, 51.0)), ["missed", "missed"]);
    }

    #[test]
    fn a_million_vectors_are_judged_by_peers_that_have_as_many() {
        let query = "W14 query by vector, p50";
        let rows = |ours| {
            [
                ("ambit", "sqlite", query, 1_000_000, ours, "ms"),
                ("sqlite-vec", "sqlite", query, 1_000_000, 800.0, "ms"),
                ("Mastra", "sqlite", query, 100_000, 18.0, "ms"),
            ]
        };
        assert_eq!(verdicts(&rows(400.0)), ["met"]);
        assert_eq!(verdicts(&rows(401.0)), ["missed"]);
    }

    #[test]
    fn a_peer_is_judged_by_its_factor() {
        let rows = |ours| {
            [
                ("ambit", "sqlite", "W2 load", 100, ours, "ms"),
                ("A", "sqlite", "W2 load", 100, 8.0, "ms"),
            ]
        };
        assert_eq!(verdicts(&rows(2.0)), ["met"]);
        assert_eq!(verdicts(&rows(2.1)), ["missed"]);
    }

    #[test]
    fn a_hook_is_judged_by_its_time_and_by_the_processor_time_of_the_peer() {
        let rows = |time, rate| {
            let kind = "W7 hooks per CPU-second";
            [
                ("ambit", "memory", "W7 hook", 10, time, "ms"),
                ("ambit", "memory", kind, 10, rate, "hooks/s"),
                ("Node 20 vm", "memory", "W7 hook", 10, 0.1, "ms"),
                ("Node 20 vm", "memory", kind, 10, 1000.0, "hooks/s"),
            ]
        };
        assert_eq!(verdicts(&rows(0.25, 4000.0)), ["met", "met"]);
        assert_eq!(verdicts(&rows(0.26, 3999.0)), ["missed", "missed"]);
    }

    #[test]
    fn turns_that_wait_are_judged_by_their_threads_and_their_rate() {
        let rows = |rate, threads| {
            let beyond = "W11 threads beyond the cores";
            [
                ("ambit", "sqlite", "W11 of the ideal", 1000, rate, "%"),
                ("ambit", "sqlite", beyond, 1000, threads, "threads"),
            ]
        };
        assert_eq!(verdicts(&rows(80.0, 8.0)), ["met", "met"]);
        assert_eq!(verdicts(&rows(79.0, 9.0)), ["missed", "missed"]);
    }

    #[test]
    fn what_was_not_measured_has_no_verdict() {
        assert_eq!(
            verdicts(&[("ambit", "sqlite", "W2 load", 100, 1.0, "ms")]),
            Vec::<&str>::new()
        );
    }
}
