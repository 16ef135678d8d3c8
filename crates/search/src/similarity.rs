//! Which allowed chunks have the vectors nearest to a query's: all are compared by their codes, the first by the vectors.

use crate::allowed::AllowedChunks;
use crate::best_chunks::{BestChunks, ScoredChunk};
use crate::index::{CodePagePlace, IndexSnapshot, SearchIndex};
use crate::manifest::VectorSet;
use crate::ranking::{ScopeFilter, SearchScope};
use crate::vectors::{
    CodePage, EmbeddingSpace, PAGE, QueryVector, VectorCode, code_product, cosine,
};
use ambit_storage::{Error, Result};
use futures::{StreamExt, TryStreamExt, stream};
use std::sync::Arc;

/// So many values are fetched at once.
const AT_ONCE: usize = 16;
/// So many pages are compared as one piece of work.
const PIECE: usize = 64;
/// So many pieces are under way.
const PIECES: usize = 4;

/// How many of the nearest are wanted, and how near they must be.
#[derive(Clone, Copy, Debug)]
pub struct NearestOptions {
    /// So many, with all that tie with the last.
    pub limit: usize,
    /// The least similarity, from 0 to 1; that of a right angle is 0.5.
    pub threshold: f64,
}

/// What vectors of one embedding space found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorRanking {
    /// The best first, with their cosines.
    pub chunks: Vec<ScoredChunk>,
    /// The scopes in which an allowed chunk has such a vector.
    pub compared: Vec<usize>,
}

/// The search of one scope.
struct ScopeComparison<'a> {
    index: &'a SearchIndex,
    set: &'a VectorSet,
    work: Arc<CodeComparison>,
}

/// What all codes of a scope are compared with.
struct CodeComparison {
    scope: usize,
    query: Vec<i16>,
    scale: f64,
    filter: ScopeFilter,
    limit: usize,
}

/// A page and its first chunk.
struct NumberedPage {
    first: u32,
    page: Arc<CodePage>,
}

/// The nearest of some pages.
struct NearestCodes {
    chunks: Vec<ScoredChunk>,
    has_vectors: bool,
}

/// The nearest chunks of the scopes that ask for vectors of this space; a scope whose vector is none of it is left out. `only`
/// names those that are compared, by scopes.
pub async fn rank_vectors(
    scopes: &[SearchScope],
    space: &EmbeddingSpace,
    options: NearestOptions,
    only: Option<&[Vec<u32>]>,
) -> Result<VectorRanking> {
    let mut best = BestChunks::new(options.limit);
    let mut compared = Vec::new();
    for (at, scope) in scopes.iter().enumerate() {
        let Some((query, set)) = wanted(scope, space) else {
            continue;
        };
        if space.check(&query.vector).is_err() {
            continue;
        }
        let mut filter = scope.filter();
        if let Some(only) = only {
            filter.allowed = AllowedChunks::chosen(only[at].clone());
        }
        let comparison = ScopeComparison {
            index: &scope.index,
            set,
            work: Arc::new(CodeComparison::new(at, query, filter, options.limit)),
        };
        if comparison.run(&scope.snapshot, &mut best).await? {
            compared.push(at);
        }
    }
    let chunks = by_vectors(scopes, space, best.finish()).await?;
    let is_near = |chunk: &ScoredChunk| (1.0 + chunk.score) / 2.0 >= options.threshold;
    let mut nearest = BestChunks::new(options.limit);
    for chunk in chunks.into_iter().filter(is_near) {
        nearest.offer(chunk);
    }
    Ok(VectorRanking {
        chunks: nearest.finish(),
        compared,
    })
}

