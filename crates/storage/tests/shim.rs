//! The fault layer itself: what it journals, and which disks a loss of power can leave.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

#[path = "support/shim.rs"]
mod shim;

use shim::{Action, Shim, Step, journal, power_loss};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = "/data";

fn step(path: &str, action: Action) -> Step {
    Step {
        path: Path::new(ROOT).join(path),
        action,
    }
}

fn write(path: &str, offset: u64, bytes: &[u8]) -> Step {
    step(path, Action::Write(offset, bytes.to_vec()))
}

fn folder_synced() -> Step {
    Step {
        path: PathBuf::from(ROOT),
        action: Action::Sync,
    }
}

/// The files that are left, where none or all of what was not synced survives.
fn left(steps: &[Step], survives: bool) -> BTreeMap<String, Vec<u8>> {
    left_by(steps, &mut || survives)
}

fn left_by(steps: &[Step], survives: &mut dyn FnMut() -> bool) -> BTreeMap<String, Vec<u8>> {
    let into = tempfile::tempdir().unwrap();
    power_loss(steps, Path::new(ROOT), into.path(), survives).unwrap();
    let entries = std::fs::read_dir(into.path()).unwrap();
    let named = entries.map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read(path).unwrap())
    });
    named.collect()
}

fn files(expected: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
    let owned = expected
        .iter()
        .map(|(name, content)| ((*name).to_owned(), content.to_vec()));
    owned.collect()
}

#[test]
fn synced_writes_stay_and_later_ones_are_lost() {
    let steps = [
        step("a", Action::Create),
        folder_synced(),
        write("a", 0, b"kept"),
        step("a", Action::Sync),
        write("a", 4, b"lost"),
    ];
    assert_eq!(left(&steps, false), files(&[("a", b"kept")]));
    assert_eq!(left(&steps, true), files(&[("a", b"keptlost")]));
}

#[test]
fn a_file_whose_folder_was_not_synced_has_no_name() {
    let steps = [
        step("a", Action::Create),
        write("a", 0, b"x"),
        step("a", Action::Sync),
    ];
    assert_eq!(left(&steps, false), files(&[]));
    assert_eq!(left(&steps, true), files(&[("a", b"x")]));
}

#[test]
fn a_rename_is_old_or_new_until_the_folder_is_synced() {
    let mut steps = vec![
        step("a", Action::Create),
        write("a", 0, b"old"),
        step("a", Action::Sync),
        step("b", Action::Create),
        write("b", 0, b"new"),
        step("b", Action::Sync),
        folder_synced(),
        step("b", Action::Rename(Path::new(ROOT).join("a"))),
    ];
    assert_eq!(left(&steps, false), files(&[("a", b"old"), ("b", b"new")]));
    assert_eq!(left(&steps, true), files(&[("a", b"new")]));
    steps.push(folder_synced());
    assert_eq!(left(&steps, false), files(&[("a", b"new")]));
}

#[test]
fn a_file_renamed_before_it_was_synced_may_be_empty() {
    let steps = [
        step("b", Action::Create),
        write("b", 0, b"new"),
        step("b", Action::Rename(Path::new(ROOT).join("a"))),
        folder_synced(),
    ];
    assert_eq!(left(&steps, false), files(&[("a", b"")]));
}

#[test]
fn a_write_may_survive_in_part_by_sectors() {
    let steps = [
        step("a", Action::Create),
        folder_synced(),
        write("a", 500, &[7; 600]),
    ];
    // The write touches three sectors: 12, 512 and 76 bytes of them.
    let mut answers = [true, false, true].into_iter();
    let left = left_by(&steps, &mut || answers.next().unwrap());
    let mut expected = vec![0; 1100];
    expected[500..512].fill(7);
    expected[1024..].fill(7);
    assert_eq!(left, files(&[("a", &expected)]));
}

#[test]
fn a_deleted_file_comes_back_unless_the_folder_was_synced() {
    let mut steps = vec![
        step("a", Action::Create),
        write("a", 0, b"12345"),
        step("a", Action::Truncate(2)),
        step("a", Action::Sync),
        folder_synced(),
        step("a", Action::Unlink),
    ];
    assert_eq!(left(&steps, false), files(&[("a", b"12")]));
    steps.push(folder_synced());
    assert_eq!(left(&steps, false), files(&[]));
}

/// Runs a shell script in a watched folder; the folder, the journal and what the shell said.
fn watched(script: &str, fail: &str) -> (tempfile::TempDir, Vec<Step>, Output) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let (log, control) = (folder.path().join("log"), folder.path().join("fail"));
    std::fs::write(&log, "").unwrap();
    std::fs::write(&control, fail).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(&root);
    Shim::compile(folder.path()).put_under(&mut command, &root, &log, &control);
    let output = command.output().unwrap();
    let steps = journal(&log).unwrap();
    (folder, steps, output)
}

#[test]
fn a_process_is_journalled_in_order() {
    let script = "printf one > a; sync a; printf two >> a; printf x > b; rm b 2>/dev/null || true; printf n > a";
    let (folder, steps, output) = watched(script, "");
    assert!(output.status.success(), "{output:?}");
    let root = folder.path().join("root").canonicalize().unwrap();
    let named = |name: &str, action| Step {
        path: root.join(name),
        action,
    };
    let expected = [
        named("a", Action::Create),
        named("a", Action::Write(0, b"one".to_vec())),
        named("a", Action::Sync),
        named("a", Action::Write(3, b"two".to_vec())),
        named("b", Action::Create),
        named("b", Action::Write(0, b"x".to_vec())),
        named("a", Action::Truncate(0)),
        named("a", Action::Write(0, b"n".to_vec())),
    ];
    // `rm` deletes by another call than a store does; it may or may not be seen.
    let seen: Vec<Step> = steps
        .into_iter()
        .filter(|step| step.action != Action::Unlink)
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_full_disk_refuses_writes_and_new_files() {
    let (folder, steps, output) = watched("printf one > a", "ENOSPC");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left on device"));
    assert_eq!(steps, []);
    assert!(!folder.path().join("root/a").exists());
}

#[test]
fn a_failing_disk_refuses_to_sync() {
    let script = "printf one > a; printf EIO > ../fail; sync a";
    let (_folder, steps, output) = watched(script, "");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("Input/output error"));
    assert!(steps.iter().all(|step| step.action != Action::Sync));
}
