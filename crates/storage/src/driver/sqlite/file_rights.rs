//! Who may open the copies of a backup: whoever may open the originals, and while they are written their owner alone.

#[cfg(unix)]
pub use unix::{copy_rights, private_file};

#[cfg(not(unix))]
pub use other::{copy_rights, private_file};

#[cfg(unix)]
mod unix {
    use std::fs::{File, OpenOptions, Permissions};
    use std::io::Result;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    /// The rights of owner, group and others.
    const ALL: u32 = 0o777;
    /// The owner reads and writes.
    const OWN: u32 = 0o600;

    /// Opens a file for writing that nobody but its owner may open if it is new.
    pub fn private_file() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.write(true).mode(OWN);
        options
    }

    /// Gives a file the rights of another one. Its owner may always write it.
    pub fn copy_rights(from: &Path, to: &File) -> Result<()> {
        let mode = from.metadata()?.permissions().mode();
        to.set_permissions(Permissions::from_mode((mode & ALL) | OWN))
    }
}

#[cfg(not(unix))]
mod other {
    use std::fs::{File, OpenOptions};
    use std::io::Result;
    use std::path::Path;

    /// Opens a file for writing.
    pub fn private_file() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.write(true);
        options
    }

    /// The rights are those of the folder.
    pub fn copy_rights(_from: &Path, _to: &File) -> Result<()> {
        Ok(())
    }
}
