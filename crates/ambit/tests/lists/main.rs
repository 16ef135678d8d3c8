//! Lists and inspection as clients see them, and who sees what.

#![expect(clippy::unwrap_used, reason = "a failed assumption fails its test")]

mod answers;
mod bed;
mod calls;
mod contexts;
mod events;
#[path = "../support/feed.rs"]
mod feed;
mod knowledge;
mod recall;
mod refusals;
mod sight;
#[path = "../http/site.rs"]
#[expect(dead_code, reason = "what the tests of the whole server use of it too")]
mod site;
mod turns;
mod usage;
