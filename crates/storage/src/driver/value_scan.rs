//! Which values of a space are read, which part of each, and how many.

use super::Direction;
use crate::batch::ValueEntry;
use crate::json::{Json, StoredValue};
use crate::operation::DatedContent;
use crate::pattern::Pattern;

/// Which part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValuePart {
    /// All of it.
    Whole,
    /// Items from … to of a list, both included, negative ones counted from the end; cut to what there is.
    /// Anything but a list is given whole, and `ValueEntry::kind` says so.
    Items(i64, i64),
    /// Of what `Operation::SetDated` wrote the object without its content; of anything else `null`.
    Dates,
    /// Kind, length, version and end of life alone; the value is `null`.
    Nothing,
}

impl ValuePart {
    /// The positions `start..end` of a list of this length that are asked for.
    pub fn of(self, length: u64) -> std::ops::Range<u64> {
        match self {
            Self::Whole => 0..length,
            Self::Dates | Self::Nothing => 0..0,
            Self::Items(from, to) => {
                let place = |index: i64| {
                    if index < 0 {
                        i128::from(length) + i128::from(index)
                    } else {
                        i128::from(index)
                    }
                };
                let start = place(from).clamp(0, i128::from(length));
                let end = (place(to) + 1).clamp(start, i128::from(length));
                u64::try_from(start).unwrap_or(0)..u64::try_from(end).unwrap_or(0)
            }
        }
    }

    /// So many characters of a value's text are enough; `None` where all of it is asked for.
    pub(crate) fn prefix(self) -> Option<i64> {
        match self {
            Self::Whole | Self::Items(..) => None,
            Self::Dates => Some(DATES),
            Self::Nothing => Some(1),
        }
    }

    /// This part of anything but a list, of which at least `prefix` is given.
    pub(crate) fn of_text(self, text: &Json) -> Json {
        let part = match self {
            Self::Whole | Self::Items(..) => Some(text.clone()),
            Self::Dates => DatedContent::dates(text.as_str()),
            Self::Nothing => None,
        };
        part.unwrap_or_else(|| Json::stored("null"))
    }

    /// This part of a list, of which these are the items `of` asks for.
    pub(crate) fn of_items(self, items: Vec<Json>) -> Json {
        match self.prefix() {
            None => StoredValue::List(items).json(),
            Some(_) => Json::stored("null"),
        }
    }
}

/// Characters within which the dates of a dated value end: two names, two numbers of up to 20 characters, two commas.
const DATES: i64 = 80;

/// Which values of a space.
#[derive(Clone, Debug)]
pub struct ValueScan {
    /// Names that match.
    pub pattern: Pattern,
    /// Only names behind this one, in the direction of the scan.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// No more once the parts have so many bytes together: memory is bounded by that and the largest value.
    pub bytes: usize,
    /// Which part of each value.
    pub part: ValuePart,
    /// By ascending or descending names.
    pub direction: Direction,
}

impl ValueScan {
    /// The first values with such a name, and this part of each.
    pub fn first(pattern: Pattern, limit: usize, part: ValuePart) -> Self {
        Self {
            pattern,
            after: None,
            limit,
            bytes: usize::MAX,
            part,
            direction: Direction::Forward,
        }
    }

    /// Whether nothing follows what this scan has found.
    pub fn is_last(&self, found: &[(String, ValueEntry)]) -> bool {
        let bytes: usize = found.iter().map(|(_, entry)| entry.size()).sum();
        found.len() < self.limit && bytes < self.bytes
    }
}

/// What a scan has found so far.
pub(super) struct ScanPage<'a> {
    scan: &'a ValueScan,
    bytes: usize,
    pub(super) found: Vec<(String, ValueEntry)>,
}

impl<'a> ScanPage<'a> {
    pub(super) fn of(scan: &'a ValueScan) -> Self {
        Self {
            scan,
            bytes: 0,
            found: Vec::new(),
        }
    }

    /// Adds the next value.
    pub(super) fn add(&mut self, name: String, entry: ValueEntry) {
        self.bytes = self.bytes.saturating_add(entry.size());
        self.found.push((name, entry));
    }

    /// True where the scan wants no more.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= self.scan.limit || self.bytes >= self.scan.bytes
    }

    /// How many values it may still have.
    #[cfg(feature = "redis")]
    pub(super) fn room(&self) -> usize {
        self.scan.limit.saturating_sub(self.found.len())
    }

    /// How many bytes are wanted still, `usize::MAX` where none are counted.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(super) fn bytes_left(&self) -> usize {
        match self.scan.bytes {
            usize::MAX => usize::MAX,
            bytes => bytes.saturating_sub(self.bytes),
        }
    }
}
