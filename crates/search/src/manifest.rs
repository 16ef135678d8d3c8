//! What an index consists of. It is one value: whoever changes the index writes it with the same commit, under the condition
//! that nobody has changed it meanwhile.

use crate::page::PostingPosition;
use crate::vectors::EmbeddingSpace;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::Range;

/// Parts of a size class are merged when there are so many of them side by side.
pub const MERGED_AT_ONCE: usize = 8;
/// So many pages of codes share one entry of the manifest.
pub(crate) const GROUP: u32 = 256;

/// The state of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// By chance; that of an index that is made anew in the same place is another one.
    pub incarnation: u64,
    /// How its terms were made.
    pub terms_version: u32,
    /// The number of the next part.
    pub next_part: u32,
    /// The number of the next chunk; numbers are not given twice.
    pub next_chunk: u32,
    /// What is searched, by chunk numbers.
    pub parts: Vec<IndexPart>,
    /// A merge under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeState>,
    /// Parts that are in no use any more and still have pages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obsolete: Vec<u32>,
    /// Chunks that are kept and not searched: those that are being erased.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<ChunkRange>,
    /// All chunks, those that are hidden included.
    pub totals: ChunkTotals,
    /// The vectors of its chunks, each embedding space for itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vectors: Vec<VectorSet>,
}

/// The vectors of one embedding space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorSet {
    /// Its number; none is given twice.
    pub id: u32,
    /// What its vectors are.
    pub space: EmbeddingSpace,
    /// How often it was changed.
    pub revision: u32,
    /// Ascending; those without pages are left out.
    pub groups: Vec<VectorGroup>,
}

/// Pages of codes side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorGroup {
    /// The number of its first page, divided by how many a group can have.
    pub number: u32,
    /// How many pages it has.
    pub pages: u32,
    /// The set's revision when it was changed last.
    pub revision: u32,
}

/// An immutable run of terms and postings, but for what is erased from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPart {
    /// Its number.
    pub id: u32,
    /// The first chunk in it.
    pub first: u32,
    /// The number behind its last chunk.
    pub end: u32,
    /// How many chunks it has.
    pub chunks: u32,
    /// How many pages it has: a reader that finds another number has not seen all of it.
    pub pages: u32,
    /// How often something was erased from it.
    #[serde(default)]
    pub revision: u32,
}

/// Parts on their way into one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeState {
    /// The part that is made.
    pub into: u32,
    /// How many pages that has by now.
    pub pages: u32,
    /// How often something was erased from it.
    #[serde(default)]
    pub revision: u32,
    /// The last posting in it, unless something was erased from it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<PostingPosition>,
    /// The parts that go into it, side by side.
    pub of: Vec<u32>,
}

/// Chunks with consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRange {
    /// The first.
    pub first: u32,
    /// How many, and how long they are.
    #[serde(flatten)]
    pub totals: ChunkTotals,
}

/// What a ranking must know of a set of chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkTotals {
    /// How many there are.
    pub chunks: u32,
    /// The sum of their lengths.
    pub length: u64,
}

impl ChunkTotals {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            chunks: self.chunks + other.chunks,
            length: self.length + other.length,
        }
    }

    /// These without the others, which are among them.
    pub fn minus(self, other: Self) -> Self {
        Self {
            chunks: self.chunks.saturating_sub(other.chunks),
            length: self.length.saturating_sub(other.length),
        }
    }
}

impl ChunkRange {
    /// Whether any chunk is in both.
    pub fn meets(&self, other: &Self) -> bool {
        let (one, other) = (self.numbers(), other.numbers());
        one.start < other.end && other.start < one.end
    }

    /// Their numbers.
    pub fn numbers(&self) -> Range<u32> {
        self.first..self.first + self.totals.chunks
    }
}

impl Manifest {
    /// Of an index without content.
    pub fn new(terms_version: u32) -> Self {
        Self {
            incarnation: rand::random(),
            terms_version,
            next_part: 1,
            next_chunk: 0,
            parts: Vec::new(),
            merge: None,
            obsolete: Vec::new(),
            hidden: Vec::new(),
            totals: ChunkTotals::default(),
            vectors: Vec::new(),
        }
    }

    /// A number for a new part.
    pub fn take_part(&mut self) -> u32 {
        self.next_part += 1;
        self.next_part - 1
    }

