//! What takes the room of a store: how much it holds of each kind of data.

use crate::data_kind::DataKind;

/// How much of a kind there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSize {
    /// What it is; nothing where it is of no kind that was named.
    pub kind: Option<DataKind>,
    /// Entries of logs, and values.
    pub count: u64,
    /// Bytes of what they hold, without keys and indexes of the store.
    pub bytes: u64,
}

/// The place of the first of the kinds that something is of, as an expression of SQL over its path and its name; behind the last
/// for none of them.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(super) fn kind_choice(kinds: &[DataKind], path: &str, entry: &str) -> String {
    let quoted = |pattern: &str| pattern.replace('\'', "''");
    let cases = kinds.iter().enumerate().map(|(at, kind)| {
        let (of_path, of_entry) = (quoted(kind.path), quoted(kind.entry));
        format!(" WHEN {path} LIKE '{of_path}' AND {entry} LIKE '{of_entry}' THEN {at}")
    });
    match kinds {
        [] => "0".to_owned(),
        kinds => format!("CASE{} ELSE {} END", cases.collect::<String>(), kinds.len()),
    }
}

/// A row of an answer: a place as [`kind_choice`] gives it, how many there are, and their bytes.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(super) fn data_size(kinds: &[DataKind], row: [i64; 3]) -> DataSize {
    let [kind, count, bytes] = row.map(super::integer::unsigned);
    let kind = usize::try_from(kind).ok().and_then(|at| kinds.get(at));
    DataSize {
        kind: kind.copied(),
        count,
        bytes,
    }
}
