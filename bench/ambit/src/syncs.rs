//! How many syncs a turn costs, exact: the difference of two runs, counted by strace.

use crate::served::Served;
use crate::{Result, Store};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

const FEW: usize = 5;
const MANY: usize = 45;

/// Syncs for each turn of so many writers; an error says why they could not be counted.
pub fn a_turn(store: &Store, writers: usize) -> Result<f64> {
    let few = count(store, writers, FEW)?;
    let many = count(store, writers, MANY)?;
    Ok((many as f64 - few as f64) / (writers * (MANY - FEW)) as f64)
}

/// Syncs for each of what is done `few` and `many` times; `count` says how many syncs so many times are.
pub async fn each(
    [few, many]: [usize; 2],
    mut count: impl AsyncFnMut(usize) -> Result<u64>,
) -> Result<f64> {
    let (less, more) = (count(few).await?, count(many).await?);
    Ok((more as f64 - less as f64) / (many - few) as f64)
}

/// Syncs of a server over this store from its start to its end, and what it does between.
pub async fn of_server(
    store: &str,
    work: impl AsyncFnOnce(&Arc<Served>) -> Result<()>,
) -> Result<u64> {
    let log = log("server");
    let served = Arc::new(Served::counted(store, &log).await?);
    work(&served).await?;
    let served = Arc::into_inner(served).ok_or("the server is still in use")?;
    served.stop().await?;
    let counted = calls(&log);
    let _ = std::fs::remove_file(&log);
    counted
}

/// The start of a command that counts the syncs of the program that is named behind it.
pub fn counting(log: &Path) -> Command {
    let mut command = Command::new("strace");
    command
        // The filter stops the process at syncs alone: one that is slow everywhere else would commit smaller groups.
        .args(["--seccomp-bpf", "-f", "-c", "-e", "trace=fsync,fdatasync"])
        .arg("-o")
        .arg(log);
    command
}

fn log(name: &str) -> PathBuf {
    let file = format!("ambit-syncs-{}-{name}", std::process::id());
    std::env::temp_dir().join(file)
}

fn count(store: &Store, writers: usize, times: usize) -> Result<u64> {
    // A file of its own for each run, beside the store's: a path must not be used again while it may be open.
    let url = format!("{}-syncs-{writers}-{times}", store.url);
    let log = log(&format!("{writers}-{times}"));
    let status = counting(&log)
        .arg(std::env::current_exe()?)
        .args(["turns", "--url", &url, "--writers", &writers.to_string()])
        .args(["--times", &times.to_string()])
        .args(store.flags())
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
