//! Chunks of documents that are written down here.

use super::{BlockKind, Chunk, ChunkSettings, Section, TextBlock, chunks};
use ambit_storage::truncation::estimate_text;
use std::collections::HashSet;

/// Puts a document together as reading a file does.
#[derive(Default)]
struct DocumentText {
    text: String,
    sections: Vec<Section>,
}

impl DocumentText {
    fn section(mut self, heading: &[&str], page: Option<u32>) -> Self {
        self.text.push_str(heading.last().unwrap_or(&""));
        self.text.push('\n');
        self.sections.push(Section {
            heading: heading.iter().map(|text| (*text).to_owned()).collect(),
            page,
            blocks: Vec::new(),
        });
        self
    }

    fn block(mut self, kind: BlockKind, text: &str) -> Self {
        let start = self.text.len();
        self.text.push_str(text);
        let range = start..self.text.len();
        self.text.push('\n');
        let section = self.sections.last_mut().unwrap();
        // The first row of a table is its header.
        let above = section.blocks.last();
        let above = above.filter(|above| kind == BlockKind::TableRow && above.kind == kind);
        let header = above.map(|above| above.header.clone().unwrap_or(above.range.clone()));
        section.blocks.push(TextBlock {
            kind,
            range,
            header,
        });
        self
    }

    fn paragraph(self, text: &str) -> Self {
        self.block(BlockKind::Paragraph, text)
    }

    fn chunks(&self, size: u64, overlap: u64) -> Vec<Chunk> {
        let settings = ChunkSettings::new(size, overlap).unwrap();
        chunks("d", &self.text, &self.sections, settings)
    }
}

fn document() -> DocumentText {
    DocumentText::default().section(&[], None)
}

fn texts(chunks: &[Chunk]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk.text.as_str()).collect()
}

/// A sentence of nine tokens, with the space behind it.
fn sentence(number: usize) -> String {
    format!("Sentence {number:02} has about nine tokens. ")
}

fn sentences(numbers: impl Iterator<Item = usize>) -> String {
    numbers
        .map(sentence)
        .collect::<String>()
        .trim_end()
        .to_owned()
}

#[test]
fn a_document_that_fits_is_one_chunk() {
    let text = "Straße\nmit Bäumen.";
    let document = document().paragraph("Über uns").paragraph(text);
    let expected = Chunk {
        id: "".to_owned(),
        index: 0,
        text: "Über uns\nStraße\nmit Bäumen.".to_owned(),
        heading: Vec::new(),
        page: None,
        section: 0,
        range: [1, 28],
        tokens: 9,
        hash: "".to_owned(),
    };
    let [found]: [Chunk; 1] = document.chunks(50, 0).try_into().unwrap();
    assert_eq!((found.id.len(), found.hash.len()), (16, 64));
    let found = Chunk {
        id: String::new(),
        hash: String::new(),
        ..found
    };
    assert_eq!(found, expected);
}

#[test]
fn no_chunk_spans_headings() {
    let document = DocumentText::default()
        .section(&["Guide"], Some(1))
        .paragraph("One.")
        .section(&["Guide", "Empty"], Some(1))
        .section(&["Guide", "Start"], Some(2))
        .paragraph("Two.");
    let found = document.chunks(300, 50);
    assert_eq!(texts(&found), ["One.", "Two."]);
    assert_eq!(found[1].heading, ["Guide", "Start"]);
    assert_eq!([found[0].page, found[1].page], [Some(1), Some(2)]);
    assert_eq!([found[0].section, found[1].section], [0, 2]);
    assert_eq!([found[0].index, found[1].index], [0, 1]);
}

#[test]
fn paragraphs_are_joined_as_far_as_they_fit() {
    let [first, second, third] = [0..3, 3..5, 5..8].map(sentences);
    let document = document()
        .paragraph(&first)
        .paragraph(&second)
        .paragraph(&third);
    let found = document.chunks(52, 0);
    assert_eq!(texts(&found), [format!("{first}\n{second}"), third]);
}

