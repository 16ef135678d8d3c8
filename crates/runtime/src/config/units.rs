//! Durations and sizes as files write them.

use ambit_storage::memory::Ttl;
use serde_json::Value;

/// Milliseconds of a duration as files give it: seconds, or a text such as `"30s"`. None for 0, which means for ever.
pub fn milliseconds(value: &Value) -> Option<u64> {
    match Ttl::of(value).ok()?? {
        Ttl::Never => None,
        Ttl::After(millis) => u64::try_from(millis).ok(),
    }
}

/// Units of sizes.
const UNITS: &[(&str, u64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// Bytes of a size such as `"64MiB"`.
pub fn bytes(text: &str) -> Option<u64> {
    let found = UNITS
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = found?;
    let number = number.trim_end();
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|_| is_plain)?;
    number.checked_mul(*factor)
}
