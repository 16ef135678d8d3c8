//! What a commit makes of an index. Whoever makes it knows that, but for the versions, which the store answers: so neither the
//! next change nor the next search of this node reads again which pages there are.

use super::directory::{PagePlace, PartDirectory};
use super::vector_directory::{CodePageKey, CodePagePlace, VectorDirectory};
use super::{IndexSnapshot, SearchIndex, parse_page_name};
use crate::manifest::{GROUP, IndexPart, Manifest, VectorGroup};
use crate::page::PostingPosition;
use crate::vectors::CodePage;
use ambit_storage::Result;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite, WriteOutcome};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A change that is ready for its commit.
pub struct PreparedCommit {
    /// All of it, the manifest first; whoever adds to the batch puts it behind.
    pub batch: Batch,
    pub(super) index: SearchIndex,
    pub(super) before: Arc<IndexSnapshot>,
    pub(super) manifest: Manifest,
    /// The pages of codes that it writes.
    pub(super) code_pages: BTreeMap<CodePageKey, Arc<CodePage>>,
}

/// A page that a batch sets or deletes.
struct PageWrite<K> {
    key: K,
    /// Its place in the batch.
    at: usize,
}

/// The pages of an index that a batch sets or deletes, in its order.
#[derive(Default)]
struct PageWrites {
    /// By their parts.
    postings: BTreeMap<u32, Vec<PageWrite<PostingPosition>>>,
    codes: Vec<PageWrite<CodePageKey>>,
}

/// A change that the store has taken.
struct CommittedChange {
    before: Arc<IndexSnapshot>,
    manifest: Manifest,
    writes: PageWrites,
    outcomes: Vec<WriteOutcome>,
}

impl PreparedCommit {
    /// Commits the batch. It fails with `Conflict` if somebody has changed the index meanwhile; then all is to be done again.
    pub async fn commit(self) -> Result<()> {
        let index = self.index;
        let writes = PageWrites::of(&self.batch, &index.space);
        let outcomes = index.driver.commit(self.batch).await?;
        let committed = writes.map(|writes| CommittedChange {
            before: self.before,
            manifest: self.manifest,
            writes,
            outcomes,
        });
        // Where the store has not told all, the next reader looks.
        if let Some(snapshot) = committed.and_then(CommittedChange::snapshot) {
            index.keep_committed(&Arc::new(snapshot), self.code_pages);
        }
        Ok(())
    }
}

impl SearchIndex {
    fn keep_committed(
        &self,
        snapshot: &Arc<IndexSnapshot>,
        code_pages: BTreeMap<CodePageKey, Arc<CodePage>>,
    ) {
        self.cache.keep_snapshot(&self.space, snapshot);
        // The next vectors come to the last of them.
        for (key, mut page) in code_pages {
            if let Some(place) = snapshot.code_page(key) {
                Arc::make_mut(&mut page).shrink();
                self.keep_code_page(place, &page);
            }
        }
    }
}

impl PageWrites {
    /// Those of a batch; `None` where it removes values without their names.
    fn of(batch: &Batch, space: &Space) -> Option<Self> {
        let mut writes = Self::default();
        for (at, write) in batch.writes.iter().enumerate() {
            match write {
                BatchWrite::Apply { key, .. } if key.space == *space => writes.add(&key.name, at),
                BatchWrite::Wipe { space: of, .. }
                | BatchWrite::Clear { space: of }
                | BatchWrite::Remove { space: of }
                    if of == space =>
                {
                    return None;
                }
                _ => {}
            }
        }
        Some(writes)
    }

    fn add(&mut self, name: &str, at: usize) {
        if let Some((part, key)) = parse_page_name(name) {
            let pages = self.postings.entry(part).or_default();
            pages.push(PageWrite { key, at });
        } else if let Some(key) = CodePageKey::parse(name) {
            self.codes.push(PageWrite { key, at });
        }
    }
}

impl CommittedChange {
    /// The index as it is now; `None` where pages of a part are not known, as of one that was made by several commits.
    fn snapshot(self) -> Option<IndexSnapshot> {
        let Some(WriteOutcome::Applied { version, .. }) = self.outcomes.first() else {
            return None;
        };
        let version = *version;
        let parts = self.manifest.parts.iter();
        let directories: Option<Vec<_>> = parts.map(|part| self.part_directory(part)).collect();
        let mut vectors = Vec::new();
        for set in &self.manifest.vectors {
            for group in &set.groups {
                vectors.push(self.vector_directory(set.id, group)?);
            }
        }
        let snapshot = IndexSnapshot {
            directories: directories?,
            manifest: self.manifest,
            version,
            is_stale: false,
            vectors,
        };
        (snapshot.is_stored() && snapshot.is_whole()).then_some(snapshot)
    }

    fn part_directory(&self, part: &IndexPart) -> Option<Arc<PartDirectory>> {
        let mut known = self.before.directories.iter();
        let known = known.find(|it| it.part == part.id);
        let Some(writes) = self.writes.postings.get(&part.id) else {
            return known.filter(|it| it.revision == part.revision).cloned();
        };
        let known = known.into_iter().flat_map(|it| &it.pages);
        let known = known.map(|page| (page.start.clone(), page.version));
        let pages = self.pages(known.collect(), writes.iter())?.into_iter();
        let pages = pages.map(|(start, version)| PagePlace { start, version });
        Some(Arc::new(PartDirectory {
            part: part.id,
            revision: part.revision,
            pages: pages.collect(),
        }))
    }

    fn vector_directory(&self, set: u32, group: &VectorGroup) -> Option<Arc<VectorDirectory>> {
        let mut known = self.before.vectors.iter();
        let known = known.find(|it| it.set == set && it.group == group.number);
        let is_here = |write: &&PageWrite<CodePageKey>| {
            write.key.set == set && write.key.page / GROUP == group.number
        };
        let mut writes = self.writes.codes.iter().filter(is_here).peekable();
        if writes.peek().is_none() {
            return known.filter(|it| it.revision == group.revision).cloned();
        }
        let known = known.into_iter().flat_map(|it| &it.pages);
        let known = known.map(|page| (page.key, page.version));
        let pages = self.pages(known.collect(), writes)?.into_iter();
        let pages = pages.map(|(key, version)| CodePagePlace { key, version });
        Some(Arc::new(VectorDirectory {
            set,
            group: group.number,
            revision: group.revision,
            pages: pages.collect(),
        }))
    }

    /// The versions of pages behind these writes.
    fn pages<'a, K: Ord + Clone + 'a>(
        &self,
        mut pages: BTreeMap<K, u64>,
        writes: impl Iterator<Item = &'a PageWrite<K>>,
    ) -> Option<BTreeMap<K, u64>> {
        for PageWrite { key, at } in writes {
            let WriteOutcome::Applied { version, .. } = self.outcomes.get(*at)? else {
                return None;
            };
            match version {
                Some(version) => pages.insert(key.clone(), *version),
                None => pages.remove(key),
            };
        }
        Some(pages)
    }
}
