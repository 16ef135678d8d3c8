//! What cutting a text costs beside it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use ambit_search::chunker::{BlockKind, ChunkSettings, Section, TextBlock, chunks};
use std::fs;

/// The most memory that this process has had, in bytes.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let row = lines.find(|line| line.starts_with("VmHWM:")).unwrap();
    let kibibytes: usize = row.split_whitespace().nth(1).unwrap().parse().unwrap();
    kibibytes * 1024
}

/// A paragraph of a million words, and code of two million lines.
#[test]
fn g207_a_text_of_short_words_and_lines_is_cut_in_a_few_times_its_size() {
    let words = "a ".repeat(1 << 20);
    let text = format!("{words}a{}a", "\n".repeat(2 << 20));
    let block = |kind, range| TextBlock {
        kind,
        range,
        header: None,
    };
    let section = Section {
        blocks: vec![
            block(BlockKind::Paragraph, 0..words.len()),
            block(BlockKind::Code, words.len()..text.len()),
        ],
        ..Section::default()
    };
    let before = peak();
    let found = chunks("d", &text, &[section], ChunkSettings::default());
    assert!(found.len() > 1_000, "{}", found.len());
    let grown = peak() - before;
    assert!(grown < 8 * text.len(), "{grown}");
}
