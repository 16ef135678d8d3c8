//! Copying a whole store, or all files of an installation, while others write, and putting them back.

#[cfg(feature = "sqlite")]
mod folder;
#[cfg(feature = "sqlite")]
mod manifest;
#[cfg(feature = "sqlite")]
mod mixed;
#[cfg(feature = "sqlite")]
mod restore;

#[cfg(feature = "sqlite")]
pub use crate::driver::sqlite::backup_stamp::BackupStamp;
#[cfg(feature = "sqlite")]
pub use folder::{DataFile, write_backup};
#[cfg(feature = "sqlite")]
pub use manifest::{BackupFile, BackupManifest};
#[cfg(feature = "sqlite")]
pub use mixed::{accept_files, examine_files};
#[cfg(feature = "sqlite")]
pub use restore::restore_backup;

use crate::driver::{self, DriverOptions};
#[cfg(feature = "sqlite")]
use crate::driver::{Driver, sqlite::SqliteDriver};
use crate::{Error, Result};
use std::path::Path;

/// What the stores that bring their own tools are backed up with.
const OWN_TOOLS: &[(&str, &str)] = &[
    ("memory", "ends with its process and has nothing to back up"),
    (
        "file",
        "is a folder: stop those who write to it and copy the folder with its content",
    ),
    (
        "postgres",
        "is backed up with its own tools: pg_dump for a copy, or base backups and archived WAL",
    ),
    (
        "redis",
        "is backed up with its own tools: BGSAVE writes a file that can be copied",
    ),
];

/// Copies the store behind this URL, as it is at one point in time, to a file that must not exist yet.
pub async fn backup(url: &str, options: DriverOptions, to: &Path) -> Result<()> {
    let (scheme, address) = url.split_once(':').unwrap_or((url, ""));
    if let Some((_, how)) = OWN_TOOLS.iter().find(|(name, _)| *name == scheme) {
        return Err(Error::invalid(format!("a {scheme} store"), *how));
    }
    #[cfg(feature = "sqlite")]
    if scheme == "sqlite" {
        let store = SqliteDriver::open(address, options).await?;
        let copied = store.backup(to).await;
        return copied.and(store.close().await);
    }
    #[cfg(not(feature = "sqlite"))]
    let _ = (address, options, to);
    Err(driver::not_built_in(scheme))
}

#[cfg(test)]
mod tests {
    use super::OWN_TOOLS;
    use crate::driver::DRIVERS;

    #[test]
    fn every_driver_but_sqlite_says_how_it_is_backed_up() {
        let said: Vec<&str> = OWN_TOOLS.iter().map(|(name, _)| *name).collect();
        let others = DRIVERS.iter().map(|(name, _)| *name);
        let others: Vec<&str> = others.filter(|name| *name != "sqlite").collect();
        assert_eq!(said, others);
    }
}
