//! One table of all results: medians over the rounds, Ambit against the best peer of the same kind, and the targets.

mod targets;

use crate::process::Result;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One line of results.
#[derive(Clone, Debug, Deserialize)]
struct Line {
    /// Where the files are: `disk` or `tmpfs`.
    #[serde(default)]
    place: String,
    peer: String,
    backend: String,
    work: String,
    p: u64,
    v: Option<f64>,
    unit: String,
    #[serde(default)]
    note: String,
}

/// The results of one thing measured, over all rounds.
#[derive(Clone, Debug)]
struct Measured {
    line: Line,
    values: Vec<f64>,
}

impl Measured {
    fn median(&self) -> f64 {
        median(self.values.clone())
    }

    fn is_ours(&self) -> bool {
        self.line.peer == "ambit"
    }

    /// How many times better this is than the other.
    fn ratio(&self, other: &Self) -> f64 {
        if self.line.unit.ends_with("/s") {
            self.median() / other.median()
        } else {
            other.median() / self.median()
        }
    }
}

/// All results.
struct Table(Vec<Measured>);

/// Prints the table of a file of lines.
pub fn print(file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let table = Table::of(&text);
    print!("{}", table.text());
    println!("\nTargets");
    for target in targets::all(&table) {
        println!("{target}");
    }
    Ok(())
}

impl Table {
    /// Lines that are no results are passed over: programs may say other things too.
    fn of(text: &str) -> Self {
        let mut rows: BTreeMap<String, Measured> = BTreeMap::new();
        for line in text.lines() {
            let Ok(line) = serde_json::from_str::<Line>(line) else {
                continue;
            };
            let Some(value) = line.v else {
                continue;
            };
            // Sorted by work, size, place, and who did it.
            let group = line.work.split(' ').next().unwrap_or_default();
            let key = format!(
                "{group}|{:012}|{}|{}|{}|{}",
                line.p, line.work, line.place, line.peer, line.backend
            );
            let values = Vec::new();
            let row = rows.entry(key).or_insert(Measured { line, values });
            row.values.push(value);
        }
        Self(rows.into_values().collect())
    }

    /// The best peer that did the same on the same kind of store.
    fn best_peer(&self, ours: &Measured) -> Option<&Measured> {
        self.best_of(ours, |_| true)
    }

    fn best_of(&self, ours: &Measured, which: impl Fn(&Line) -> bool) -> Option<&Measured> {
        let peers = self.0.iter().filter(|row| {
            !row.is_ours() && which(&row.line) && is_comparable(&ours.line, &row.line)
        });
        peers.max_by(|a, b| a.ratio(b).total_cmp(&1.0))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut last = ("", 0);
        for row in &self.0 {
            let line = &row.line;
            let group = (line.work.split(' ').next().unwrap_or_default(), line.p);
            if group != last {
                text.push('\n');
                last = group;
            }
            let ratio = match self.best_peer(row) {
                Some(best) if row.is_ours() => {
                    format!("{:.1} x {}", row.ratio(best), best.line.peer)
                }
                _ => String::new(),
            };
            text.push_str(&format!(
                "{:40} {:>8} {:5} {:28} {:14} {:>9} {:10} {ratio:32} {}\n",
                line.work,
                line.p,
                line.place,
                line.peer,
                line.backend,
                short(row.median()),
                line.unit,
                line.note,
            ));
        }
        text
    }
}

/// The middle value.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// True where a peer's result can be set beside ours.
fn is_comparable(ours: &Line, peer: &Line) -> bool {
    let is_memory = ours.work.starts_with("W4");
    kind(&ours.work) == kind(&peer.work)
        && ours.unit == peer.unit
        && ours.place == peer.place
        && is_same_store(ours, peer)
        // Operations on memory cost the same however many are measured.
        && (ours.p == peer.p || is_memory)
}

/// True where the peer's store promises what ours does. Servers are compared whole: one whose store does not sync has it
/// easier than ours, and is a rival all the same. So is what keeps nothing, where it was measured beside this store.
fn is_same_store(ours: &Line, peer: &Line) -> bool {
    let is_server = ours.work.starts_with("W8") || ours.work.starts_with("W15");
    peer.peer == "pass-through" && peer.backend == ours.backend
        || stores(&ours.backend).contains(&peer.backend.as_str())
        || is_server && store(&ours.backend) == "sqlite" && peer.backend == "libsql"
}

