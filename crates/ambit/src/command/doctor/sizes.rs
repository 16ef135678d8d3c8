//! What takes the room of a store.

use crate::command_error::Result;
use crate::output::{Output, one_line};
use ambit_runtime::TURN_KINDS;
use ambit_storage::address::SPACE_KINDS;
use ambit_storage::driver::{DataSize, Driver};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;

/// What is of no kind that has a name.
const OTHER: &str = "other";

/// Says what takes the room of a store, the most first. The memory of this process holds nothing.
pub async fn write(name: &str, driver: &dyn Driver, out: &mut Output) -> Result<()> {
    if driver.kind() == "memory" {
        return Ok(());
    }
    let name = one_line(name);
    match driver.size().await? {
        Some(bytes) => writeln!(out, "{name}: {bytes} bytes, with indexes and free room")?,
        None => writeln!(out, "{name}: its size is not known")?,
    }
    let kinds = [TURN_KINDS, SPACE_KINDS].concat();
    let Some(sizes) = driver.contents(&kinds).await? else {
        writeln!(
            out,
            "    of what kinds is not known of a {} store",
            driver.kind()
        )?;
        return Ok(());
    };
    for (kind, count, bytes) in by_name(&sizes) {
        writeln!(
            out,
            "    {kind}: {bytes} bytes in {count} entries and values"
        )?;
    }
    Ok(())
}

/// What there is under each name, with its count and bytes.
fn by_name(sizes: &[DataSize]) -> Vec<(&'static str, u64, u64)> {
    let mut sums: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
    for size in sizes {
        let name = size.kind.map_or(OTHER, |kind| kind.name);
        let (count, bytes) = sums.entry(name).or_default();
        *count += size.count;
        *bytes += size.bytes;
    }
    let sums = sums.into_iter();
    let mut sums: Vec<_> = sums
        .map(|(name, (count, bytes))| (name, count, bytes))
        .collect();
    sums.sort_by_key(|(_, _, bytes)| Reverse(*bytes));
    sums
}
