//! What a result must be by itself: counts, and budgets for a machine of this size.

use super::Limit;
use crate::bench::report::line::ResultLine;
use crate::bench::report::table::store;
use crate::bench::report::work::kind;

/// Clients at once, of whose turns so many a second are wanted.
const CLIENTS: u64 = 16;

/// The limit of this result, where it has one.
pub fn of(line: &ResultLine) -> Option<Limit> {
    stores(line)
        .or_else(|| turns(line))
        .or_else(|| process(line))
        .or_else(|| search(line))
        .or_else(|| growth(line))
}

/// What is written, synced and kept.
fn stores(line: &ResultLine) -> Option<Limit> {
    let limit = match line.work.as_str() {
        // Milliseconds of software alone: nothing waits for a disk there.
        "W1 append only" if line.backend.starts_with("sqlite") && line.place == "tmpfs" => {
            Limit::AtMost(0.06)
        }
        "W1 syncs" if store(&line.backend) == "sqlite" && line.p == 1 => Limit::AtMost(1.0),
        "W1 syncs" if store(&line.backend) == "sqlite" => Limit::AtMost(0.125),
        "W1 written by the process" if line.backend.starts_with("sqlite") => Limit::AtMost(16.0),
        "W1 with recall: longest turn of others" => Limit::AtMost(50.0),
        "W4 pull all of a list" if store(&line.backend) == "redis" => Limit::AtMost(100.0),
        work if work.starts_with("W4c") || work == "W5 same session, survived" => {
            Limit::AtLeast(line.p as f64)
        }
        _ => return None,
    };
    Some(limit)
}

/// What hooks, turns and streams cost.
fn turns(line: &ResultLine) -> Option<Limit> {
    let limit = match line.work.as_str() {
        work if kind(work) == "W7 hook" => Limit::AtMost(0.25),
        "W8 syncs" => Limit::AtMost(2.0),
        work if kind(work) == "W8 statements" => Limit::AtMost(50.0),
        work if kind(work) == "W8 WAL pages" => Limit::AtMost(16.0),
        work if kind(work) == "W8 synced commits" => Limit::AtMost(2.0),
        "W8 tool round, synced commits" => Limit::AtMost(1.0),
        "W8 turns" | "W8 server's CPU" if line.p == CLIENTS => return served(line),
        "W9 CPU per chunk and reader (at once)" => Limit::AtMost(10.0),
        // To one reader a live chunk costs what it costs to wake a thread, which says nothing about the server.
        "W9 CPU per chunk and reader (live)" if line.p > 1 => Limit::AtMost(10.0),
        "W9 rows (live)" => Limit::AtMost(1.0),
        "W15 token, p50" if line.p == 1 => Limit::AtMost(5.0),
        "W15 token, p99" if line.p == 1 => Limit::AtMost(20.0),
        "W15 token, p99" => Limit::AtMost(40.0),
        "W18 gain of the second core" if line.backend == "memory" => Limit::AtLeast(1.8),
        _ => return None,
    };
    Some(limit)
}

/// What whole turns cost where no disk is waited for.
fn served(line: &ResultLine) -> Option<Limit> {
    let is_time = line.work == "W8 server's CPU";
    match (line.backend.as_str(), line.place.as_str()) {
        ("sqlite", "tmpfs") if is_time => Some(Limit::AtMost(1.0)),
        ("sqlite", "tmpfs") => Some(Limit::AtLeast(1_500.0)),
        ("memory", _) if is_time => Some(Limit::AtMost(0.7)),
        _ => None,
    }
}

/// The server as a process, turns that wait, and how soon the sources are a server.
fn process(line: &ResultLine) -> Option<Limit> {
    let limit = match line.work.as_str() {
        "W10 start" | "W10 start until it listens" | "W17 start" => Limit::AtMost(45.0),
        "W10 resident" if line.p == 0 => Limit::AtMost(45.0),
        "W10 resident" | "W10 resident after a burst" => Limit::AtMost(100.0),
        // A page here and there is no growth.
        "W10 growth" => Limit::AtMost(2.0),
        "W10 program, stripped" => Limit::AtMost(40.0),
        "W11 of the ideal" => Limit::AtLeast(80.0),
        "W11 threads beyond the cores" => Limit::AtMost(8.0),
        "W11 resident" => Limit::AtMost(300.0),
        // Six minutes.
        "W16 clone to the first answer" => Limit::AtMost(360.0),
        "W16 edit to the first answer" => Limit::AtMost(60.0),
        _ => return None,
    };
    Some(limit)
}