/// What a work is, without how a framework comes by it.
fn kind(work: &str) -> &str {
    if work.starts_with("W1 turn") || work.starts_with("W1 graph turn") {
        return "W1 turn";
    }
    if work.starts_with("W2 load") && !work.starts_with("W2 load last") {
        return "W2 load";
    }
    work.split(" (").next().unwrap_or(work)
}

/// The peers' stores that promise what ours does. A store that does not sync is no rival of one that does.
fn stores(backend: &str) -> &'static [&'static str] {
    match store(backend) {
        "sqlite" => &["sqlite", "advanced", "sqlalchemy", "database"],
        "sqlite NORMAL" => &["sqlite", "advanced", "sqlalchemy", "database", "libsql"],
        "postgres" => &["pg"],
        "redis" => &["redis"],
        "memory" => &["memory"],
        _ => &[],
    }
}

/// The store below, on whichever level it is used.
fn store(backend: &str) -> &str {
    backend.trim_end_matches(" Context")
}

fn short(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    fn line(peer: &str, backend: &str, work: &str, v: f64, unit: &str) -> String {
        format!(
            r#"{{"round": 1, "place": "disk", "peer": "{peer}", "backend": "{backend}", "work": "{work}", "p": 100, "v": {v}, "unit": "{unit}", "note": ""}}"#
        )
    }

    fn ratio(lines: &[String]) -> Option<f64> {
        let table = Table::of(&lines.join("\n"));
        let ours = table.0.iter().find(|row| row.is_ours()).unwrap();
        table.best_peer(ours).map(|best| ours.ratio(best))
    }

    #[test]
    fn a_time_is_better_where_it_is_shorter() {
        let lines = [
            line("ambit", "sqlite", "W1 append only", 2.0, "ms/turn"),
            line("A", "sqlite", "W1 append only", 4.0, "ms/turn"),
            line("B", "sqlalchemy", "W1 append only", 6.0, "ms/turn"),
        ];
        assert_eq!(ratio(&lines), Some(2.0));
    }

    #[test]
    fn a_rate_is_better_where_it_is_higher() {
        let lines = [
            line(
                "ambit",
                "postgres",
                "W6 different sessions",
                900.0,
                "turns/s",
            ),
            line("A", "pg", "W6 different sessions", 100.0, "turns/s"),
            line("B", "pg", "W6 different sessions", 300.0, "turns/s"),
        ];
        assert_eq!(ratio(&lines), Some(3.0));
    }

    #[test]
    fn a_peer_that_does_not_sync_is_no_rival_of_a_store_that_does() {
        let lines = [
            line("ambit", "sqlite", "W4 set", 10.0, "ops/s"),
            line("A", "libsql", "W4 set", 1.0, "ops/s"),
        ];
        assert_eq!(ratio(&lines), None);
    }

    #[test]
    fn the_same_work_by_another_way_is_compared() {
        let lines = [
            line(
                "ambit",
                "sqlite",
                "W1 turn (load last 10 + append)",
                1.0,
                "ms/turn",
            ),
            line(
                "A",
                "sqlite",
                "W1 graph turn, durability=exit",
                5.0,
                "ms/turn",
            ),
            line("B", "sqlite", "W1 append only", 2.0, "ms/turn"),
        ];
        assert_eq!(ratio(&lines), Some(5.0));
    }

    #[test]
    fn rounds_make_a_median_and_other_lines_are_passed_over() {
        let mut lines: Vec<String> = [3.0, 1.0, 2.0]
            .map(|value| line("ambit", "sqlite", "W2 load", value, "ms"))
            .to_vec();
        lines.push("Loading models …".to_owned());
        lines.push(
            r#"{"peer":"A","backend":"x","work":"W4 KV memory","p":0,"v":null,"unit":"n/a"}"#
                .to_owned(),
        );
        let table = Table::of(&lines.join("\n"));
        assert_eq!(table.0.len(), 1);
        assert_eq!(table.0[0].median(), 2.0);
    }
}
