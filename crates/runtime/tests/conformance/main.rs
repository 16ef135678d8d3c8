//! The public conformance suite for clients of tool servers. It starts a server for each scenario and then this program as
//! the client; `cargo xtask test` installs it.

#![expect(
    clippy::unwrap_used,
    reason = "a suite that cannot be run is a failed test"
)]

mod driver;
mod scenarios;
mod suite;

use libtest_mimic::{Arguments, Trial};
use scenarios::SCENARIOS;

fn main() {
    if driver::obey() {
        return;
    }
    let mut trials = vec![Trial::test(
        "every_scenario_is_run_or_left_out_for_a_reason",
        || {
            suite::is_whole();
            Ok(())
        },
    )];
    for (name, versions) in SCENARIOS {
        trials.extend(versions.iter().map(|version| {
            Trial::test(format!("{name}::{version}"), move || {
                suite::run(name, version);
                Ok(())
            })
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
