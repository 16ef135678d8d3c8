//! Who may do what, and with whose data.

#![expect(clippy::unwrap_used, reason = "a failed assumption fails its test")]

#[path = "../lists/bed.rs"]
#[expect(dead_code, reason = "what the tests of lists use of it too")]
mod bed;
mod canaries;
mod cases;
mod erased;
#[path = "../support/examples.rs"]
mod examples;
mod expenses;
mod explained;
#[path = "../support/feed.rs"]
#[expect(dead_code, reason = "what the tests of lists use of it too")]
mod feed;
mod mcp;
#[path = "../support/mcp.rs"]
#[expect(dead_code, reason = "what the tests of the whole server use of it too")]
mod mcp_requests;
mod no_rules;
mod passed;
mod remote;
mod routes;
mod rules;
mod running;
#[path = "../http/site.rs"]
#[expect(dead_code, reason = "what the tests of the whole server use of it too")]
mod site;
#[path = "../../../runtime/tests/support/stopwatch.rs"]
mod stopwatch;
mod store;
mod unclear;
