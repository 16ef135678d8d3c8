//! The integers of SQL are signed; ours are not, and none of them comes near the half of the range that is lost.

/// A number of ours as a table holds it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number of a table, which holds none below 0.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
