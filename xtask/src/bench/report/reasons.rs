//! Why a row loses, where something that was measured says so. Rows that no reason is given for stand on the page without one.

use super::line::ResultLine;

/// Why results of a work are not better; the first that fits counts.
struct Reason {
    /// What the name of the work begins with.
    work: &'static str,
    /// These stores alone; all where there is none.
    stores: &'static [&'static str],
    /// Where the files are; empty for both.
    place: &'static str,
    about: About,
    why: &'static str,
}

/// What a reason explains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// Whatever the row loses.
    Row,
    /// What it costs, not that it grows.
    Cost,
    /// That a peer is better, not that a target is missed.
    Peer,
}

impl Reason {
    const fn at(self, place: &'static str) -> Self {
        Self { place, ..self }
    }

    const fn about(self, about: About) -> Self {
        Self { about, ..self }
    }

    fn is_for(&self, line: &ResultLine, missed: &[String]) -> bool {
        let is_about_it = match self.about {
            About::Row => true,
            About::Cost => !missed.iter().any(|target| target.contains("× the same at")),
            About::Peer => missed.is_empty(),
        };
        is_about_it
            && line.work.starts_with(self.work)
            && (self.stores.is_empty() || self.stores.contains(&line.backend.as_str()))
            && line.place.starts_with(self.place)
    }
}

