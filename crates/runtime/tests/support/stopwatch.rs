//! Time without that for which the machine kept from a processor what is measured: what is promised within a second is so on a
//! machine that has a processor to give.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Measures how long something takes that is done by the thread that starts it, and by these other processes.
pub struct Stopwatch {
    begun: Instant,
    /// Of each that is waited for, its threads and how long they had waited for a processor before.
    waits: Vec<Vec<ThreadWait>>,
}

struct ThreadWait {
    file: PathBuf,
    waited: Duration,
}

impl Stopwatch {
    pub fn start(processes: &[u32]) -> Self {
        let own = vec![PathBuf::from("/proc/thread-self/schedstat")];
        let others = processes.iter().map(|id| threads(*id));
        let all = std::iter::once(own).chain(others);
        Self {
            waits: all
                .map(|files| files.into_iter().map(now).collect())
                .collect(),
            begun: Instant::now(),
        }
    }

    /// How long it has taken so far. Of each process that thread counts which had to wait longest.
    pub fn elapsed(&self) -> Duration {
        let took = self.begun.elapsed();
        let longest = |threads: &Vec<ThreadWait>| {
            let waits = threads
                .iter()
                .map(|thread| waited(&thread.file).saturating_sub(thread.waited));
            waits.max().unwrap_or_default()
        };
        took.saturating_sub(self.waits.iter().map(longest).sum())
    }
}

/// Where the threads of a process say how long they had to wait.
fn threads(process: u32) -> Vec<PathBuf> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    threads
        .map(|thread| thread.path().join("schedstat"))
        .collect()
}

fn now(file: PathBuf) -> ThreadWait {
    ThreadWait {
        waited: waited(&file),
        file,
    }
}

/// How long a thread has been ready but had no processor; nothing where the system does not say.
fn waited(file: &Path) -> Duration {
    let text = read_to_string(file).unwrap_or_default();
    let nanos = text.split(' ').nth(1).and_then(|it| it.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}
