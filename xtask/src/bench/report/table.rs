//! All results of a run: medians over its rounds, and Ambit's beside those of peers that did the same on the same kind of store.

use super::line::ResultLine;
use super::text;
use super::work::{kind, number};
use std::collections::BTreeMap;

/// The results of one thing measured, over all rounds.
#[derive(Clone, Debug)]
pub struct Measured {
    pub line: ResultLine,
    values: Vec<f64>,
}

impl Measured {
    pub fn median(&self) -> f64 {
        median(self.values.clone())
    }

    /// The median with its unit.
    pub fn figure(&self) -> String {
        format!("{} {}", text::number(self.median()), self.line.unit)
    }

    pub fn is_ours(&self) -> bool {
        self.line.peer == "ambit"
    }

    /// How many times better this is than the other.
    pub fn ratio(&self, other: &Self) -> f64 {
        if is_count(&self.line) {
            self.part() / other.part()
        } else if is_rate(&self.line.unit) {
            self.median() / other.median()
        } else {
            other.median() / self.median()
        }
    }

    /// What is there of what should be.
    fn part(&self) -> f64 {
        self.median() / self.line.p as f64
    }
}

/// All results, ordered by work, size, place, and who did it.
#[derive(Debug)]
pub struct Table(pub Vec<Measured>);

impl Table {
    pub fn of(lines: impl Iterator<Item = ResultLine>) -> Self {
        let mut rows: BTreeMap<(u32, String), Measured> = BTreeMap::new();
        for line in lines {
            let Some(value) = line.v else {
                continue;
            };
            let rest = format!(
                "{}|{}|{:012}|{}|{}",
                line.work, line.place, line.p, line.peer, line.backend
            );
            let values = Vec::new();
            let row = rows.entry((number(&line.work), rest));
            row.or_insert(Measured { line, values }).values.push(value);
        }
        Self(rows.into_values().collect())
    }

    /// The best peer that did the same on the same kind of store.
    pub fn best_peer(&self, ours: &Measured) -> Option<&Measured> {
        self.best_of(ours, |_| true)
    }

    /// The best of those peers.
    pub fn best_of(
        &self,
        ours: &Measured,
        which: impl Fn(&ResultLine) -> bool,
    ) -> Option<&Measured> {
        self.peers(ours).into_iter().find(|row| which(&row.line))
    }

    /// The best of those peers that were measured at smaller sizes alone, at the largest of these.
    pub fn best_below(
        &self,
        ours: &Measured,
        which: impl Fn(&ResultLine) -> bool,
    ) -> Option<&Measured> {
        let is_below = |row: &&Measured| {
            let is_peer = !row.is_ours() && which(&row.line);
            is_peer && is_same_work(&ours.line, &row.line) && row.line.p < ours.line.p
        };
        let below = self.0.iter().filter(is_below);
        below.max_by_key(|row| row.line.p)
    }

    /// Whether a result of Ambit's stands beside this one of a peer.
    pub fn has_ours(&self, peer: &Measured) -> bool {
        let mut rows = self.0.iter();
        rows.any(|row| row.is_ours() && is_comparable(&row.line, &peer.line))
    }

    /// All peers that did the same on the same kind of store, the best first.
    pub fn peers(&self, ours: &Measured) -> Vec<&Measured> {
        let rows = self.0.iter();
        let mut peers: Vec<&Measured> = rows
            .filter(|row| !row.is_ours() && is_comparable(&ours.line, &row.line))
            .collect();
        peers.sort_by(|a, b| ours.ratio(a).total_cmp(&ours.ratio(b)));
        peers
    }
}

fn is_rate(unit: &str) -> bool {
    unit.ends_with("/s") || unit == "%"
}

/// True where the value says how much is there of `p`.
fn is_count(line: &ResultLine) -> bool {
    line.work.starts_with("W4c") || line.work == "W5 same session, survived"
}

/// The middle value, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(at(middle.wrapping_sub(1)), at(middle))
    } else {
        at(middle)
    }
}

/// True where a peer's result can be set beside ours.
fn is_comparable(ours: &ResultLine, peer: &ResultLine) -> bool {
    let is_memory = ours.work.starts_with("W4");
    // Operations on memory cost the same however many are measured.
    is_same_work(ours, peer) && (ours.p == peer.p || is_memory || is_count(ours))
}

/// True where a peer did the same on a store that promises the same, at whichever size.
fn is_same_work(ours: &ResultLine, peer: &ResultLine) -> bool {
    kind(&ours.work) == kind(&peer.work)
        && ours.unit == peer.unit
        && ours.place == peer.place
        && is_same_store(ours, peer)
}

/// True where the peer's store promises what ours does. Servers are compared whole: one whose store does not sync has it
/// easier than ours, and is a rival all the same. So is what keeps nothing, where it was measured beside this store.
fn is_same_store(ours: &ResultLine, peer: &ResultLine) -> bool {
    let is_server = ours.work.starts_with("W8") || ours.work.starts_with("W15");
    peer.peer == "pass-through" && peer.backend == ours.backend
        || stores(&ours.backend).contains(&peer.backend.as_str())
        || is_server && store(&ours.backend) == "sqlite" && peer.backend == "libsql"
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
pub fn store(backend: &str) -> &str {
    backend.trim_end_matches(" Context")
}

#[cfg(test)]
mod tests {
    use super::Table;
    use crate::bench::report::line;

    fn line(peer: &str, backend: &str, work: &str, v: f64, unit: &str) -> String {
        format!(
            r#"{{"round": 1, "place": "disk", "peer": "{peer}", "backend": "{backend}", "work": "{work}", "p": 100, "v": {v}, "unit": "{unit}", "note": ""}}"#
        )
    }

    fn table(lines: &[String]) -> Table {
        let lines = line::all(&lines.join("\n"));
        Table::of(lines.results.into_iter())
    }

    fn ratio(lines: &[String]) -> Option<f64> {
        let table = table(lines);
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
        let table = table(&lines);
        assert_eq!(table.0.len(), 1);
        assert_eq!(table.0[0].median(), 2.0);
    }
}
