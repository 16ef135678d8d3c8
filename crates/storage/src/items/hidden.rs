//! Which archived entries a view leaves out for good, apart from truncation, which only makes it shorter: those whose place a
//! turn has taken, and those that were removed.

use super::view::ViewPiece;
use serde::{Deserialize, Serialize};

/// Archived entries from … to, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryRange {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl EntryRange {
    pub(crate) fn length(&self) -> u64 {
        self.to + 1 - self.from
    }
}

/// Entries that the view leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HiddenRange {
    #[serde(flatten)]
    pub(crate) range: EntryRange,
    /// The turn that has taken their place, if one has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
}

/// The archived entries that these pieces show, in the archive's order.
pub(crate) fn shown(pieces: &[ViewPiece]) -> Vec<EntryRange> {
    let kept = pieces.iter().filter_map(|piece| match piece {
        ViewPiece::Kept(from, to) => Some(EntryRange {
            from: *from,
            to: *to,
        }),
        ViewPiece::Made { .. } => None,
    });
    let mut ranges: Vec<EntryRange> = kept.collect();
    ranges.sort_unstable_by_key(|range| range.from);
    ranges
}

/// The entries up to `last` that are not hidden.
pub(crate) fn visible(last: u64, hidden: &[HiddenRange]) -> Vec<EntryRange> {
    let all = (last > 0).then_some(EntryRange { from: 1, to: last });
    let mut hidden: Vec<EntryRange> = hidden.iter().map(|hidden| hidden.range).collect();
    hidden.sort_unstable_by_key(|range| range.from);
    without(all.as_slice(), &hidden)
}

/// What of some ranges is in none of the others; both are in order.
pub(crate) fn without(ranges: &[EntryRange], others: &[EntryRange]) -> Vec<EntryRange> {
    let mut left = Vec::new();
    for range in ranges {
        let mut from = range.from;
        for other in others {
            if other.to < from || other.from > range.to {
                continue;
            }
            if other.from > from {
                let to = other.from - 1;
                left.push(EntryRange { from, to });
            }
            from = other.to + 1;
        }
        if from <= range.to {
            let to = range.to;
            left.push(EntryRange { from, to });
        }
    }
    left
}

/// What of some ranges lies from this entry on.
pub(crate) fn behind(ranges: &[EntryRange], first: u64) -> Vec<EntryRange> {
    let kept = ranges.iter().filter(|range| range.to >= first);
    kept.map(|range| EntryRange {
        from: range.from.max(first),
        to: range.to,
    })
    .collect()
}

/// The pieces in front of the first that shows this entry or a later one, or stands for it.
pub(crate) fn cut(pieces: &[ViewPiece], first: u64) -> Vec<ViewPiece> {
    let mut left = Vec::new();
    for piece in pieces {
        match piece {
            ViewPiece::Kept(_, to) if *to < first => left.push(piece.clone()),
            ViewPiece::Kept(from, _) if *from < first => {
                left.push(ViewPiece::Kept(*from, first - 1));
                break;
            }
            ViewPiece::Made { from, .. } if from.iter().all(|(_, to)| *to < first) => {
                left.push(piece.clone());
            }
            _ => break,
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use std::collections::BTreeSet;

    fn entries(ranges: &[EntryRange]) -> BTreeSet<u64> {
        let all = ranges.iter().flat_map(|range| range.from..=range.to);
        all.collect()
    }

    /// Ranges with random ends in order, none of which overlap.
    fn random(last: u64) -> Vec<EntryRange> {
        let mut random = rand::rng();
        let some: Vec<u64> = (1..=last).filter(|_| random.random_bool(0.5)).collect();
        let mut ranges: Vec<EntryRange> = Vec::new();
        for at in some {
            match ranges.last_mut() {
                Some(range) if range.to + 1 == at && random.random_bool(0.7) => range.to = at,
                _ => ranges.push(EntryRange { from: at, to: at }),
            }
        }
        ranges
    }

    #[test]
    fn ranges_are_sets_of_entries() {
        for _ in 0..2_000 {
            let (ranges, others) = (random(12), random(12));
            let expected = &entries(&ranges) - &entries(&others);
            assert_eq!(entries(&without(&ranges, &others)), expected);
            let expected = entries(&ranges).split_off(&5);
            assert_eq!(entries(&behind(&ranges, 5)), expected);
        }
    }

    #[test]
    fn a_view_is_cut_in_front_of_an_entry_and_of_what_stands_for_it() {
        let made = |to: u64| ViewPiece::Made {
            id: "m".to_owned(),
            body: crate::json::Json::stored("{}"),
            from: vec![(2, to)],
        };
        let view = |to: u64| vec![ViewPiece::Kept(1, 1), made(to), ViewPiece::Kept(5, 8)];
        let left = vec![ViewPiece::Kept(1, 1), made(4), ViewPiece::Kept(5, 6)];
        assert_eq!(cut(&view(4), 7), left);
        assert_eq!(cut(&view(4), 5), left[..2]);
        assert_eq!(cut(&view(4), 4), left[..1]);
        assert_eq!(cut(&view(4), 9), view(4));
        assert_eq!(cut(&view(4), 1), []);
    }
}