    /// The vectors of an embedding space; without any, a new set.
    pub fn vectors_of(&mut self, space: &EmbeddingSpace) -> &mut VectorSet {
        let is_it = |set: &VectorSet| set.space == *space;
        let at = match self.vectors.iter().position(is_it) {
            Some(at) => at,
            None => {
                let id = self.take_part();
                self.vectors.push(VectorSet {
                    id,
                    space: space.clone(),
                    revision: 0,
                    groups: Vec::new(),
                });
                self.vectors.len() - 1
            }
        };
        &mut self.vectors[at]
    }

    /// Begins a merge where one is due, the smallest size class first. False where nothing is to be merged.
    pub fn begin_merge(&mut self) -> bool {
        if self.merge.is_some() {
            return true;
        }
        let Some(run) = (0..=11).find_map(|class| self.mergeable(class)) else {
            return false;
        };
        let of = self.parts[run].iter().map(|part| part.id).collect();
        let into = self.take_part();
        let (pages, revision) = (0, 0);
        self.merge = Some(MergeState {
            into,
            pages,
            revision,
            after: None,
            of,
        });
        true
    }

    /// From the first to the last of so many parts of a class, with no larger one between them.
    fn mergeable(&self, class: u32) -> Option<Range<usize>> {
        let mut found = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            match size_class(part.chunks).cmp(&class) {
                Ordering::Less => {}
                Ordering::Equal => found.push(at),
                Ordering::Greater => found.clear(),
            }
            if found.len() == MERGED_AT_ONCE {
                return Some(found[0]..at + 1);
            }
        }
        None
    }

    /// The parts that go into a merge.
    pub fn merged_parts(&self, merge: &MergeState) -> Vec<IndexPart> {
        let parts = self.parts.iter();
        parts
            .filter(|part| merge.of.contains(&part.id))
            .cloned()
            .collect()
    }

    /// Puts the new part in the place of those that went into it.
    pub fn end_merge(&mut self) {
        let Some(merge) = self.merge.take() else {
            return;
        };
        let is_old = |part: &IndexPart| merge.of.contains(&part.id);
        let Some(at) = self.parts.iter().position(is_old) else {
            return;
        };
        self.obsolete.extend(merge.of.iter().copied());
        let old: Vec<IndexPart> = self.parts.extract_if(.., |part| is_old(part)).collect();
        let whole = IndexPart {
            id: merge.into,
            first: old.first().map_or(0, |part| part.first),
            end: old.last().map_or(0, |part| part.end),
            chunks: old.iter().map(|part| part.chunks).sum(),
            pages: merge.pages,
            revision: 0,
        };
        self.parts.insert(at, whole);
        self.drop_empty_parts();
    }

    /// Forgets the parts without chunks, but for those that are being merged.
    pub fn drop_empty_parts(&mut self) {
        let merging = self.merge.as_ref().map_or(&[][..], |merge| &merge.of);
        let is_empty = |part: &IndexPart| part.chunks == 0 && !merging.contains(&part.id);
        let gone: Vec<u32> = self
            .parts
            .iter()
            .filter(|part| is_empty(part))
            .map(|part| part.id)
            .collect();
        self.parts.retain(|part| !gone.contains(&part.id));
        self.obsolete.extend(gone);
    }

    /// Which chunks are searched where nothing is filtered.
    pub fn shown(&self) -> ChunkTotals {
        let hidden = self.hidden.iter().map(|range| range.totals);
        self.totals
            .minus(hidden.fold(ChunkTotals::default(), ChunkTotals::plus))
    }

    /// Whether each part and each group of vectors of an older state is still there as it was.
    pub fn has_all_of(&self, older: &Self) -> bool {
        let has_group = |older: &VectorSet, group: &VectorGroup| {
            let set = self.vectors.iter().find(|set| set.id == older.id);
            set.is_some_and(|set| set.groups.contains(group))
        };
        let has_set = |set: &VectorSet| set.groups.iter().all(|group| has_group(set, group));
        self.incarnation == older.incarnation
            && older.parts.iter().all(|part| self.parts.contains(part))
            && older.vectors.iter().all(has_set)
    }

    /// The parts that may have chunks of this range.
    pub fn parts_of(&self, range: &Range<u32>) -> impl Iterator<Item = &IndexPart> {
        let has = move |part: &&IndexPart| part.first < range.end && range.start < part.end;
        self.parts.iter().filter(has)
    }

    /// The same, the one that is being made among them.
    pub fn parts_with(&self, range: &Range<u32>) -> Vec<u32> {
        let parts = self.parts_of(range).map(|part| part.id);
        parts
            .chain(self.merge_of(range).map(|merge| merge.into))
            .collect()
    }

    /// The merge under way, if parts with chunks of this range go into it.
    pub fn merge_of(&self, range: &Range<u32>) -> Option<&MergeState> {
        let merge = self.merge.as_ref()?;
        let is_merged = |part: &IndexPart| merge.of.contains(&part.id);
        self.parts_of(range).any(is_merged).then_some(merge)
    }
}

