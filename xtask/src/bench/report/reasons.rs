//! Why a row loses, where the page's own figures, a count, or a profile that names its day say so. Rows that no reason is given for
//! stand on the page without one.

mod figures;
mod known;

use super::table::{Measured, Table};
use known::REASONS;

/// A row that loses.
pub struct Loss<'a> {
    pub table: &'a Table,
    pub row: &'a Measured,
    /// The targets that it misses.
    pub missed: &'a [String],
    /// The peer that is better, where one is.
    pub better: Option<&'a Measured>,
}

/// Why results of a work are not better; the first that fits counts.
struct Reason {
    /// What the name of the work begins with.
    work: &'static str,
    /// These stores alone; all where there is none.
    stores: &'static [&'static str],
    /// Where the files are; empty for both.
    place: &'static str,
    about: About,
    /// It explains no value above this one.
    most: f64,
    /// With figures of Ambit's rows in braces, as `figures` reads them.
    why: &'static str,
}

/// What a reason explains.
#[derive(Clone, Copy)]
enum About {
    /// Whatever the row loses.
    Row,
    /// What it costs, not that it grows.
    Cost,
    /// That this peer is better, not that a target is missed.
    Peer(&'static str),
    /// The row of hooks that write to memory, not the one of those that do not.
    Memory,
}

impl Reason {
    const fn at(self, place: &'static str) -> Self {
        Self { place, ..self }
    }

    const fn about(self, about: About) -> Self {
        Self { about, ..self }
    }

    const fn up_to(self, most: f64) -> Self {
        Self { most, ..self }
    }

    fn is_for(&self, loss: &Loss<'_>) -> bool {
        let line = &loss.row.line;
        let is_about_it = match self.about {
            About::Row => true,
            About::Cost => !loss
                .missed
                .iter()
                .any(|target| target.contains("× the same at")),
            About::Peer(name) => {
                let is_better = |peer: &Measured| peer.line.peer.starts_with(name);
                loss.missed.is_empty() && loss.better.is_some_and(is_better)
            }
            About::Memory => !line.work.contains('('),
        };
        is_about_it
            && line.work.starts_with(self.work)
            && (self.stores.is_empty() || self.stores.contains(&line.backend.as_str()))
            && line.place.starts_with(self.place)
            && loss.row.median() <= self.most
    }
}

const fn reason(work: &'static str, stores: &'static [&'static str], why: &'static str) -> Reason {
    Reason {
        work,
        stores,
        place: "",
        about: About::Row,
        most: f64::INFINITY,
        why,
    }
}

/// The reason for this row, or nothing; a reason whose figures are not there is none.
pub fn of(loss: &Loss<'_>) -> String {
    let mut reasons = REASONS.iter();
    let fitting = reasons.find(|reason| reason.is_for(loss));
    let why = fitting.and_then(|reason| figures::filled(reason.why, loss.table, &loss.row.line));
    why.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Loss, of};
    use crate::bench::report::line;
    use crate::bench::report::table::{Measured, Table};

    /// The reason for the first of these results of Ambit's.
    fn why(results: &[(&str, &str, &str, f64)], missed: &[&str]) -> String {
        let lines: Vec<String> = results
            .iter()
            .map(|(work, backend, place, v)| {
                format!(r#"{{"place":"{place}","peer":"ambit","backend":"{backend}","work":"{work}","p":1,"v":{v},"unit":"ms"}}"#)
            })
            .collect();
        let table = Table::of(line::all(&lines.join("\n")).results.into_iter());
        let (work, backend, place, _) = results[0];
        let is_row = |row: &&Measured| {
            let line = &row.line;
            line.work == work && line.backend == backend && line.place == place
        };
        let missed: Vec<String> = missed.iter().map(|target| (*target).to_owned()).collect();
        of(&Loss {
            table: &table,
            row: table.0.iter().find(is_row).unwrap(),
            missed: &missed,
            better: None,
        })
    }

    const APPEND: &str = "W1 append only";

    #[test]
    fn what_explains_a_cost_does_not_explain_its_growth() {
        let row = [(APPEND, "sqlite", "tmpfs", 1.0)];
        let cost = "≥ 5 × OpenAI Agents: 4.3, **missed**";
        let growth = "≤ 1.2 × the same at 10: 1.32, **missed**";
        assert!(!why(&row, &[cost]).is_empty());
        assert_eq!(why(&row, &[cost, growth]), "");
    }

    #[test]
    fn what_explains_a_peer_does_not_explain_a_missed_target() {
        let row = [("W15 token, p99", "sqlite", "disk", 1.0)];
        assert_eq!(why(&row, &["≤ 40: **missed**"]), "");
        // Nor a row that no peer is better at.
        assert_eq!(why(&row, &[]), "");
    }

    #[test]
    fn a_reason_has_the_figures_of_the_page_or_is_none() {
        let disk = (APPEND, "sqlite", "disk", 1.0);
        let tmpfs = (APPEND, "sqlite", "tmpfs", 0.125);
        let expected =
            "one sync of the disk a turn, as of the peer: without the disk it takes 0.125 ms";
        assert_eq!(why(&[disk, tmpfs], &["x"]), expected);
        assert_eq!(why(&[disk], &["x"]), "");
    }

    #[test]
    fn a_store_that_does_not_sync_is_not_explained_by_syncs() {
        let rows = [
            (APPEND, "sqlite NORMAL", "disk", 1.0),
            (APPEND, "sqlite NORMAL", "tmpfs", 0.1),
        ];
        assert_eq!(why(&rows, &["x"]), "");
    }

    #[test]
    fn four_pages_do_not_explain_many() {
        let written = |kilobytes| {
            why(
                &[("W1 written by the process", "sqlite", "disk", kilobytes)],
                &["x"],
            )
        };
        assert!(written(16.6).starts_with("four pages"));
        assert_eq!(written(85.2), "");
    }
}
