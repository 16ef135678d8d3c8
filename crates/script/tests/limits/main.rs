//! How runs end that pass a limit. Alone in its process, so that what its threads wait for is known.

mod built_ins;
mod ends;
mod hostile;
mod table;
mod watch;