impl VectorSet {
    /// Notes that a page was changed, which was there or not, and is there or not.
    pub fn change_page(&mut self, page: u32, was_there: bool, is_there: bool) {
        let number = page / GROUP;
        let at = self.groups.partition_point(|it| it.number < number);
        if self.groups.get(at).is_none_or(|it| it.number != number) {
            let (pages, revision) = (0, 0);
            let group = VectorGroup {
                number,
                pages,
                revision,
            };
            self.groups.insert(at, group);
        }
        let group = &mut self.groups[at];
        group.revision = self.revision;
        group.pages = group.pages + u32::from(is_there) - u32::from(was_there);
        if group.pages == 0 {
            self.groups.remove(at);
        }
    }
}

/// Parts are of one class if they have about as many chunks, eightfold apart.
fn size_class(chunks: u32) -> u32 {
    chunks.max(1).ilog2() / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_parts(sizes: &[u32]) -> Manifest {
        let mut manifest = Manifest::new(1);
        for size in sizes {
            let id = manifest.take_part();
            manifest.parts.push(IndexPart {
                id,
                first: manifest.next_chunk,
                end: manifest.next_chunk + size,
                chunks: *size,
                pages: 1,
                revision: 0,
            });
            manifest.next_chunk += size;
        }
        manifest
    }

    #[test]
    fn eight_parts_of_a_class_are_merged_and_not_with_larger_ones() {
        assert!(!with_parts(&[1; 7]).begin_merge());
        assert!(!with_parts(&[5000, 600, 600, 100, 100, 100, 1, 1, 1]).begin_merge());
        let mut manifest = with_parts(&[5000, 1, 2, 3, 4, 5, 6, 7, 1]);
        assert!(manifest.begin_merge());
        assert_eq!(
            manifest.merge.as_ref().unwrap().of,
            [2, 3, 4, 5, 6, 7, 8, 9]
        );
        manifest.end_merge();
        let sizes: Vec<u32> = manifest.parts.iter().map(|part| part.chunks).collect();
        assert_eq!(sizes, [5000, 29]);
        assert_eq!(manifest.parts[1].end, manifest.next_chunk);
        assert_eq!(manifest.obsolete, [2, 3, 4, 5, 6, 7, 8, 9]);
        assert!(!manifest.begin_merge());
    }

    #[test]
    fn a_small_part_between_larger_ones_goes_along_with_them() {
        let mut manifest = with_parts(&[1, 100, 100, 100, 1, 100, 100, 100, 100, 100, 1]);
        assert!(manifest.begin_merge());
        let of: Vec<u32> = (2..=10).collect();
        assert_eq!(manifest.merge.unwrap().of, of);
    }

    #[test]
    fn what_is_added_leaves_an_older_state_whole() {
        let older = with_parts(&[1, 2]);
        let mut newer = older.clone();
        newer.parts.push(IndexPart {
            id: 9,
            ..older.parts[0].clone()
        });
        assert!(newer.has_all_of(&older) && !older.has_all_of(&newer));
        newer.parts[0].revision += 1;
        assert!(!newer.has_all_of(&older));
        let mut with_vectors = older.clone();
        let space = EmbeddingSpace {
            connector: "e5".to_owned(),
            model: "m".to_owned(),
            dimension: 2,
        };
        with_vectors.vectors_of(&space).change_page(0, false, true);
        let mut changed = with_vectors.clone();
        assert!(changed.has_all_of(&with_vectors) && changed.has_all_of(&older));
        changed.vectors_of(&space).revision += 1;
        changed.vectors_of(&space).change_page(1, false, true);
        assert!(!changed.has_all_of(&with_vectors));
    }
}