#[test]
fn a_long_paragraph_is_cut_between_sentences() {
    let document = document().paragraph(&sentences(0..12));
    let found = document.chunks(50, 0);
    let expected = [sentences(0..5), sentences(5..10), sentences(10..12)];
    assert_eq!(texts(&found), expected);
}

#[test]
fn a_long_sentence_is_cut_between_words_and_a_long_word_anywhere() {
    let words = "word ".repeat(60) + "end";
    let found = document().paragraph(&words);
    let found = found.chunks(50, 25);
    let expected = ["word ".repeat(40), "word ".repeat(20) + "end"];
    assert_eq!(
        texts(&found),
        expected.map(|text| text.trim_end().to_owned())
    );
    let document = document().paragraph(&"0".repeat(500));
    let found = document.chunks(50, 25);
    assert_eq!(
        texts(&found),
        ["0".repeat(200), "0".repeat(200), "0".repeat(100)]
    );
}

#[test]
fn the_next_chunk_begins_with_whole_sentences_of_the_one_before() {
    let document = document().paragraph(&sentences(0..12));
    let found = document.chunks(50, 24);
    let expected = [0..5, 3..8, 6..11, 9..12].map(sentences);
    assert_eq!(texts(&found), expected);
    assert_eq!(
        texts(&document.chunks(50, 8)),
        texts(&document.chunks(50, 0))
    );
}

#[test]
fn sentences_are_repeated_only_within_a_section() {
    let document = document()
        .paragraph(&sentences(0..5))
        .section(&["Next"], None)
        .paragraph(&sentences(5..7));
    let found = document.chunks(50, 25);
    assert_eq!(texts(&found), [sentences(0..5), sentences(5..7)]);
}

#[test]
fn sentences_are_repeated_only_where_what_is_new_fits() {
    let new = "word ".repeat(38) + "end";
    let document = document().paragraph(&sentences(0..5)).paragraph(&new);
    let found = document.chunks(50, 25);
    assert_eq!(texts(&found), [sentences(0..5), new]);
}

#[test]
fn a_sentence_goes_on_behind_a_line_break() {
    let wrapped = sentences(0..12).replace(" about", "\nabout");
    let document = document().paragraph(&wrapped);
    for chunk in document.chunks(50, 24) {
        assert!(chunk.text.starts_with("Sentence"), "{}", chunk.text);
        assert!(chunk.text.ends_with("tokens."), "{}", chunk.text);
    }
}

#[test]
fn code_is_cut_between_lines_and_keeps_its_indents() {
    let line = "    let answer = 6 * 7; // the answer\n";
    let document = document().block(BlockKind::Code, line.repeat(10).trim_end());
    let found = document.chunks(50, 25);
    let expected = [5, 5].map(|count| line.repeat(count).trim_end().to_owned());
    assert_eq!(texts(&found), expected);
}

#[test]
fn tables_repeat_their_header() {
    let mut document = document().paragraph("The rates.");
    document = document.block(BlockKind::TableRow, "Country | Rate");
    for number in 0..12 {
        let row = format!("Country number {number:02} | 19 percent");
        document = document.block(BlockKind::TableRow, &row);
    }
    let found = document.chunks(50, 25);
    assert!(found.len() > 2, "{found:?}");
    assert!(
        found[0]
            .text
            .starts_with("The rates.\nCountry | Rate\nCountry number 00 |")
    );
    for chunk in &found[1..] {
        assert!(chunk.text.starts_with("Country | Rate\nCountry number"));
        assert_eq!(chunk.text.matches("Rate").count(), 1);
        let own: String = document
            .text
            .chars()
            .take(chunk.range[1])
            .skip(chunk.range[0])
            .collect();
        assert_eq!(format!("Country | Rate\n{own}"), chunk.text);
    }
}

#[test]
fn a_row_that_is_too_long_repeats_the_header_in_each_of_its_chunks() {
    let row = "cell ".repeat(100);
    let document = document()
        .block(BlockKind::TableRow, "Name | Text")
        .block(BlockKind::TableRow, row.trim_end());
    let found = document.chunks(50, 25);
    assert!(found.len() > 2);
    for chunk in &found {
        assert!(
            chunk.text.starts_with("Name | Text\ncell cell"),
            "{}",
            chunk.text
        );
        assert!(chunk.tokens <= 50);
    }
}

