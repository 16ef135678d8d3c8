//! Noticing changes.

use crate::support::{folder, write};
use ambit_runtime::app::watcher::AppWatcher;
use std::time::Duration;

/// Far longer than it takes.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_changed_a_new_and_a_removed_file_are_noticed() {
    let root = folder(&[("assistants/a/package.yao", "name: A")]);
    let mut watch = AppWatcher::new(root.path());
    write(root.path(), "assistants/a/package.yao", "name: Another");
    tokio::time::timeout(LONG, watch.changed()).await.unwrap();
    write(root.path(), "scripts/new.ts", "");
    tokio::time::timeout(LONG, watch.changed()).await.unwrap();
    std::fs::remove_file(root.path().join("scripts/new.ts")).unwrap();
    tokio::time::timeout(LONG, watch.changed()).await.unwrap();
}

#[test]
fn files_that_are_not_read_are_not_looked_at() {
    let root = folder(&[]);
    let mut watch = AppWatcher::new(root.path());
    write(root.path(), "data/ambit.db", "x");
    write(root.path(), ".git/index", "x");
    write(root.path(), "README.md", "x");
    assert!(!watch.has_changed());
    write(root.path(), ".env", "A=1");
    assert!(watch.has_changed());
    assert!(!watch.has_changed());
}
