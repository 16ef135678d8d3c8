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
