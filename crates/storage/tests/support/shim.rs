//! The fault layer below a process's files: its journal, and the disk as a loss of power leaves it.

#![expect(clippy::expect_used, reason = "a test that cannot be set up fails")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiled layer.
#[derive(Debug)]
pub struct Shim {
    library: PathBuf,
}

impl Shim {
    /// Compiles the layer into a folder.
    pub fn compile(folder: &Path) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/shim.c");
        let library = folder.join("shim.so");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .args(["-ldl", "-lpthread"])
            .status()
            .expect("cc, which Rust needs too");
        assert!(status.success(), "the fault layer does not compile");
        Self { library }
    }

    /// Puts the layer under a process: what it changes below `root` goes into `log`, and fails as `fail` says.
    pub fn put_under(&self, command: &mut Command, root: &Path, log: &Path, fail: &Path) {
        let root = root.canonicalize().expect("a folder that is there");
        command
            .env("LD_PRELOAD", &self.library)
            .env("AMBIT_SHIM_ROOT", root)
            .env("AMBIT_SHIM_LOG", log)
            .env("AMBIT_SHIM_FAIL", fail);
    }
}

/// One change that a process made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The file or folder.
    pub path: PathBuf,
    /// What happened to it.
    pub action: Action,
}

/// What happened to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It was made.
    Create,
    /// Bytes were written at an offset.
    Write(u64, Vec<u8>),
    /// It got this length.
    Truncate(u64),
    /// It was synced: all that was done to it before is on the disk.
    Sync,
    /// It got this name.
    Rename(PathBuf),
    /// It was deleted.
    Unlink,
}

/// Reads a journal.
pub fn journal(log: &Path) -> io::Result<Vec<Step>> {
    let bytes = std::fs::read(log)?;
    let mut rest = bytes.as_slice();
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let step = step(&mut rest).ok_or_else(|| {
            let what = format!("the journal is damaged after {} steps", steps.len());
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        steps.push(step);
    }
    Ok(steps)
}

fn step(rest: &mut &[u8]) -> Option<Step> {
    let kind = rest.split_off_first()?;
    let number = number(rest)?;
    let path = path(bytes(rest)?);
    let content = bytes(rest)?;
    let action = match kind {
        b'C' => Action::Create,
        b'W' => Action::Write(number, content.to_vec()),
        b'T' => Action::Truncate(number),
        b'S' => Action::Sync,
        b'R' => Action::Rename(self::path(content)),
        b'U' => Action::Unlink,
        _ => return None,
    };
    Some(Step { path, action })
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let (number, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u64::from_le_bytes(*number))
}

fn bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(rest)?).ok()?;
    let (bytes, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(bytes)
}

fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// The smallest thing that a disk writes whole.
const SECTOR: u64 = 512;

/// Writes into `into` what is left of `root` when the power fails behind the last of these steps, which must reach
/// back to the empty folder. What was synced is there. Of everything else – each sector of a write, each change of a
/// length, each name – `survives` decides. Names are synced with their folder.
pub fn power_loss(
    steps: &[Step],
    root: &Path,
    into: &Path,
    survives: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    let changes = changes(steps);
    let mut disk = Disk::default();
    for (change, synced) in changes.iter().zip(synced(&changes)) {
        disk.take(change, &mut || synced || survives());
    }
    disk.write(root, into)
}

/// A step, with the file meant by its number: names come and go.
enum Change<'a> {
    Content(usize, &'a Action),
    Name {
        file: usize,
        from: Option<&'a Path>,
        to: Option<&'a Path>,
    },
    Sync {
        file: Option<usize>,
        folder: &'a Path,
    },
}

/// For each change, whether a later sync makes it safe.
fn synced(changes: &[Change<'_>]) -> Vec<bool> {
    let mut files = HashSet::new();
    let mut folders = HashSet::new();
    let mut synced: Vec<bool> = changes
        .iter()
        .rev()
        .map(|change| match change {
            Change::Content(file, _) => files.contains(file),
            Change::Name { from, to, .. } => [from, to]
                .into_iter()
                .flatten()
                .all(|name| name.parent().is_some_and(|folder| folders.contains(folder))),
            Change::Sync { file, folder } => {
                files.extend(*file);
                folders.insert(*folder);
                false
            }
        })
        .collect();
    synced.reverse();
    synced
}

fn changes(steps: &[Step]) -> Vec<Change<'_>> {
    let mut files: HashMap<&Path, usize> = HashMap::new();
    let mut count = 0;
    let mut new = || {
        count += 1;
        count
    };
    let mut changes = Vec::new();
    for Step { path, action } in steps {
        let path = path.as_path();
        changes.push(match action {
            Action::Create => {
                let file = new();
                files.insert(path, file);
                Change::Name {
                    file,
                    from: None,
                    to: Some(path),
                }
            }
            Action::Write(..) | Action::Truncate(_) => {
                Change::Content(*files.entry(path).or_insert_with(&mut new), action)
            }
            Action::Sync => Change::Sync {
                file: files.get(path).copied(),
                folder: path,
            },
            Action::Rename(to) => {
                let file = files.remove(path).unwrap_or_else(&mut new);
                files.insert(to, file);
                Change::Name {
                    file,
                    from: Some(path),
                    to: Some(to),
                }
            }
            Action::Unlink => Change::Name {
                file: files.remove(path).unwrap_or_else(&mut new),
                from: Some(path),
                to: None,
            },
        });
    }
    changes
}

/// What the disk holds.
#[derive(Default)]
struct Disk {
    names: BTreeMap<PathBuf, usize>,
    contents: HashMap<usize, Vec<u8>>,
}

impl Disk {
    fn take(&mut self, change: &Change<'_>, survives: &mut dyn FnMut() -> bool) {
        match change {
            Change::Content(file, Action::Write(offset, bytes)) => {
                self.sectors(*file, *offset, bytes, survives);
            }
            Change::Content(file, Action::Truncate(length)) if survives() => {
                let content = self.contents.entry(*file).or_default();
                content.resize(usize::try_from(*length).unwrap_or(usize::MAX), 0);
            }
            Change::Name { file, from, to } if survives() => {
                // A name that has meanwhile been given to another file is not that file's to lose.
                if let Some(from) = from
                    && self.names.get(*from).is_none_or(|found| found == file)
                {
                    self.names.remove(*from);
                }
                if let Some(to) = to {
                    self.names.insert(to.to_path_buf(), *file);
                }
            }
            _ => {}
        }
    }

    fn sectors(
        &mut self,
        file: usize,
        offset: u64,
        bytes: &[u8],
        survives: &mut dyn FnMut() -> bool,
    ) {
        let content = self.contents.entry(file).or_default();
        let mut offset = offset;
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let within = usize::try_from(SECTOR - offset % SECTOR).unwrap_or(1);
            let (sector, rest) = bytes.split_at(within.min(bytes.len()));
            if survives() {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let end = start + sector.len();
                content.resize(content.len().max(end), 0);
                content[start..end].copy_from_slice(sector);
            }
            offset += sector.len() as u64;
            bytes = rest;
        }
    }

    fn write(&self, root: &Path, into: &Path) -> io::Result<()> {
        let mut folders = HashSet::new();
        for (name, file) in &self.names {
            let Ok(name) = name.strip_prefix(root) else {
                continue;
            };
            let target = into.join(name);
            let folder = target.parent().unwrap_or(into).to_owned();
            if folders.insert(folder.clone()) {
                std::fs::create_dir_all(folder)?;
            }
            let content = self.contents.get(file).map_or(&[][..], Vec::as_slice);
            std::fs::write(target, content)?;
        }
        Ok(())
    }
}
