//! The child process on its own, for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    ambit_extract::run_child()
}