/// An index and what it answers.
fn search(line: &ResultLine) -> Option<Limit> {
    let limit = match line.work.as_str() {
        "W13 written" => Limit::AtMost(8.0),
        "W13 parts" => Limit::AtMost(75.0),
        "W13 one chunk more, written" => Limit::AtMost(64.0),
        "W14 growth" => Limit::AtMost(5.0),
        "W14 hybrid of words and vectors alone" => Limit::AtMost(110.0),
        // The cache and 64 MB.
        "W14 resident" => Limit::AtMost(320.0),
        _ => return None,
    };
    Some(limit)
}

/// A turn of a chat that has grown, and the upkeep of a store.
fn growth(line: &ResultLine) -> Option<Limit> {
    let limit = match line.work.as_str() {
        "W17 turn, statements" | "W17 turn in a store, statements" => Limit::AtMost(50.0),
        "W17 turn, WAL pages" | "W17 turn in a store, WAL pages" => Limit::AtMost(16.0),
        work if work.starts_with("W17 wait") && line.p > 0 => Limit::AtMost(20.0),
        "W17 file left" => Limit::AtMost(50.0),
        _ => return None,
    };
    Some(limit)
}

#[cfg(test)]
mod tests {
    use crate::bench::report::line::ResultLine;

    fn is_within(work: &str, place: &str, value: f64) -> bool {
        let line = ResultLine {
            place: place.to_owned(),
            peer: "ambit".to_owned(),
            backend: "sqlite".to_owned(),
            work: work.to_owned(),
            p: 100_000,
            v: None,
            unit: String::new(),
            note: String::new(),
        };
        super::of(&line).is_none_or(|limit| limit.allows(value))
    }

    #[test]
    fn a_turn_has_its_statements_and_pages_and_a_first_turn_may_have_more() {
        for (work, most) in [
            ("W17 turn, statements", 50.0),
            ("W17 turn, WAL pages", 16.0),
        ] {
            assert!(is_within(work, "disk", most), "{work}");
            assert!(!is_within(work, "disk", most + 1.0), "{work}");
        }
        assert!(is_within(
            "W17 first turn of a chat, statements",
            "disk",
            96.0
        ));
    }

    #[test]
    fn a_turn_through_the_server_has_the_same_budget_and_a_round_of_tools_one_sync() {
        for (work, most) in [
            ("W8 statements", 50.0),
            ("W8 statements (no writes to memory)", 50.0),
            ("W8 WAL pages", 16.0),
            ("W8 synced commits", 2.0),
            ("W8 tool round, synced commits", 1.0),
        ] {
            assert!(is_within(work, "disk", most), "{work}");
            assert!(!is_within(work, "disk", most + 1.0), "{work}");
        }
    }

    #[test]
    fn the_software_of_an_append_is_judged_where_no_disk_is_waited_for() {
        assert!(is_within("W1 append only", "disk", 0.9));
        assert!(is_within("W1 append only", "tmpfs", 0.06));
        assert!(!is_within("W1 append only", "tmpfs", 0.07));
    }

    #[test]
    fn the_first_minutes_are_six_and_an_edit_takes_one() {
        for (work, most) in [
            ("W16 clone to the first answer", 360.0),
            ("W16 edit to the first answer", 60.0),
        ] {
            assert!(is_within(work, "", most), "{work}");
            assert!(!is_within(work, "", most + 1.0), "{work}");
        }
    }

    #[test]
    fn a_server_listens_in_time() {
        assert!(is_within("W17 start", "disk", 45.0));
        assert!(!is_within("W17 start", "disk", 46.0));
    }
}
