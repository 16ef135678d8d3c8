//! W13 and W14 with vectors: chunks indexed with them, and asked for by them alone and together with words.

use super::collection::{Collection, DIMENSION};
use super::corpus::Corpus;
use super::{Bench, CHUNK, COMMIT, sizes};
use crate::Result;
use crate::measure::{Row, median, percentile};

/// Queries that differ.
const QUERIES: usize = 100;
/// Words of a query that has a vector too.
const WORDS: usize = 3;

/// A size whose chunks would take more seconds is left out.
const PATIENCE: f64 = 1_800.0;
/// Where queries take more milliseconds together, fewer are asked, but so many at least.
const ASKING: f64 = 60_000.0;
const FEWEST: usize = 30;

const INDEX: &str = "W13 index with vectors";
const QUERY: &str = "W14 query by vector, p50";

/// Indexes chunks with vectors, then searches them.
pub async fn run(bench: &Bench) -> Result<()> {
    for size in sizes(bench, INDEX, &["sqlite"]) {
        if let Some(collection) = indexed(bench, size).await? {
            search(bench, &collection, size).await?;
        }
    }
    Ok(())
}

/// An index of so many chunks with their vectors; none where that would take too long, which is in the results.
async fn indexed(bench: &Bench, size: usize) -> Result<Option<Collection>> {
    let row = Row {
        work: INDEX,
        p: size,
        unit: "chunks/s",
        note: "terms, and vectors of 384 numbers in a commit of their own behind each 250 chunks",
    };
    let mut collection = Collection::new(bench, &format!("vectors-{size}"));
    let mut corpus = Corpus::new(1);
    let mut seconds = 0.0;
    for from in (0..size).step_by(COMMIT) {
        let count = COMMIT.min(size - from);
        let (texts, vectors) = (corpus.texts(count, CHUNK), corpus.vectors(count, DIMENSION));
        seconds += collection.add(&texts).await?;
        seconds += collection.add_vectors(from, vectors).await?;
        let expected = seconds * size as f64 / (from + count) as f64;
        if expected > PATIENCE {
            let why = format!("would need {expected:.0} s to index {size} chunks with vectors");
            for work in [INDEX, QUERY] {
                bench.output.missing(Row { work, ..row }, &why);
            }
            return Ok(None);
        }
    }
    bench.output.row(row, size as f64 / seconds);
    Ok(Some(collection))
}

async fn search(bench: &Bench, collection: &Collection, size: usize) -> Result<()> {
    let searcher = collection.searcher();
    let mut corpus = Corpus::new(5);
    let (mut by_vector, mut by_words, mut by_both) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..=QUERIES {
        let (text, vector) = (corpus.text(WORDS), corpus.vectors(1, DIMENSION).remove(0));
        let spent = [
            searcher.rank("", Some(vector.clone())).await?,
            searcher.rank(&text, None).await?,
            searcher.rank(&text, Some(vector)).await?,
        ];
        // The first reads what then is in memory.
        if number > 0 {
            by_vector.push(spent[0]);
            by_words.push(spent[1]);
            by_both.push(spent[2]);
        }
        let asked: f64 = by_vector.iter().chain(&by_both).sum();
        if asked > ASKING && number >= FEWEST {
            break;
        }
    }
    let row = |work, note| Row {
        work,
        p: size,
        unit: "ms",
        note,
    };
    let output = &bench.output;
    let note = "the nearest ten, all compared by codes of 8 bits, the first hundred by 32";
    let p50 = row(QUERY, note);
    output.row(p50, median(by_vector.clone()));
    let p99 = row("W14 query by vector, p99", note);
    output.row(p99, percentile(by_vector.clone(), 99));
    let both = row("W14 hybrid query, p50", "3 words and a vector");
    output.row(both, median(by_both.clone()));
    let sum = median(by_vector) + median(by_words);
    let share = row(
        "W14 hybrid of words and vectors alone",
        "of the sum of both",
    );
    let share = Row { unit: "%", ..share };
    output.row(share, 100.0 * median(by_both) / sum);
    Ok(())
}
