//! W13: indexing by words: how quick, how many bytes, and what readers notice of it.

use super::corpus::Corpus;
use super::{Bench, CHUNK, COMMIT, Collection, PEER, filled, filled_peer, is_measured, sizes};
use crate::Result;
use crate::measure::{Row, percentile, written};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Larger indexes take minutes to make: W14 asks them.
const LARGEST: usize = 100_000;
/// Chunks that are added one by one.
const SINGLE: usize = 200;
/// Queries that are timed before and while others write.
const QUERIES: usize = 300;

pub async fn index(bench: &Bench) -> Result<()> {
    if !is_measured(bench) {
        return Ok(());
    }
    let sizes = sizes(bench, "W13 index by words", &["sqlite"]);
    for size in sizes.into_iter().filter(|size| *size <= LARGEST) {
        of_size(bench, size).await?;
    }
    Ok(())
}

async fn of_size(bench: &Bench, size: usize) -> Result<()> {
    let row = |work, unit, note| Row {
        work,
        p: size,
        unit,
        note,
    };
    let output = &bench.output;
    let before = written();
    let (mut collection, seconds) = filled(bench, "w13", size).await?;
    let after = written();
    let note = "terms, commits of 250 chunks and merges";
    let rate = row("W13 index by words", "chunks/s", note);
    output.row(rate, size as f64 / seconds);
    if let (Some(before), Some(after), "sqlite") = (before, after, bench.scheme()) {
        let each = (after - before) as f64 / 1024.0 / size as f64;
        output.row(row("W13 written", "kB/chunk", "with merges"), each);
    }
    let share = 100.0 * collection.stored().await? as f64 / collection.bytes as f64;
    let note = "names and values, of the bytes of text";
    output.row(row("W13 parts", "% of text", note), share);
    if let Some((_, seconds)) = filled_peer(bench, "w13", size)? {
        let note = "contentless, detail=none, commits of 500 chunks; without stems";
        let rate = Row { note, ..rate };
        output.row_of(PEER, rate, size as f64 / seconds);
    }
    one_more(bench, &mut collection, size).await?;
    read_meanwhile(bench, collection, size).await
}

/// Chunks that come one by one, as notes do.
async fn one_more(bench: &Bench, collection: &mut Collection, size: usize) -> Result<()> {
    let mut corpus = Corpus::new(2);
    let before = written();
    let mut seconds = 0.0;
    for _ in 0..SINGLE {
        seconds += collection.add(&corpus.texts(1, CHUNK)).await?;
    }
    let row = |work, unit| Row {
        work,
        p: size,
        unit,
        note: "the mean of 200, with merges",
    };
    let each = seconds * 1e3 / SINGLE as f64;
    bench.output.row(row("W13 one chunk more", "ms"), each);
    if let (Some(before), Some(after), "sqlite") = (before, written(), bench.scheme()) {
        let each = (after - before) as f64 / 1024.0 / SINGLE as f64;
        let row = row("W13 one chunk more, written", "kB");
        bench.output.row(row, each);
    }
    Ok(())
}

/// What queries take while nobody writes, and while somebody indexes without a pause.
async fn read_meanwhile(bench: &Bench, mut collection: Collection, size: usize) -> Result<()> {
    let searcher = collection.searcher();
    let ask = async || -> Result<f64> {
        let mut corpus = Corpus::new(3);
        let mut spent = Vec::with_capacity(QUERIES);
        for _ in 0..QUERIES {
            spent.push(searcher.find(&corpus.text(3)).await?);
        }
        Ok(percentile(spent, 99))
    };
    ask().await?;
    let idle = ask().await?;
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let writer = tokio::spawn(async move {
        let mut corpus = Corpus::new(4);
        while !over.load(Ordering::Relaxed) {
            collection.add(&corpus.texts(COMMIT, CHUNK)).await?;
        }
        Ok::<(), crate::Error>(())
    });
    let busy = ask().await;
    is_over.store(true, Ordering::Relaxed);
    writer.await??;
    let row = |work, note| Row {
        work,
        p: size,
        unit: "ms",
        note,
    };
    let output = &bench.output;
    output.row(row("W13 query p99, idle", "3 words"), idle);
    let note = "3 words, while chunks are added and merged without a pause";
    output.row(row("W13 query p99, while indexing", note), busy?);
    Ok(())
}
