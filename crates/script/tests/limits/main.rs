//! How runs end that pass a limit. Alone in its process, so that what its threads wait for is known.

mod built_ins;
mod dropped;
mod ends;
mod hostile;
mod imports;
mod no_memory;
#[path = "../../../storage/tests/support/run_tally.rs"]
mod run_tally;
mod table;
mod watch;
