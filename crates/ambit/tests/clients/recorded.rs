//! Recorded streams as files, for the parsers of official clients.

use crate::recorded_logs::{every_log, options, sse};
use ambit::format::FORMATS;
use serde_json::json;
use tempfile::TempDir;

/// Every recorded stream in every format that clients' parsers read.
pub struct RecordedStreams {
    /// Holds `NAME.FORMAT.sse`, and beside it `NAME.FORMAT.json`: the answer that does not stream.
    pub folder: TempDir,
    /// So many files each format has of either kind.
    pub count: usize,
}

impl RecordedStreams {
    /// Writes them.
    pub fn write() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let logs = every_log();
        assert!(logs.len() >= 60, "{} streams are recorded", logs.len());
        for (name, log) in &logs {
            for row in FORMATS.iter().filter(|row| row.needs_beginning) {
                let file =
                    |ending: &str| folder.path().join(format!("{name}.{}.{ending}", row.name));
                let body = json!((row.body)(log, &options()));
                std::fs::write(file("sse"), sse(row, log)).unwrap();
                std::fs::write(file("json"), body.to_string()).unwrap();
            }
        }
        Self {
            folder,
            count: logs.len(),
        }
    }
}
