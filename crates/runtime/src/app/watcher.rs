//! Noticing that an app's files have changed, for development mode.

use super::files;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often the files are looked at.
const PAUSE: Duration = Duration::from_millis(500);

/// When each file was written last, and how long it is.
type FileStamps = BTreeMap<String, (Option<SystemTime>, u64)>;

/// The files of an app as they were when it was loaded.
pub struct AppWatcher {
    root: PathBuf,
    seen: FileStamps,
}

impl AppWatcher {
    /// Looks at the files. To be called before they are loaded, so that no change is missed.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            seen: file_stamps(root),
        }
    }

    /// Returns when a file was changed, added or removed since the last time.
    pub async fn changed(&mut self) {
        loop {
            tokio::time::sleep(PAUSE).await;
            let root = self.root.clone();
            let Ok(seen) = tokio::task::spawn_blocking(move || file_stamps(&root)).await else {
                continue;
            };
            if self.has_news(seen) {
                return;
            }
        }
    }

    /// Whether a file was changed, added or removed since the last time. Waits for the disk.
    pub fn has_changed(&mut self) -> bool {
        let seen = file_stamps(&self.root);
        self.has_news(seen)
    }

    fn has_news(&mut self, seen: FileStamps) -> bool {
        let is_new = seen != self.seen;
        self.seen = seen;
        is_new
    }
}

fn file_stamps(root: &Path) -> FileStamps {
    let files = files::list(root)
        .map(|found| found.files)
        .unwrap_or_default();
    let seen = files.into_iter().filter_map(|file| {
        let about = std::fs::metadata(root.join(&file)).ok()?;
        Some((file, (about.modified().ok(), about.len())))
    });
    seen.collect()
}
