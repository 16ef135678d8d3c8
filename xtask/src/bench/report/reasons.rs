//! Why a row loses, where that is known. Rows that no reason is given for stand on the page without one.

use super::line::ResultLine;

/// Why results whose work and store begin so are not better; the first that fits counts.
struct Reason {
    work: &'static str,
    store: &'static str,
    /// Where the files are; empty for both.
    place: &'static str,
    why: &'static str,
}

const REASONS: &[Reason] = &[
    Reason {
        work: "W1 append only",
        store: "redis Context",
        place: "",
        why: "two round trips, since the index row is read before the commit, with 15 commands in two scripts; 49 % of the processor time is Redis's",
    },
    Reason {
        work: "W1 append only",
        store: "postgres Context",
        place: "",
        why: "62 % of the processor time is the server's; from 100 messages on it does not grow: 1.13, 1.13, 1.25, 1.16 ms",
    },
    Reason {
        work: "W1 append only",
        store: "sqlite Context",
        place: "tmpfs",
        why: "at every length 12 calls of the system for 3 pages and 2 changes of thread; profile: 52 % the writer, more than half of it the kernel, 48 % the caller; over 50,000 turns of one chat the processor time of a turn does not grow",
    },
    Reason {
        work: "W1 append only",
        store: "sqlite",
        place: "tmpfs",
        why: "at every length 12 calls of the system for 3 pages and 2 changes of thread; profile: 35 % the kernel for the writer, 29 % SQLite, 34 % the caller; over 50,000 turns of one chat the processor time of a turn does not grow",
    },
    Reason {
        work: "W1 turn (load last",
        store: "postgres Context",
        place: "",
        why: "two reads, one after the other, and a commit: what the view shows is read first, so that no entries are read in vain",
    },
    Reason {
        work: "W1 written",
        store: "sqlite Context",
        place: "",
        why: "four pages of 4 KiB with the headers of their frames in the write-ahead log are 16.1 KiB; at 100,000 a checkpoint of 903 pages of the messages before falls into these turns, four fifths of the bytes",
    },
    Reason {
        work: "W1 append only",
        store: "sqlite",
        place: "disk",
        why: "most of it is one sync of the disk, for which the peer waits too",
    },
    Reason {
        work: "W1 turn (load all",
        store: "sqlite NORMAL",
        place: "",
        why: "Mastra loads the last 10 messages, its default: see the row of the last 10",
    },
    Reason {
        work: "W1 turn (load all",
        store: "postgres",
        place: "",
        why: "Mastra loads the last 10 messages, its default: see the row of the last 10",
    },
    Reason {
        work: "W1 turn (load all",
        store: "sqlite",
        place: "tmpfs",
        why: "the emulation is plain sqlite3 in one process, without sessions, numbers or other writers",
    },
    Reason {
        work: "W1 written",
        store: "sqlite",
        place: "",
        why: "four pages of 4 KiB with the headers of their frames in the write-ahead log are 16.1 KiB",
    },
    Reason {
        work: "W1 syncs",
        store: "sqlite",
        place: "",
        why: "who comes while a commit is under way waits for the next one, so that two take turns",
    },
    Reason {
        work: "W2",
        store: "postgres Context",
        place: "",
        why: "three reads in two waves: the overlay and the head, then the messages; of the client's processor time 32 % is JSON to messages, 24 % the protocol",
    },
    Reason {
        work: "W2",
        store: "postgres",
        place: "",
        why: "one statement in one round trip; of the client's processor time half is the protocol, a quarter the rows as entries",
    },
    Reason {
        work: "W2",
        store: "redis Context",
        place: "",
        why: "three reads in two waves: the overlay and the head, then the messages; of the client's processor time 42 % is JSON to messages, 29 % the driver",
    },
    Reason {
        work: "W2",
        store: "redis",
        place: "",
        why: "one transaction in one round trip; of the client's processor time 78 % is the driver with Redis's client library",
    },
    Reason {
        work: "W2",
        store: "sqlite Context",
        place: "",
        why: "profile: 37 % SQLite and copies of its text, 36 % JSON to messages, 4 % the overlay and the head, which are read first",
    },
    Reason {
        work: "W3",
        store: "postgres Context",
        place: "",
        why: "statistics do not know the new tenant beside a million rows of another: all its 10,000 rows are walked in their order for the user's 100, 56 % of the statement",
    },
    Reason {
        work: "W3",
        store: "postgres",
        place: "",
        why: "for each of the 100 rows one page is its own, one its history's and three to four are those of the agents that have touched it",
    },
    Reason {
        work: "W3",
        store: "sqlite",
        place: "",
        why: "profile: 24 to 29 % SQLite's steps, 28 % the JSON in the rows, 26 % the rest of making them; 100 rows, each whole",
    },
    Reason {
        work: "W4 set",
        store: "memory",
        place: "",
        why: "profile: 49 % the store and its maps, 43 % the value as JSON text",
    },
    Reason {
        work: "W6",
        store: "redis Context",
        place: "",
        why: "four round trips a turn: two reads, the index row, the commit; 15 commands in two scripts to append, 49 % of the processor time Redis's one thread",
    },
    Reason {
        work: "W6",
        store: "redis",
        place: "",
        why: "Redis runs one script at a time: 9 commands in one to append, 58 % of the processor time is its one thread's",
    },
    Reason {
        work: "W4",
        store: "postgres",
        place: "",
        why: "one caller at a time: a round trip and a sync of the server each, for both",
    },
    Reason {
        work: "W4",
        store: "sqlite",
        place: "disk",
        why: "one caller at a time: a sync of the disk each, for both",
    },
    Reason {
        work: "W5",
        store: "postgres",
        place: "",
        why: "two transactions at a time are shared by all who wait; the gain grows with the callers",
    },
    Reason {
        work: "W6",
        store: "postgres",
        place: "",
        why: "two transactions at a time are shared by all who wait; the gain grows with the callers",
    },
    Reason {
        work: "W7",
        store: "memory",
        place: "",
        why: "each hook has a memory of its own that is put back before it, and its `ctx` is made anew",
    },
    Reason {
        work: "W8 syncs",
        store: "sqlite",
        place: "",
        why: "the hook's two writes to memory are each on the disk before it goes on; a turn without them has two syncs",
    },
    Reason {
        work: "W8",
        store: "sqlite",
        place: "",
        why: "profile: 61 % tasks (a sixth of it the kernel, a fifth copies and allocations, the rest flat), 22 % SQLite's writer, 16 % scripts; LangGraph's is a call in its own process",
    },
    Reason {
        work: "W8",
        store: "memory",
        place: "",
        why: "profile: as with SQLite without its writer: flat, the largest part JSON, copies and allocations; LangGraph's is a call in its own process",
    },
    Reason {
        work: "W10 start",
        store: "",
        place: "",
        why: "counted to the first byte of a first turn, with a store that is made first",
    },
    Reason {
        work: "W11 resident",
        store: "memory",
        place: "",
        why: "what the turns have stored is in the same process",
    },
    Reason {
        work: "W12",
        store: "sqlite",
        place: "",
        why: "0.1 ms are the way out of the script and back, and the rows as JSON",
    },
    Reason {
        work: "W13 index by words",
        store: "sqlite",
        place: "",
        why: "FTS5 makes no stems, and keeps of a chunk only that a word is in it",
    },
    Reason {
        work: "W13 index with vectors",
        store: "sqlite",
        place: "",
        why: "half of it is the index of words, which the peers do not make; a vector is kept as it is and, for searches, as codes of 8 bits",
    },
    Reason {
        work: "W13 query p99, while indexing",
        store: "sqlite",
        place: "",
        why: "each commit makes a new state of the index, whose list of parts the next query reads again",
    },
    Reason {
        work: "W13 written",
        store: "sqlite",
        place: "",
        why: "one level of merges more than at 20,000 chunks, where it is 7.84",
    },
    Reason {
        work: "W14 query by vector, p99",
        store: "sqlite",
        place: "",
        why: "the slowest of a hundred; the median is less than half of sqlite-vec's",
    },
    Reason {
        work: "W15 token",
        store: "memory",
        place: "",
        why: "the pass-through takes no turn, has no messages and keeps nothing",
    },
    Reason {
        work: "W15 token",
        store: "",
        place: "",
        why: "a token is stored before it is sent, so that its number is never another's; the pass-through stores nothing",
    },
    Reason {
        work: "W16 clone",
        store: "",
        place: "",
        why: "on 23 November two cores took 11 min 43 s for the build, and of that the runtime 247 s, the library 92 s, the program 33 s (decision 0024)",
    },
    Reason {
        work: "W16 edit",
        store: "",
        place: "",
        why: "the runtime is built anew, and what is above it: on 23 November 247 s, and 92 s and 33 s for the library and the program (decision 0024)",
    },
    Reason {
        work: "W18",
        store: "memory",
        place: "",
        why: "a turn's processor time rises from 1.56 to 1.99 ms with the second core, though 0.35 % waits for locks",
    },
];

/// The reason for this row, or nothing.
pub fn of(line: &ResultLine) -> &'static str {
    let is_for = |reason: &&Reason| {
        line.work.starts_with(reason.work)
            && line.backend.starts_with(reason.store)
            && line.place.starts_with(reason.place)
    };
    REASONS.iter().find(is_for).map_or("", |reason| reason.why)
}
