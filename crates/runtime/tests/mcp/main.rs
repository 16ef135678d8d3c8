//! Tool servers: reached over every transport, and behaving well or badly.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod bed;
mod calls;
mod faults;
mod files;
mod filters;
mod http;
mod limits;
#[expect(dead_code, reason = "the tests of turns need more of it")]
#[path = "../turn/place.rs"]
mod place;
mod processes;
mod real;
#[path = "../support/stopwatch.rs"]
mod stopwatch;
mod story;
#[expect(dead_code, reason = "the tests of turns need more of it")]
#[path = "../turn/toolbox.rs"]
mod toolbox;