const fn reason(work: &'static str, stores: &'static [&'static str], why: &'static str) -> Reason {
    Reason {
        work,
        stores,
        place: "",
        about: About::Row,
        why,
    }
}

const SQLITE: &[&str] = &["sqlite", "sqlite NORMAL", "sqlite Context"];
/// Those whose commits are synced.
const SYNCED: &[&str] = &["sqlite", "sqlite Context"];
/// Those that are measured below contexts.
const DRIVERS: &[&str] = &["sqlite", "sqlite NORMAL"];

const REASONS: &[Reason] = &[
    reason(
        "W1 append only",
        &["redis Context"],
        "two round trips, since the index row is read before the commit, with 15 commands in two scripts; 49 % of the processor time is Redis's",
    )
    .about(About::Cost),
    reason(
        "W1 append only",
        &["sqlite Context"],
        "12 calls of the system for 3 pages and 2 changes of thread; profile: 52 % the writer, more than half of it the kernel, 48 % the caller. Measured apart, a commit through a writer's thread takes a lone caller 60 to 80 µs, one on its own thread 22 to 32",
    )
    .at("tmpfs")
    .about(About::Cost),
    reason(
        "W1 append only",
        &["sqlite"],
        "12 calls of the system for 3 pages and 2 changes of thread; profile: 35 % the kernel for the writer, 29 % SQLite, 34 % the caller. Measured apart, a commit through a writer's thread takes a lone caller 60 to 80 µs, one on its own thread 22 to 32",
    )
    .at("tmpfs")
    .about(About::Cost),
    reason(
        "W1 append only",
        &["sqlite NORMAL"],
        "measured apart, a commit through a writer's thread takes a lone caller 60 to 80 µs, one on its own thread 22 to 32",
    )
    .at("tmpfs")
    .about(About::Cost),
    reason(
        "W1 append only",
        SYNCED,
        "one sync of the disk a turn (the row of W1 syncs), and one of the peer's, counted; what is left without the disk is in the rows on tmpfs",
    )
    .at("disk")
    .about(About::Cost),
    reason(
        "W1 turn (load last",
        &["postgres Context"],
        "two reads, one after the other, and a commit: what the view shows is read first, so that no entries are read in vain",
    ),
    reason(
        "W1 turn (load all",
        &["sqlite NORMAL", "postgres", "postgres Context"],
        "Mastra loads the last 10 messages, its default: see the row of the last 10",
    )
    .about(About::Peer),
    reason(
        "W1 turn (load all",
        SQLITE,
        "the emulation is plain sqlite3 in one process, without sessions, numbers or other writers",
    )
    .at("tmpfs")
    .about(About::Peer),
    reason(
        "W1 written",
        &["sqlite Context"],
        "four pages of 4 KiB with the headers of their frames in the write-ahead log are 16.1 KiB; at 100,000 a checkpoint of 903 pages of the messages before falls into these turns, four fifths of the bytes",
    ),
    reason(
        "W1 written",
        DRIVERS,
        "four pages of 4 KiB with the headers of their frames in the write-ahead log are 16.1 KiB",
    ),
    reason(
        "W1 syncs",
        SYNCED,
        "16 callers in two groups are at the limit already, 2 syncs for 16 turns. A commit waits for those who shared the last one as long as that one took, 1 ms at most (decision 0005): who comes later is in a third",
    ),
    reason(
        "W2",
        &["postgres Context"],
        "three reads in two waves: the overlay and the head, then the messages; of the client's processor time 32 % is JSON to messages, 24 % the protocol",
    ),
    reason(
        "W2",
        &["postgres"],
        "one statement in one round trip; of the client's processor time half is the protocol, a quarter the rows as entries",
    ),
    reason(
        "W2",
        &["redis Context"],
        "three reads in two waves: the overlay and the head, then the messages; of the client's processor time 42 % is JSON to messages, 29 % the driver",
    ),
    reason(
        "W2",
        &["redis"],
        "one transaction in one round trip; of the client's processor time 78 % is the driver with Redis's client library",
    ),
    reason(
        "W2",
        &["sqlite Context"],
        "profile: 37 % SQLite and copies of its text, 36 % JSON to messages, 4 % the overlay and the head, which are read first",
    ),
    reason(
        "W3 list",
        &["postgres Context"],
        "statistics do not know the new tenant beside a million rows of another: all its 10,000 rows are walked in their order for the user's 100, 56 % of the statement",
    )
    .about(About::Cost),
    reason(
        "W3 list",
        &["postgres"],
        "for each of the 100 rows one page is its own, one its history's and three to four are those of the agents that have touched it",
    )
    .about(About::Cost),
    reason(
        "W3 list",
        SQLITE,
        "profile: 24 to 29 % SQLite's steps, 28 % the JSON in the rows, 26 % the rest of making them; 100 rows, each whole",
    )
    .about(About::Cost),
    reason(
        "W4 set",
        &["memory"],
        "profile: 49 % the store and its maps, 43 % the value as JSON text",
    ),
    reason(
        "W6",
        &["redis Context"],
        "four round trips a turn: two reads, the index row, the commit; 15 commands in two scripts to append, 49 % of the processor time Redis's one thread",
    ),
    reason(
        "W6",
        &["redis"],
        "Redis runs one script at a time: 9 commands in one to append, 58 % of the processor time is its one thread's",
    ),
    reason(
        "W8 syncs",
        &["sqlite"],
        "the hook's two writes to memory are each on the disk before it goes on: four synced commits, counted, and two without them",
    ),
    reason(
        "W8 turns",
        &["sqlite"],
        "a turn has four synced commits, two of them the hook's writes to memory (the row of W8 syncs); Mastra's store syncs none. What is left without the disk is in the rows on tmpfs",
    )
    .at("disk"),
    reason(
        "W8",
        &["sqlite"],
        "profile: 61 % tasks (a sixth of it the kernel, a fifth copies and allocations, the rest flat), 22 % SQLite's writer, 16 % scripts",
    )
    .at("tmpfs"),
    reason(
        "W13 index by words",
        &["sqlite"],
        "two fifths of it is making the terms (decision 0031); FTS5 makes no stems, and keeps of a chunk only that a word is in it",
    ),
    reason(
        "W13 index with vectors",
        &["sqlite"],
        "half of it is the index of words, which the peers do not make; a vector is kept as it is and, for searches, as codes of 8 bits",
    ),
    reason(
        "W13 query p99, while indexing",
        &["sqlite"],
        "each commit makes a new state of the index, whose list of parts the next query reads again",
    ),
    reason(
        "W13 written",
        &["sqlite"],
        "one level of merges more than at 20,000 chunks, where it was 7.84; pages that merges move are half of what is written (decision 0031)",
    ),
    reason(
        "W15 token",
        &["memory"],
        "the pass-through takes no turn, has no messages and keeps nothing",
    )
    .about(About::Peer),
    reason(
        "W15 token",
        &["sqlite", "postgres", "postgres Context"],
        "a token is stored before it is sent, so that its number is never another's: a commit, 0.2 ms on a local disk, and 8 ms to the next one (decision 0026); the pass-through stores nothing",
    )
    .about(About::Peer),
    reason(
        "W16 clone",
        &[],
        "on 23 November two cores took 11 min 43 s for the build, and of that the runtime 247 s, the library 92 s, the program 33 s (decision 0024)",
    ),
    reason(
        "W16 edit",
        &[],
        "the runtime is built anew, and what is above it: on 23 November 247 s, and 92 s and 33 s for the library and the program (decision 0024)",
    ),
    reason(
        "W17 turn, statements",
        &["sqlite"],
        "the hook makes two durable writes to memory; the test that counts a turn's statements allows 63 with two such writes and 53 without any",
    ),
    reason(
        "W17 turn in a store, statements",
        &["sqlite"],
        "the hook makes two durable writes to memory; the test that counts a turn's statements allows 63 with two such writes and 53 without any",
    ),
];

/// The reason for this row, which misses these targets, or nothing.
pub fn of(line: &ResultLine, missed: &[String]) -> &'static str {
    let mut reasons = REASONS.iter();
    let fitting = reasons.find(|reason| reason.is_for(line, missed));
    fitting.map_or("", |reason| reason.why)
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::bench::report::line::ResultLine;

    fn line(work: &str, backend: &str, place: &str) -> ResultLine {
        ResultLine {
            place: place.to_owned(),
            peer: "ambit".to_owned(),
            backend: backend.to_owned(),
            work: work.to_owned(),
            p: 1,
            v: None,
            unit: String::new(),
            note: String::new(),
        }
    }

    #[test]
    fn what_explains_a_cost_does_not_explain_its_growth() {
        let line = line("W1 append only", "sqlite", "tmpfs");
        let cost = "≥ 5 × OpenAI Agents: 4.3, **missed**".to_owned();
        let growth = "≤ 1.2 × the same at 10: 1.32, **missed**".to_owned();
        assert!(!of(&line, std::slice::from_ref(&cost)).is_empty());
        assert_eq!(of(&line, &[cost, growth]), "");
    }

    #[test]
    fn what_explains_a_peer_does_not_explain_a_missed_target() {
        let line = line("W15 token, p99", "postgres", "disk");
        assert!(!of(&line, &[]).is_empty());
        assert_eq!(of(&line, &["≤ 40: **missed**".to_owned()]), "");
    }

    #[test]
    fn a_store_that_does_not_sync_is_not_explained_by_syncs() {
        let of = |store| of(&line("W1 append only", store, "disk"), &[]);
        assert!(of("sqlite").contains("sync"));
        assert_eq!(of("sqlite NORMAL"), "");
    }
}
