//! The folder: which file holds what, how files are read and replaced, and the lock that processes share.

use crate::address::Space;
use crate::driver::Durability;
use crate::{Error, Result};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where logs and values lie, one file per space.
pub const SPACES: &str = "spaces";
/// Where index rows lie, one file each.
pub const ROWS: &str = "rows";
/// The last integer given out, and the number of commits.
pub const COUNTER: &str = "counter.json";
/// A commit that is decided but perhaps not yet in its files.
pub const REDO: &str = "redo.json";

const LOCK: &str = "lock";
const RETRY: Duration = Duration::from_millis(2);

#[derive(Clone, Debug)]
pub struct StoreFolder {
    root: PathBuf,
    syncs: bool,
}

/// What a caller of the lock wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Read beside other readers.
    Shared,
    /// Write alone.
    Exclusive,
}

impl StoreFolder {
    /// Makes the folder where it is missing.
    pub fn create(root: PathBuf, durability: Durability) -> Result<Self> {
        let folder = Self {
            root,
            syncs: durability == Durability::Full,
        };
        for name in [SPACES, ROWS] {
            let path = folder.path(name);
            fs::create_dir_all(&path).map_err(failed("making", &path))?;
        }
        let lock = folder.path(LOCK);
        // One that is there is not opened for writing: a disk that takes no writes can be read.
        if !lock.is_file() {
            let made = OpenOptions::new().create(true).append(true).open(&lock);
            made.map_err(failed("making", &lock))?;
        }
        folder.sync_folder("")?;
        Ok(folder)
    }

    /// The full path of a file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The same as a text, for messages.
    pub fn place(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// The folder itself, for messages.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Waits for the lock. It ends with the file, also when the process dies.
    pub fn lock(&self, access: LockMode, wait: Duration) -> Result<File> {
        let path = self.path(LOCK);
        let deadline = Instant::now() + wait;
        // Not made anew: a folder without its lock file was moved away or is not mounted.
        let is_writer = access == LockMode::Exclusive;
        let opened = OpenOptions::new().read(true).write(is_writer).open(&path);
        let file = opened.map_err(failed("opening", &path))?;
        loop {
            let locked = match access {
                LockMode::Shared => file.try_lock_shared(),
                LockMode::Exclusive => file.try_lock(),
            };
            match locked {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(failed("locking", &path)(error)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(RETRY);
                }
                Err(TryLockError::WouldBlock) => return Err(busy(&self.root, wait)),
            }
        }
    }

    /// A file's text; `None` where there is no such file.
    pub fn read(&self, name: &str) -> Result<Option<String>> {
        let path = self.path(name);
        match fs::read(&path) {
            Ok(bytes) => String::from_utf8(bytes)
                .map(Some)
                .map_err(|error| Error::corrupt(self.place(name), error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("reading", &path)(error)),
        }
    }

    /// A file's first line; `None` where there is no such file.
    pub fn read_line(&self, name: &str) -> Result<Option<String>> {
        let path = self.path(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("opening", &path)(error)),
        };
        let mut line = Vec::new();
        let read = BufReader::new(file).read_until(b'\n', &mut line);
        read.map_err(failed("reading", &path))?;
        String::from_utf8(line)
            .map(Some)
            .map_err(|error| Error::corrupt(self.place(name), error))
    }

    /// Makes a file hold this text, all of it or none.
    pub fn replace(&self, name: &str, text: &str) -> Result<()> {
        self.write_beside(name, text)?;
        self.put_in_place(name)
    }

    /// Writes what `put_in_place` will make the file's content.
    pub fn write_beside(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path(&beside(name));
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(text.as_bytes())?;
            if self.syncs { file.sync_all() } else { Ok(()) }
        };
        write().map_err(failed("writing", &path))
    }

    /// Gives the text written beside a file the file's name.
    pub fn put_in_place(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        fs::rename(self.path(&beside(name)), &path).map_err(failed("renaming", &path))
    }

    /// Deletes a file; one that is not there is no error.
    pub fn delete(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("deleting", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Makes the names of a folder as durable as the settings say.
    pub fn sync_folder(&self, name: &str) -> Result<()> {
        if !self.syncs {
            return Ok(());
        }
        let path = self.path(name);
        let synced = File::open(&path).and_then(|folder| folder.sync_all());
        synced.map_err(failed("syncing", &path))
    }

    /// The files of `spaces` or `rows`, one after the other; what a killed process left behind is passed over.
    pub fn files(&self, within: &'static str) -> Result<impl Iterator<Item = Result<String>>> {
        let path = self.path(within);
        let found = fs::read_dir(&path).map_err(failed("listing", &path))?;
        Ok(found.filter_map(move |item| match item {
            Ok(item) => {
                let name = item.file_name().to_string_lossy().into_owned();
                let is_kept = name.ends_with(".json");
                is_kept.then(|| Ok(format!("{within}/{name}")))
            }
            Err(error) => Some(Err(failed("listing", &path)(error))),
        }))
    }

    /// The bytes of all these files, but for those that go meanwhile.
    pub fn size(&self) -> Result<u64> {
        let mut bytes = 0;
        for within in [SPACES, ROWS] {
            for name in self.files(within)? {
                let path = self.path(&name?);
                bytes += match fs::metadata(&path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                    found => found.map_err(failed("looking at", &path))?.len(),
                };
            }
        }
        Ok(bytes)
    }
}

/// The file of a space. The name is lower-case hex, so it is injective on every file system.
pub fn space_file(space: &Space) -> String {
    format!("{SPACES}/{}.json", space.digest())
}

pub fn row_file(space: &Space) -> String {
    format!("{ROWS}/{}.json", space.digest())
}

pub fn busy(root: &Path, waited: Duration) -> Error {
    Error::busy(
        format!("the file store {}", root.display()),
        format!("its lock was not free within {} s", waited.as_secs()),
    )
}

fn beside(name: &str) -> String {
    format!("{name}.tmp")
}

fn failed(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let what = format!("{doing} {}", path.display());
    move |error| Error::unavailable(what, error)
}
