//! What Ambit must be, against the best peer in the same run or against itself.

use super::{Measured, Table, kind, short, store};
use std::fmt;

/// One target of one store.
pub struct Target {
    what: String,
    value: f64,
    limit: Limit,
}

enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (met, word, limit) = match self.limit {
            Limit::AtMost(limit) => (self.value <= limit, "at most", limit),
            Limit::AtLeast(limit) => (self.value >= limit, "at least", limit),
        };
        let verdict = if met { "met    " } else { "NOT met" };
        let (value, limit) = (short(self.value), short(limit));
        write!(f, "{verdict} {:76} {value:>9}, {word} {limit}", self.what)
    }
}

/// Stores whose cost must not grow with the history.
const DURABLE: &[&str] = &["sqlite", "sqlite NORMAL", "postgres", "redis"];

/// Every target of which something was measured.
pub fn all(table: &Table) -> Vec<Target> {
    let ours = || table.0.iter().filter(|row| row.is_ours());
    let mut targets: Vec<Target> = ours().filter_map(alone).collect();
    targets.extend(ours().filter_map(|row| growth(table, row)));
    targets.extend(ours().filter_map(|row| above_driver(table, row)));
    targets.extend(ours().flat_map(|row| against(table, row)));
    targets
}

fn target(row: &Measured, what: &str, value: f64, limit: Limit) -> Target {
    let line = &row.line;
    let what = format!(
        "{} {}, {}, {}{what}",
        line.work, line.p, line.backend, line.place
    );
    Target { what, value, limit }
}

/// Targets that a result meets by itself.
fn alone(row: &Measured) -> Option<Target> {
    let line = &row.line;
    let limit = match line.work.as_str() {
        "W1 syncs" if store(&line.backend) == "sqlite" && line.p == 1 => Limit::AtMost(1.0),
        "W1 syncs" if store(&line.backend) == "sqlite" => Limit::AtMost(0.125),
        work if kind(work) == "W7 hook" => Limit::AtMost(0.25),
        "W9 CPU per chunk and reader (at once)" => Limit::AtMost(10.0),
        // To one reader a live chunk costs what it costs to wake a thread, which says nothing about the server.
        "W9 CPU per chunk and reader (live)" if line.p > 1 => Limit::AtMost(10.0),
        "W9 rows (live)" => Limit::AtMost(1.0),
        "W10 start" => Limit::AtMost(50.0),
        "W10 resident" if line.p == 0 => Limit::AtMost(60.0),
        // A page here and there is no growth.
        "W10 growth" => Limit::AtMost(2.0),
        "W11 of the ideal" => Limit::AtLeast(80.0),
        "W11 threads beyond the cores" => Limit::AtMost(8.0),
        "W11 resident" => Limit::AtMost(300.0),
        "W15 token, p50" if line.p == 1 => Limit::AtMost(5.0),
        "W15 token, p99" if line.p == 1 => Limit::AtMost(20.0),
        "W15 token, p99" => Limit::AtMost(40.0),
        "W1 written by the process" if line.backend.starts_with("sqlite") => Limit::AtMost(16.0),
        work if work.starts_with("W4c") || work == "W5 same session, survived" => {
            Limit::AtLeast(line.p as f64)
        }
        _ => return None,
    };
    Some(target(row, "", row.median(), limit))
}

