//! W13 and W14: indexing by words and searching, beside SQLite's own full-text search on the same texts.

mod collection;
mod corpus;
mod full_text;
mod indexing;
mod queries;
mod vectors;

pub use indexing::index;
pub use queries::query;

use super::Bench;
use crate::Result;
use crate::measure::Row;
use collection::Collection;
use corpus::Corpus;
use full_text::FullText;

/// Words of a chunk.
const CHUNK: usize = 150;
/// Chunks of one commit, as a job of a collection makes them.
const COMMIT: usize = 250;
/// Chunks of one commit of SQLite's full-text search.
const PEER_COMMIT: usize = 500;
/// What SQLite's full-text search is called in results.
const PEER: &str = "SQLite FTS5";

/// More chunks than this are indexed over those stores alone that a target names.
const MANY: usize = 10_000;

/// Whether an index is measured there: contexts are not below it, and files promise to be right, not to be fast.
fn is_measured(bench: &Bench) -> bool {
    !bench.store.contexts && !bench.store.normal && bench.scheme() != "file"
}

/// The sizes that this work is measured at over this store; that large ones are left out is in the results.
fn sizes(bench: &Bench, work: &str, stores: &[&str]) -> Vec<usize> {
    let mut sizes = bench.sizes.chunks.to_vec();
    if !stores.contains(&bench.scheme()) {
        sizes.retain(|size| *size <= MANY);
    }
    if let Some(left_out) = bench.sizes.chunks.get(sizes.len()) {
        let row = Row {
            work,
            p: *left_out,
            unit: "ms",
            note: "",
        };
        let stores = stores.join(" and ");
        let why = format!(
            "so many chunks are indexed over {stores} alone: no target names another store"
        );
        bench.output.missing(row, &why);
    }
    sizes
}

/// An index of so many chunks, and the seconds that it took.
async fn filled(bench: &Bench, work: &str, size: usize) -> Result<(Collection, f64)> {
    let mut collection = Collection::new(bench, &format!("{work}-{size}"));
    let mut corpus = Corpus::new(1);
    let mut seconds = 0.0;
    for from in (0..size).step_by(COMMIT) {
        let texts = corpus.texts(COMMIT.min(size - from), CHUNK);
        seconds += collection.add(&texts).await?;
    }
    Ok((collection, seconds))
}

/// The same texts in SQLite's full-text search; none beside other stores.
fn filled_peer(bench: &Bench, work: &str, size: usize) -> Result<Option<(FullText, f64)>> {
    let Some(file) = bench.store.url.strip_prefix("sqlite:") else {
        return Ok(None);
    };
    let mut full_text = FullText::create(&format!("{file}-{work}-{size}"))?;
    let mut corpus = Corpus::new(1);
    let mut seconds = 0.0;
    for from in (0..size).step_by(PEER_COMMIT) {
        let texts = corpus.texts(PEER_COMMIT.min(size - from), CHUNK);
        seconds += full_text.add(&texts)?;
    }
    Ok(Some((full_text, seconds)))
}