/// Whether more vectors of allowed chunks are to be compared than so many. Vectors of other chunks count for nothing.
pub(crate) async fn has_more_vectors(scopes: &[SearchScope], most: u32) -> Result<bool> {
    let wanted = scopes.iter().filter_map(|scope| {
        let query = scope.vector.as_ref()?;
        query.space.check(&query.vector).ok()?;
        Some((scope, wanted(scope, &query.space)?.1))
    });
    let wanted: Vec<(&SearchScope, &VectorSet)> = wanted.collect();
    let chunks = wanted.iter().map(|(scope, _)| scope.allowed.totals.chunks);
    if chunks.map(u64::from).sum::<u64>() <= u64::from(most) {
        return Ok(false);
    }
    let mut count = 0;
    for (scope, set) in wanted {
        let places = allowed_pages(&scope.snapshot, set, &scope.allowed);
        let pages = places
            .into_iter()
            .map(|place| scope.index.numbered_page(place, set));
        let mut pages = stream::iter(pages).buffered(AT_ONCE);
        let mut allowed = scope.allowed.cursor();
        while let Some(NumberedPage { first, page }) = pages.try_next().await? {
            let chunks = page.places().iter().map(|place| first + u32::from(*place));
            count += chunks.filter(|chunk| allowed.has(*chunk)).count();
            if count > most as usize {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The pages of a set on which allowed chunks may have vectors.
fn allowed_pages(
    snapshot: &IndexSnapshot,
    set: &VectorSet,
    allowed: &AllowedChunks,
) -> Vec<CodePagePlace> {
    let is_allowed = |place: &CodePagePlace| {
        let first = place.key.first();
        allowed.meets(&(first..first.saturating_add(PAGE)))
    };
    snapshot.code_pages(set.id).filter(is_allowed).collect()
}

impl SearchIndex {
    async fn numbered_page(&self, place: CodePagePlace, set: &VectorSet) -> Result<NumberedPage> {
        let page = self.code_page(place, set.space.dimension).await?;
        let first = place.key.first();
        Ok(NumberedPage { first, page })
    }
}

/// What a scope looks for in a space, and the vectors that it has there.
fn wanted<'a>(
    scope: &'a SearchScope,
    space: &EmbeddingSpace,
) -> Option<(&'a QueryVector, &'a VectorSet)> {
    let query = scope
        .vector
        .as_ref()
        .filter(|query| query.space == *space)?;
    Some((query, scope.snapshot.vector_set(space)?))
}

/// The same chunks with the cosines of the vectors themselves.
async fn by_vectors(
    scopes: &[SearchScope],
    space: &EmbeddingSpace,
    chunks: Vec<ScoredChunk>,
) -> Result<Vec<ScoredChunk>> {
    let compared = chunks.into_iter();
    let compared = compared.map(|chunk| by_vector(scopes, space, chunk));
    stream::iter(compared).buffered(AT_ONCE).try_collect().await
}

async fn by_vector(
    scopes: &[SearchScope],
    space: &EmbeddingSpace,
    mut chunk: ScoredChunk,
) -> Result<ScoredChunk> {
    let scope = &scopes[chunk.scope];
    if let Some((query, set)) = wanted(scope, space) {
        let vector = scope.index.vector(&scope.snapshot, set, chunk.chunk);
        chunk.score = cosine(&query.vector, &vector.await?);
    }
    Ok(chunk)
}

impl ScopeComparison<'_> {
    /// True where an allowed chunk has a vector.
    async fn run(&self, snapshot: &IndexSnapshot, best: &mut BestChunks) -> Result<bool> {
        let places = allowed_pages(snapshot, self.set, &self.work.filter.allowed);
        let pieces = places.chunks(PIECE).map(<[_]>::to_vec);
        let pieces = pieces.map(|piece| self.compare(piece));
        let mut pieces = stream::iter(pieces).buffered(PIECES);
        let mut has_vectors = false;
        while let Some(piece) = pieces.try_next().await? {
            has_vectors |= piece.has_vectors;
            for chunk in piece.chunks {
                best.offer(chunk);
            }
        }
        Ok(has_vectors)
    }

    async fn compare(&self, places: Vec<CodePagePlace>) -> Result<NearestCodes> {
        let is_whole = places.len() == PIECE;
        let pages = places.into_iter();
        let pages = pages.map(|place| self.index.numbered_page(place, self.set));
        let pages = stream::iter(pages).buffered(AT_ONCE);
        let pages: Vec<NumberedPage> = pages.try_collect().await?;
        let work = self.work.clone();
        if !is_whole {
            return Ok(work.nearest(&pages));
        }
        let nearest = tokio::task::spawn_blocking(move || work.nearest(&pages));
        nearest
            .await
            .map_err(|error| Error::internal(format!("a comparison ended early: {error}")))
    }
}

impl CodeComparison {
    fn new(scope: usize, query: &QueryVector, filter: ScopeFilter, limit: usize) -> Self {
        let code = VectorCode::of(&query.vector);
        Self {
            scope,
            query: code.codes.into_iter().map(i16::from).collect(),
            scale: f64::from(code.scale),
            filter,
            limit,
        }
    }

    /// The nearest on pages whose first chunks ascend.
    fn nearest(&self, pages: &[NumberedPage]) -> NearestCodes {
        let mut best = BestChunks::new(self.limit);
        let mut allowed = self.filter.allowed.cursor();
        let mut has_vectors = false;
        for NumberedPage { first, page } in pages {
            for (place, scale, codes) in page.vectors() {
                let chunk = first + u32::from(place);
                if !allowed.has(chunk) {
                    continue;
                }
                has_vectors = true;
                let product = f64::from(code_product(&self.query, codes));
                let score = product * self.scale * f64::from(scale);
                if best.wants(score) && !self.filter.hidden.contains(&chunk) {
                    let scope = self.scope;
                    best.offer(ScoredChunk {
                        scope,
                        chunk,
                        score,
                    });
                }
            }
        }
        NearestCodes {
            chunks: best.finish(),
            has_vectors,
        }
    }
}
