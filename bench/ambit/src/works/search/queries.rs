//! W14: searching by words.

use super::collection::{MEMORY, Searcher};
use super::corpus::Corpus;
use super::full_text::FullText;
use super::{Bench, PEER, filled, filled_peer, is_measured, sizes, vectors};
use crate::Result;
use crate::measure::{Row, median, percentile};

/// Words of a short query and of a long one.
const LENGTHS: [usize; 2] = [3, 25];
/// Queries that differ.
const QUERIES: usize = 100;
/// How often each is timed.
const TIMES: usize = 3;
/// Queries over which memory is watched, for each operation of other works, and one of so many is long: these take five times
/// as long, and read the same pages.
const MANY: usize = 10;
const ONE_LONG_OF: usize = 10;

pub async fn query(bench: &Bench) -> Result<()> {
    if !is_measured(bench) {
        return Ok(());
    }
    for size in sizes(bench, "W14 query of words", &["sqlite", "postgres"]) {
        let (collection, _) = filled(bench, "w14", size).await?;
        let [all, some] = times([&collection.searcher(), &collection.filtered()]).await?;
        print(bench, "ambit", size, ["p50", "p99"], &all);
        print(bench, "ambit", size, ["1 % allowed", ""], &some);
        if let Some((full_text, _)) = filled_peer(bench, "w14", size)? {
            let theirs = peer_times(&full_text)?;
            print(bench, PEER, size, ["p50", "p99"], &theirs);
        }
        if bench.scheme() == "sqlite" && Some(&size) == bench.sizes.chunks.last() {
            memory(bench, size, &collection.searcher()).await?;
        }
    }
    vectors::run(bench).await
}

/// The milliseconds of the queries of each length, once all pages that they need are in memory. The searchers take turns, each
/// with all queries: what the machine does meanwhile befalls both, and none finds what the other has just read.
async fn times(searchers: [&Searcher; 2]) -> Result<[[Vec<f64>; 2]; 2]> {
    let mut spent: [[Vec<f64>; 2]; 2] = Default::default();
    for (length, words) in LENGTHS.into_iter().enumerate() {
        for time in 0..=TIMES {
            for (searcher, spent) in searchers.into_iter().zip(&mut spent) {
                let mut corpus = Corpus::new(5);
                for _ in 0..QUERIES {
                    let took = searcher.find(&corpus.text(words)).await?;
                    spent[length].extend((time > 0).then_some(took));
                }
            }
        }
    }
    Ok(spent)
}

/// The same of SQLite's, whose longest queries take long: each is timed once.
fn peer_times(full_text: &FullText) -> Result<[Vec<f64>; 2]> {
    let mut spent: [Vec<f64>; 2] = Default::default();
    for (words, spent) in LENGTHS.into_iter().zip(&mut spent) {
        let mut corpus = Corpus::new(5);
        for _ in 0..QUERIES {
            spent.push(full_text.find(&corpus.text(words))?);
        }
    }
    Ok(spent)
}

/// The medians and what one in a hundred exceeds, by the names that they have; an empty one is left out.
fn print(bench: &Bench, peer: &str, size: usize, names: [&str; 2], spent: &[Vec<f64>; 2]) {
    for (words, spent) in LENGTHS.into_iter().zip(spent) {
        let values = [median(spent.clone()), percentile(spent.clone(), 99)];
        for (name, value) in names.into_iter().zip(values) {
            if name.is_empty() {
                continue;
            }
            let row = Row {
                work: &format!("W14 query of {words} words, {name}"),
                p: size,
                unit: "ms",
                note: "the best ten of so many chunks of 150 words",
            };
            bench.output.row_of(peer, row, value);
        }
    }
}

/// What is resident beside the cache, and what many queries add to it.
async fn memory(bench: &Bench, size: usize, searcher: &Searcher) -> Result<()> {
    let Some(before) = resident() else {
        return Ok(());
    };
    let count = bench.sizes.operations * MANY;
    let mut corpus = Corpus::new(6);
    for number in 0..count {
        let words = LENGTHS[usize::from(number.is_multiple_of(ONE_LONG_OF))];
        searcher.find(&corpus.text(words)).await?;
    }
    let Some(after) = resident() else {
        return Ok(());
    };
    let note = format!("of this process, whose cache has {} MB", MEMORY >> 20);
    let row = Row {
        work: "W14 resident",
        p: size,
        unit: "MB",
        note: &note,
    };
    bench.output.row(row, after);
    let row = Row {
        work: "W14 growth",
        p: count,
        unit: "% more",
        note: "resident after so many queries more",
    };
    bench.output.row(row, 100.0 * (after - before) / before);
    Ok(())
}

/// MB of this process that are resident; `None` where the system does not say.
fn resident() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = text.lines();
    let kilobytes = lines.find_map(|line| line.strip_prefix("VmRSS:"))?;
    let number: f64 = kilobytes.trim().trim_end_matches(" kB").parse().ok()?;
    Some(number / 1024.0)
}
