//! Why a row loses, where the page's own figures, a count, or a profile that names its day say so. Rows that no reason is given for
//! stand on the page without one.

mod figures;

use super::table::{Measured, Table};

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

const SQLITE: &[&str] = &["sqlite", "sqlite NORMAL", "sqlite Context"];
/// Those whose commits are synced.
const SYNCED: &[&str] = &["sqlite", "sqlite Context"];

const REASONS: &[Reason] = &[
    reason(
        "W1 append only",
        &["redis Context"],
        "the index row is read before the commit, a round trip more than the bare driver, which takes {redis|W1 append only}",
    )
    .about(About::Cost),
    reason(
        "W1 append only",
        SQLITE,
        "a commit goes through the writer's thread, and a lone caller waits for both changes of thread. Measured apart, that is two to three times a commit on the caller's own thread",
    )
    .at("tmpfs")
    .about(About::Cost),
    reason(
        "W1 append only",
        SYNCED,
        "one sync of the disk a turn, as of the peer: without the disk it takes {W1 append only@tmpfs}",
    )
    .at("disk")
    .about(About::Cost),
    reason(
        "W1 turn (load last",
        &["postgres Context"],
        "two reads, one after the other, and a commit: what the view shows is read first, so that no entries are read in vain. The bare driver takes {postgres|W1 turn (load last 10 + append)}",
    ),
    reason(
        "W1 turn (load all",
        &["sqlite NORMAL", "postgres", "postgres Context"],
        "Mastra loads the last 10 messages, its default: Ambit does that in {W1 turn (load last 10 + append)}",
    )
    .about(About::Peer("Mastra")),
    reason(
        "W1 turn (load all",
        SQLITE,
        "the emulation is plain sqlite3 in one process, without sessions, numbers or other writers",
    )
    .at("tmpfs")
    .about(About::Peer("LarAgent")),
    reason(
        "W1 turn (load all",
        &["sqlite Context"],
        "all messages are made of their JSON; the bare driver hands over its text, in {sqlite|W1 turn (load all + append)}",
    ),
    reason(
        "W1 turn (load all",
        &["postgres Context"],
        "all messages are made of their JSON; the bare driver hands over its text, in {postgres|W1 turn (load all + append)}",
    ),
    reason(
        "W1 turn (load all",
        &["redis Context"],
        "all messages are made of their JSON; the bare driver hands over its text, in {redis|W1 turn (load all + append)}",
    ),
    reason(
        "W1 written",
        SQLITE,
        "four pages of 4 KiB with the headers of their frames in the write-ahead log are 16.1 KiB",
    )
    .up_to(18.0),
    reason(
        "W1 syncs",
        SYNCED,
        "16 callers in two groups are at the limit already, 2 syncs for 16 turns. A commit waits for those who shared the last one as long as that one took, 1 ms at most (decision 0005): who comes later is in a third",
    ),
    reason(
        "W2",
        &["postgres Context"],
        "three reads in two waves, the overlay and the head, then the messages, which are made of their JSON; the bare driver hands over its text in {postgres|W2 load}",
    )
    .about(About::Cost),
    reason(
        "W2",
        &["postgres"],
        "one statement in one round trip; profile of 23 November: of the client's processor time half is the protocol, a quarter the rows as entries",
    )
    .about(About::Cost),
    reason(
        "W2",
        &["redis Context"],
        "three reads in two waves, the overlay and the head, then the messages, which are made of their JSON; the bare driver hands over its text in {redis|W2 load}",
    )
    .about(About::Cost),
    reason(
        "W2",
        &["redis"],
        "one transaction in one round trip; profile of 23 November: of the client's processor time 78 % is the driver with Redis's client library",
    )
    .about(About::Cost),
    reason(
        "W2",
        &["sqlite Context"],
        "messages are made of their JSON, and the overlay and the head are read first; the bare driver hands over its text in {sqlite|W2 load}",
    )
    .about(About::Cost),
    reason(
        "W3 list",
        &["postgres Context"],
        "statistics do not know the new tenant beside a million rows of another: all its rows are walked in their order for the user's 100 (plan of 23 November)",
    )
    .about(About::Cost),
    reason(
        "W3 list",
        &["postgres"],
        "for each of the 100 rows one page is its own, one its history's and three to four are those of the agents that have touched it (plan of 23 November)",
    )
    .about(About::Cost),
    reason(
        "W3 list",
        SQLITE,
        "100 rows, each whole; profile of 23 November: 24 to 29 % SQLite's steps, 28 % the JSON in the rows, 26 % the rest of making them",
    )
    .about(About::Cost),
    reason(
        "W4 set",
        &["memory"],
        "profile of 23 November: 49 % the store and its maps, 43 % the value as JSON text",
    ),
    reason(
        "W6",
        &["redis Context"],
        "four round trips a turn: two reads, the index row, the commit; the bare driver, which makes two, {redis|W6 different sessions}",
    ),
    reason(
        "W6",
        &["redis"],
        "Redis runs one script at a time, 9 commands in one to append; in the profile of 23 November its one thread took 58 % of the processor time",
    ),
    reason(
        "W8 syncs",
        &["sqlite"],
        "the hook's two writes to memory are each on the disk before it goes on: {W8 synced commits}, and {W8 synced commits (no writes to memory)} of hooks without them",
    ),
    reason(
        "W8 synced commits",
        &["sqlite"],
        "the hook's two writes to memory are each on the disk before it goes on: without them it is {W8 synced commits (no writes to memory)}",
    )
    .about(About::Memory),
    reason(
        "W8 statements",
        &["sqlite"],
        "the hook writes to memory twice, each a commit: without that it is {W8 statements (no writes to memory)}",
    )
    .about(About::Memory),
    reason(
        "W8 WAL pages",
        &["sqlite"],
        "the hook writes to memory twice, each a commit: without that it is {W8 WAL pages (no writes to memory)}",
    )
    .about(About::Memory),
    reason(
        "W8 turns",
        &["sqlite"],
        "a turn waits for the disk, {W8 syncs}, two of them for the hook's writes to memory; without the disk it is {W8 turns@tmpfs}",
    )
    .at("disk"),
    reason(
        "W8 turns",
        &["sqlite"],
        "a turn takes {W8 server's CPU} of the server's processor time, on cores that the clients use too",
    )
    .at("tmpfs"),
    reason(
        "W8 turns",
        &["postgres"],
        "PostgreSQL takes {W19 PostgreSQL's CPU#1} of a turn and the server {W19 nodes' CPU#1}, on the same cores, as the clients",
    ),
    reason(
        "W8 server's CPU",
        &["sqlite"],
        "a turn runs {W8 statements} and writes {W8 WAL pages}; hooks without writes to memory {W8 statements (no writes to memory)} and {W8 WAL pages (no writes to memory)}",
    )
    .at("tmpfs"),
    reason(
        "W13 index with vectors",
        &["sqlite"],
        "an index of words is made too, which alone goes at {W13 index by words}; the peers make none",
    ),
    reason(
        "W13 query p99, while indexing",
        &["sqlite"],
        "each commit makes a new state of the index, whose list of parts the next query reads again",
    ),
    reason(
        "W13 written",
        &["sqlite"],
        "merges: of 1,000 chunks, which are merged less often, it is {W13 written#1000}; pages that merges move are half of what is written (decision 0031)",
    ),
    reason(
        "W15 token",
        &["memory"],
        "the pass-through takes no turn, has no messages and keeps nothing",
    )
    .about(About::Peer("pass-through")),
    reason(
        "W15 token",
        &["sqlite", "postgres"],
        "a token is stored before it is sent, so that its number is never another's, and the next step waits 8 ms (decision 0026); the pass-through stores nothing",
    )
    .about(About::Peer("pass-through")),
    reason(
        "W16 clone",
        &[],
        "the build takes {W16 build} of it; which crates take that is in decision 0024",
    ),
    reason(
        "W16 edit",
        &[],
        "the runtime is built anew, and what is above it: the library and the program (decision 0024 has their seconds)",
    ),
    reason(
        "W17 turn, statements",
        &["sqlite"],
        "the hook writes to memory twice, each a commit: without that it is {W8 statements (no writes to memory)}",
    ),
    reason(
        "W17 turn in a store, statements",
        &["sqlite"],
        "the hook writes to memory twice, each a commit: without that it is {W8 statements (no writes to memory)}",
    ),
];

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
        let row = [("W15 token, p99", "postgres", "disk", 1.0)];
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