/// The cost at the longest history against the cost at the shortest.
fn growth(table: &Table, row: &Measured) -> Option<Target> {
    let line = &row.line;
    if line.work != "W1 append only" || !DURABLE.contains(&store(&line.backend)) {
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
    let what = format!(" against {}", shortest.line.p);
    let value = row.median() / shortest.median();
    Some(target(row, &what, value, Limit::AtMost(1.2)))
}

/// A query from a hook against the same query by the bare driver.
fn above_driver(table: &Table, row: &Measured) -> Option<Target> {
    let line = &row.line;
    let is_bare = |other: &&Measured| {
        other.line.work == "W12 query by the bare driver"
            && other.line.backend == line.backend
            && other.line.place == line.place
    };
    let bare = table.0.iter().find(is_bare)?;
    let value = row.median() / bare.median();
    let is_hook = line.work == "W12 query from a hook";
    is_hook.then(|| target(row, " against the bare driver", value, Limit::AtMost(2.0)))
}

/// Targets against peers.
fn against(table: &Table, row: &Measured) -> Vec<Target> {
    let line = &row.line;
    let mut targets = Vec::new();
    let mut at_least = |whose: &str, factor: f64| {
        let peer = table.best_of(row, |peer| peer.peer.starts_with(whose));
        if let Some(peer) = peer {
            let what = format!(" against {}", peer.line.peer);
            targets.push(target(row, &what, row.ratio(peer), Limit::AtLeast(factor)));
        }
    };
    match kind(&line.work) {
        "W1 append only" if line.place == "tmpfs" => at_least("OpenAI", 5.0),
        "W1 append only" => at_least("OpenAI", 1.5),
        "W1 turn" if line.p >= 5_000 && line.work.contains("last") => at_least("", 5.0),
        "W2 load" => at_least("", 4.0),
        "W3 list one user's sessions" => at_least("", 10.0),
        "W4 get" => at_least("LangGraph", 3.0),
        "W4 set" | "W4 incr" => at_least("", 3.0),
        "W7 hooks per CPU-second" => at_least("Node", 5.0),
        "W8 turns" => {
            at_least("LangGraph", 10.0);
            at_least("Mastra", 5.0);
        }
        "W5 same session" | "W6 different sessions" => at_least("", 8.0),
        _ => {}
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::{Table, all};

    fn verdicts(lines: &[(&str, &str, &str, u32, f64, &str)]) -> Vec<String> {
        let text: Vec<String> = lines
            .iter()
            .map(|(peer, backend, work, p, v, unit)| {
                format!(r#"{{"place":"disk","peer":"{peer}","backend":"{backend}","work":"{work}","p":{p},"v":{v},"unit":"{unit}"}}"#)
            })
            .collect();
        let targets = all(&Table::of(&text.join("\n")));
        let words = |target: &super::Target| target.to_string()[..7].trim().to_owned();
        targets.iter().map(words).collect()
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
            ["NOT met"]
        );
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
        assert_eq!(verdicts(&flat(1.3)), ["NOT met"]);
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
        assert_eq!(verdicts(&rows(2.0)), ["met"]);
        assert_eq!(verdicts(&rows(2.1)), ["NOT met"]);
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
        assert_eq!(verdicts(&rows(2.1)), ["NOT met"]);
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
        assert_eq!(verdicts(&rows(0.25, 5000.0)), ["met", "met"]);
        assert_eq!(verdicts(&rows(0.26, 4999.0)), ["NOT met", "NOT met"]);
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
        assert_eq!(verdicts(&rows(79.0, 9.0)), ["NOT met", "NOT met"]);
    }

    #[test]
    fn tokens_are_judged_by_how_many_streams_there_are() {
        let rows = |streams, middle, late| {
            [
                ("ambit", "sqlite", "W15 token, p50", streams, middle, "ms"),
                ("ambit", "sqlite", "W15 token, p99", streams, late, "ms"),
                (
                    "pass-through",
                    "sqlite",
                    "W15 token, p99",
                    streams,
                    99.0,
                    "ms",
                ),
            ]
        };
        assert_eq!(verdicts(&rows(1, 5.0, 20.0)), ["met", "met"]);
        assert_eq!(verdicts(&rows(1, 5.1, 21.0)), ["NOT met", "NOT met"]);
        assert_eq!(verdicts(&rows(64, 9.0, 40.0)), ["met"]);
        assert_eq!(verdicts(&rows(64, 9.0, 41.0)), ["NOT met"]);
    }

    #[test]
    fn what_was_not_measured_has_no_verdict() {
        assert_eq!(
            verdicts(&[("ambit", "sqlite", "W2 load", 100, 1.0, "ms")]),
            Vec::<String>::new()
        );
    }
}