#[test]
fn a_header_of_more_than_half_a_chunk_is_not_repeated() {
    let header = "column | ".repeat(20);
    let mut document = document().block(BlockKind::TableRow, header.trim_end());
    for _ in 0..30 {
        document = document.block(BlockKind::TableRow, "a row of the table");
    }
    let found = document.chunks(50, 25);
    assert!(found.len() > 2);
    let with_header = found.iter().filter(|chunk| chunk.text.contains("column"));
    assert_eq!(with_header.count(), 1);
}

#[test]
fn ids_stay_while_the_text_stays() {
    let ids = |numbers: &[usize]| -> Vec<String> {
        let sections = numbers
            .iter()
            .fold(DocumentText::default(), |document, number| {
                document.section(&["s"], None).paragraph(&sentence(*number))
            });
        let chunks = sections.chunks(50, 0);
        chunks.into_iter().map(|chunk| chunk.id).collect()
    };
    let before = ids(&[1, 2, 2, 3]);
    assert_eq!(before.iter().collect::<HashSet<_>>().len(), 4);
    let after = ids(&[7, 2, 3, 2, 2]);
    assert_eq!(
        after[1..4],
        [before[1].clone(), before[3].clone(), before[2].clone()]
    );
    assert!(!before.contains(&after[0]) && !before.contains(&after[4]));
}

#[test]
fn ids_of_another_document_differ() {
    let document = document().paragraph("One.");
    let settings = ChunkSettings::default();
    let ids = ["a", "b"].map(|name| {
        chunks(name, &document.text, &document.sections, settings)[0]
            .id
            .clone()
    });
    assert_eq!(ids, ["f36427eb34f9efdf", "774553b67121a380"]);
}

#[test]
fn a_document_without_text_has_no_chunks() {
    let document = document().paragraph(" \n ").paragraph("");
    assert!(document.chunks(50, 25).is_empty());
}

/// Documents of all kinds of blocks, the same in each run.
fn random_document(seed: usize) -> DocumentText {
    let long = "x".repeat(400);
    let words = [
        "a",
        "Word.",
        "中文。",
        "lange Straße",
        &long,
        "\n",
        "7.5",
        "End!",
    ];
    let mut state = seed;
    let mut below = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let mut document = DocumentText::default();
    for _ in 0..=below(3) {
        document = document.section(&["Heading"], None);
        for _ in 0..below(8) {
            let text: Vec<_> = (0..below(90)).map(|_| words[below(words.len())]).collect();
            let kinds = [BlockKind::Paragraph, BlockKind::Code, BlockKind::TableRow];
            document = document.block(kinds[below(3)], &text.join(" "));
        }
    }
    document
}

#[test]
fn chunks_have_their_size_and_leave_nothing_out() {
    for seed in 0..100 {
        let document = random_document(seed);
        let characters: Vec<char> = document.text.chars().collect();
        let mut is_covered = vec![false; characters.len()];
        for chunk in document.chunks(60, 20) {
            assert!(chunk.tokens <= 60, "{seed}: {}", chunk.tokens);
            assert_eq!(chunk.tokens, estimate_text(&chunk.text));
            let [from, to] = chunk.range;
            let own: String = characters[from..to].iter().collect();
            assert!(
                chunk.text.ends_with(&own) && !own.is_empty(),
                "{seed}: {own:?}"
            );
            is_covered[from..to].fill(true);
        }
        for block in document.sections.iter().flat_map(|section| &section.blocks) {
            let start = document.text[..block.range.start].chars().count();
            let length = document.text[block.range.clone()].chars().count();
            let is_left =
                |place: &usize| !is_covered[*place] && !characters[*place].is_whitespace();
            assert_eq!((start..start + length).find(is_left), None, "{seed}");
        }
    }
}
