//! Whether a file lies on a network file system, where SQLite's locks and shared memory do not hold.

use super::database_file::DatabaseFile;
use crate::{Error, Result};

/// Network file systems by the magic number that `statfs` gives.
const NETWORK: &[(u32, &str)] = &[
    (0x0000_6969, "NFS"),
    (0x0000_517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
];

/// The network file system with this magic number, if it is one.
fn network_name(magic: u32) -> Option<&'static str> {
    NETWORK
        .iter()
        .find(|(known, _)| *known == magic)
        .map(|(_, name)| *name)
}

/// Refuses a folder on a network file system, unless that is forced.
pub fn refuse_network(place: &DatabaseFile, force: bool) -> Result<()> {
    let Some(name) = magic_of(place).and_then(network_name).filter(|_| !force) else {
        return Ok(());
    };
    Err(Error::invalid(
        "driver",
        format!(
            "{} lies on a network file system ({name}), where SQLite loses writes; put it on a local disk, use postgres, \
             or force it if one process on one machine uses it",
            place.path.display()
        ),
    ))
}

#[cfg(target_os = "linux")]
fn magic_of(place: &DatabaseFile) -> Option<u32> {
    let folder = place.path.parent()?;
    // The numbers are 32 bits wide; on some machines the field is wider and sign-extended.
    rustix::fs::statfs(folder)
        .ok()
        .map(|found| found.f_type as u32)
}

#[cfg(not(target_os = "linux"))]
fn magic_of(_place: &DatabaseFile) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g142_network_file_systems_are_known_by_their_magic_numbers() {
        for magic in [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x5346_414F] {
            assert!(network_name(magic).is_some(), "{magic:x}");
        }
        // ext4, xfs, btrfs, tmpfs, overlayfs, and 9p as virtual machines use it for local folders.
        for magic in [
            0xEF53,
            0x5846_5342,
            0x9123_683E,
            0x0102_1994,
            0x794C_7630,
            0x0102_1997,
        ] {
            assert!(network_name(magic).is_none(), "{magic:x}");
        }
    }
}
