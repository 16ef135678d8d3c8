//! Many turns of all kinds, and what they leave behind. `AMBIT_SOAK=600` goes on for so many seconds.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod bed;
mod mix;
#[path = "../http/site.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod site;

use bed::Bed;
use std::time::{Duration, Instant};

/// Rounds before anything is compared: caches, pools and the allocator get their share.
const BEFORE: usize = 6;
/// Rounds that are compared, where nobody wants more.
const ROUNDS: usize = 6;
/// What memory may grow by beside 5 %: the allocator's pages do not all come back.
const SLACK: u64 = 6 << 20;

#[test]
fn g085_many_turns_of_all_kinds_leave_nothing_behind() {
    let bed = Bed::open();
    for round in 0..BEFORE {
        bed.round(round);
    }
    let before = bed.settled();
    let until = Instant::now() + soak();
    let mut round = BEFORE;
    while round < BEFORE + ROUNDS || Instant::now() < until {
        bed.round(round);
        round += 1;
    }
    let after = bed.back_at(&before);
    assert_eq!(after.held, before.held, "after {round} rounds");
    let limit = before.resident + before.resident / 20 + SLACK;
    assert!(
        after.resident <= limit,
        "{} kB were resident, then {} kB after {round} rounds",
        before.resident >> 10,
        after.resident >> 10
    );
}

fn soak() -> Duration {
    let seconds = std::env::var_os("AMBIT_SOAK").map(|text| text.into_string().unwrap());
    Duration::from_secs(seconds.map_or(0, |text| text.parse().unwrap()))
}
