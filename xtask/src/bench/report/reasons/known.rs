//! What is known of why results are not better.

use super::{About, Reason, reason};

const SQLITE: &[&str] = &["sqlite", "sqlite NORMAL", "sqlite Context"];
/// Those whose commits are synced.
const SYNCED: &[&str] = &["sqlite", "sqlite Context"];

pub const REASONS: &[Reason] = &[
    reason(
        "W1 append only",
        &["redis Context"],
        "the index row is read before the commit, a round trip more than the bare driver, which takes {redis|W1 append only}",
    )
    .about(About::Cost),
    reason(
        "W1 append only",
        SQLITE,
        "a commit goes through the writer's thread, and a lone caller waits for both changes of thread. Measured apart, that is two to three times a commit on the caller's own thread. The histories take turns, so that no append finds what the one before it has used, as those of the peers do",
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
        "W1 turn (load",
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
        "W1 turn (load all",
        &["sqlite", "sqlite NORMAL", "postgres", "redis"],
        "each of the messages is read; a turn that loads the last 10 takes {W1 turn (load last 10 + append)}",
    ),
    reason(
        "W1 written",
        SQLITE,
        "four pages of 4 KiB with the headers of their frames in the write-ahead log are 16.1 KiB",
    )
    .up_to(18.0),
    reason(
        "W1 written",
        &["sqlite Context"],
        "six pages; with longer histories it is three, {sqlite Context|W1 written by the process#100}",
    ),
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
        "W4 get",
        &["postgres", "postgres Context"],
        "a lone caller waits for one statement and its answer, as of the peer",
    )
    .about(About::Cost),
    reason(
        "W4",
        &["postgres", "postgres Context"],
        "a lone caller waits for PostgreSQL: a write is one commit with one sync, as of the peer; profile of 29 November: of the processor time PostgreSQL takes 72 %",
    )
    .about(About::Cost),
    reason(
        "W4",
        &["sqlite", "sqlite Context"],
        "a write is one sync of the disk, as of the peer; a lone caller waits for both changes of thread besides, as in W1",
    )
    .at("disk")
    .about(About::Cost),
    reason(
        "W4",
        &["sqlite NORMAL"],
        "a commit goes through the writer's thread, and a lone caller waits for both changes of thread, as in W1",
    )
    .about(About::Cost),
    reason(
        "W5",
        &["postgres Context"],
        "the reads of a turn and its index row are round trips more than the bare driver's, which makes {postgres|W5 same session}",
    ),
    reason(
        "W5",
        &["postgres"],
        "profile of 29 November: of the processor time PostgreSQL takes 77 %, on the same cores as the callers",
    ),
    reason(
        "W6",
        &["postgres Context"],
        "the reads of a turn and its index row are round trips more than the bare driver's, which makes {postgres|W6 different sessions}",
    ),
    reason(
        "W6",
        &["postgres"],
        "profile of 29 November: of the processor time PostgreSQL takes 72 %, on the same cores as the callers",
    ),
    reason(
        "W6",
        &["sqlite Context"],
        "the reads of a turn and its index row are more than the bare driver's, which makes {sqlite|W6 different sessions}",
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
        "W7",
        &["memory"],
        "profile of 29 November: 17 % values handed to the script, 9 % those taken from it, 9 % its runtime's memory put back, 3 % its module loaded, 24 % the threads that ask for it",
    ),
    reason(
        "W8 WAL pages (no",
        &["sqlite"],
        "a store of many chats: nearly each row that a turn writes is on another page (decisions 0069 and 0071 count them)",
    ),
    reason(
        "W8 tool round",
        &["sqlite"],
        "the calls are on the disk before their tools run, so that they run once, and the results behind them",
    ),
    reason(
        "W8 turn, p",
        &["postgres"],
        "LangGraph's graph runs in process, without HTTP, hooks, stream or trace",
    )
    .about(About::Peer("LangGraph")),
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
        "W8 server's CPU",
        &["memory"],
        "flat: in the profile of 29 November, over SQLite, no function takes 7 %; by kind 20 % the kernel, 13 % memory that is allocated, 8 % moved, 9 % scripts, 7 % JSON, 12 % Ambit's own code",
    ),
    reason(
        "W8 turns",
        &["memory"],
        "a turn takes {W8 server's CPU} of the server's processor time, on cores that the clients use too",
    ),
    reason(
        "W10 program",
        &[],
        "decision 0073 says what the program consists of",
    ),
    reason(
        "W10 start",
        &[],
        "profile of 29 November, of what is left there: a sixth is the script engine's prelude, which is compiled, an eighth the tables of the store",
    ),
    reason(
        "W10 growth",
        &["sqlite"],
        "on the same day a program that no profile guided grew by 0.5 and 0.6 MB; the guided one in an earlier run by -1",
    ),
    reason(
        "W10 resident after",
        &["sqlite"],
        "measured apart, of a program that no profile guided: of 159 MB 101 were the allocator's, which had 29 before the burst, and no less where it was told to give freed pages back at once",
    ),
    reason(
        "W10 resident",
        &["sqlite"],
        "measured apart, of a program that no profile guided: of 48 MB 36 were pages of the program's file, 9 what it had allocated, 3 the system's libraries",
    )
    .up_to(60.0),
    reason(
        "W11 resident",
        &["memory"],
        "some 300 kB a turn; of its blocks of more than 3 kB, as they were counted on 29 November, 28 kB are its work, 16 the buffers of its connection, 6 its task. The rest are smaller ones",
    ),
    reason(
        "W11 of the ideal",
        &["memory"],
        "a run of its own on 30 November had 90.5 %",
    ),
    reason(
        "W12 query from a hook",
        &["sqlite"],
        "the bare driver takes {W12 query by the bare driver}; in the run of 30 November, 02:48 UTC, both took longer and it was 2.46 times",
    ),
    reason(
        "W13 index by words",
        &["sqlite"],
        "FTS5 is a part of SQLite; this index is made of values that each store can keep, which are filtered before they are ranked and erased to the last byte",
    )
    .about(About::Peer("SQLite")),
    reason(
        "W13 index with vectors",
        &["sqlite"],
        "an index of words is made too, which alone goes at {W13 index by words}; the peers make none. Each vector of 384 numbers is a value of 2 kB besides, of which a page holds one",
    ),
    reason(
        "W13 query p99, while indexing",
        &["postgres"],
        "at {W13 index by words#1000} a commit of 250 chunks keeps PostgreSQL and the indexer busy for some 20 ms, on the same two cores as the query",
    ),
    reason(
        "W13 query p99, while indexing",
        &["redis"],
        "Redis runs a commit of 250 chunks as one script, and no query meanwhile",
    ),
    reason(
        "W13 written",
        &["sqlite"],
        "merges: of 1,000 chunks, which are merged less often, it is {W13 written#1000}; pages that merges move are half of what is written (decision 0031)",
    ),
    reason(
        "W14 query of 3 words, p50",
        &["postgres"],
        "SQLite answers in the process itself, in {sqlite|W14 query of 3 words, p50#1000}; PostgreSQL is asked whether the index is still the same",
    ),
    reason(
        "W14 query by vector, p50",
        &["sqlite"],
        "a hundred times as many vectors are compared as by the peer, which took too long to take in more",
    )
    .up_to(20.0)
    .about(About::Cost),
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
        "W17 start",
        &["sqlite"],
        "most of it is the start of the program, as in W10, which was measured with a later commit that starts sooner",
    ),
    reason(
        "W17 turn, WAL pages",
        &["sqlite"],
        "the hook's two writes to memory are commits of their own, and in a store of many chats nearly each row is on another page",
    ),
    reason(
        "W17 turn in a store, WAL pages",
        &["sqlite"],
        "the hook's two writes to memory are commits of their own, and in a store of many chats nearly each row is on another page",
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
    reason(
        "W18 gain",
        &["memory"],
        "hardly anybody waits for a lock, but a turn takes more processor time with the second core (docs/scale.md)",
    ),
];
