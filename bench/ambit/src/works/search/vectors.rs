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

/// With more chunks the vectors alone are gigabytes.
const LARGEST: usize = 100_000;

/// Indexes chunks with vectors, then searches them.
pub async fn run(bench: &Bench) -> Result<()> {
    let sizes = sizes(bench, "W13 index with vectors", &["sqlite"]);
    for size in sizes.into_iter().filter(|size| *size <= LARGEST) {
        let mut collection = Collection::new(bench, &format!("vectors-{size}"));
        let mut corpus = Corpus::new(1);
        let mut seconds = 0.0;
        for from in (0..size).step_by(COMMIT) {
            let count = COMMIT.min(size - from);
            let (texts, vectors) = (corpus.texts(count, CHUNK), corpus.vectors(count, DIMENSION));
            seconds += collection.add(&texts).await?;
            seconds += collection.add_vectors(from, vectors).await?;
        }
        let row = Row {
            work: "W13 index with vectors",
            p: size,
            unit: "chunks/s",
            note: "terms, and vectors of 384 numbers in a commit of their own behind each 250 chunks",
        };
        bench.output.row(row, size as f64 / seconds);
        search(bench, &collection, size).await?;
    }
    Ok(())
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
    }
    let row = |work, note| Row {
        work,
        p: size,
        unit: "ms",
        note,
    };
    let output = &bench.output;
    let note = "the nearest ten, all compared by codes of 8 bits, the first hundred by 32";
    let p50 = row("W14 query by vector, p50", note);
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
