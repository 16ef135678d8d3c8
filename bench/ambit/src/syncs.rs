//! How many syncs a turn costs, exact: the difference of two runs, counted by strace.

use crate::{Result, Store};
use std::path::Path;
use std::process::{Command, Stdio};

const FEW: usize = 5;
const MANY: usize = 45;

/// Syncs for each turn of so many writers; an error says why they could not be counted.
pub fn a_turn(store: &Store, writers: usize) -> Result<f64> {
    let few = count(store, writers, FEW)?;
    let many = count(store, writers, MANY)?;
    Ok((many as f64 - few as f64) / (writers * (MANY - FEW)) as f64)
}

fn count(store: &Store, writers: usize, times: usize) -> Result<u64> {
    // A file of its own for each run, beside the store's: a path must not be used again while it may be open.
    let url = format!("{}-syncs-{writers}-{times}", store.url);
    let log = std::env::temp_dir().join(format!(
        "ambit-syncs-{}-{writers}-{times}",
        std::process::id()
    ));
    let mut command = Command::new("strace");
    command
        // The filter stops the process at syncs alone: one that is slow everywhere else would commit smaller groups.
        .args([
            "--seccomp-bpf",
            "-f",
            "-c",
            "-e",
            "trace=fsync,fdatasync",
            "-o",
        ])
        .arg(&log)
        .arg(std::env::current_exe()?)
        .args(["turns", "--url", &url, "--writers", &writers.to_string()])
        .args(["--times", &times.to_string()])
        .args(store.flags());
    let status = command
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run strace: {error}"))?;
    let counted = calls(&log);
    let _ = std::fs::remove_file(&log);
    if !status.success() {
        return Err(format!("the watched process ended with {status}").into());
    }
    counted
}

fn calls(log: &Path) -> Result<u64> {
    Ok(sum(&std::fs::read_to_string(log)?))
}

/// The calls in strace's summary; a process without any has an empty one.
fn sum(summary: &str) -> u64 {
    let line = |line: &str| -> Option<u64> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_sync = matches!(fields.last(), Some(&"fsync" | &"fdatasync"));
        is_sync.then(|| fields.get(3)?.parse().ok())?
    };
    summary.lines().filter_map(line).sum()
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn the_calls_of_a_summary_are_added() {
        let summary = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 90.00    0.001000          10       100           fdatasync
 10.00    0.000100          10         7         1 fsync
------ ----------- ----------- --------- --------- ----------------
100.00    0.001100          10       107         1 total
";
        assert_eq!(sum(summary), 107);
        assert_eq!(sum(""), 0);
    }
}
