//! What the system says of this process. Only Linux tells.

use crate::metrics::Metrics;
use crate::table;
use std::fs;

/// How many ticks of processor time are a second: what Linux tells programs, whatever it counts by itself.
const TICKS: f64 = 100.0;

/// Notes what the system says now.
pub fn note(metrics: &Metrics) {
    if let Some(bytes) = resident_memory() {
        metrics.set(&table::RESIDENT_MEMORY, [], bytes);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        metrics.set(&table::OPEN_FILES, [], files.count() as f64);
    }
    let Some(times) = ProcessTimes::read() else {
        return;
    };
    metrics.set_total(&table::CPU_SECONDS, [], times.used);
    if let Some(booted) = boot_time() {
        metrics.set(&table::START_TIME, [], booted + times.began);
    }
}

/// Times of this process, in seconds.
struct ProcessTimes {
    used: f64,
    /// Behind the start of the system.
    began: f64,
}

impl ProcessTimes {
    fn read() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program stands in parentheses and may hold anything; the fields behind it are numbered from the state on.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
        Some(Self {
            used: (ticks(11)? + ticks(12)?) / TICKS,
            began: ticks(19)? / TICKS,
        })
    }
}

fn resident_memory() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes = line.split_whitespace().next()?.parse::<f64>().ok()?;
    Some(kilobytes * 1024.0)
}

/// When the system was started, in seconds since 1970.
fn boot_time() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::{Metrics, process};
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn the_system_says_what_the_process_uses() {
        let metrics = Metrics::default();
        process::note(&metrics);
        let text = metrics.text();
        let value = |name: &str| -> f64 {
            let found = text.lines().find_map(|line| line.strip_prefix(name));
            found.unwrap().trim().parse().unwrap()
        };
        assert!(value("process_resident_memory_bytes ") > 100_000.0);
        assert!(value("process_open_fds ") >= 3.0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let age = now.as_secs_f64() - value("process_start_time_seconds ");
        assert!((-2.0..3_600.0).contains(&age), "{age}");
    }
}
