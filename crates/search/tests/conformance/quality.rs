//! How well words find on every store: figures that a change of terms, chunks or ranking has to state anew.

use ambit_search::allowed::AllowedChunks;
use ambit_search::chunker::{BlockKind, Chunk, ChunkSettings, Section, TextBlock, chunks};
use ambit_search::conformance::IndexCase;
use ambit_search::index::{PageCache, SearchIndex};
use ambit_search::quality::{
    JudgedQuestion, QualityReport, QualityScores, QuestionFile, beir_questions, questions,
};
use ambit_search::ranking::{SearchScope, rank_words};
use ambit_search::terms::{Analyzer, TermCounter, TermCounts};
use ambit_storage::address::Space;
use ambit_storage::driver::Driver;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;

/// The first so many documents count.
const K: usize = 10;
/// Chunks of one commit.
const COMMIT: usize = 250;

pub const QUALITY: &[IndexCase] = &[
    IndexCase {
        name: "g218_words_find_in_cranfield",
        run: |driver| Box::pin(g218_words_find_in_cranfield(driver)),
    },
    IndexCase {
        name: "g218_pairs_of_letters_find_in_chinese",
        run: |driver| Box::pin(g218_pairs_of_letters_find_in_chinese(driver)),
    },
];

#[derive(Deserialize)]
struct Document {
    #[serde(alias = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// Two nodes over one store: each adds what the other one has not, and both are asked.
struct TwoNodes {
    nodes: [SearchIndex; 2],
    /// The document of each chunk, by the chunk's number.
    documents: Vec<String>,
}

async fn g218_words_find_in_cranfield(driver: Arc<dyn Driver>) {
    let documents = documents(include_str!("../cranfield/corpus.jsonl"));
    let questions = beir_questions(
        file("queries.jsonl", include_str!("../cranfield/queries.jsonl")),
        file("qrels.tsv", include_str!("../cranfield/qrels.tsv")),
    );
    let index = TwoNodes::with(&driver, &documents).await;
    let found = index.ask(&questions.unwrap()).await;
    assert!(found.ndcg >= 0.385, "{found:?}");
    assert_eq!(said(found), "nDCG 0.3973, recall 0.4058, MRR 0.5370");
}

async fn g218_pairs_of_letters_find_in_chinese(driver: Arc<dyn Driver>) {
    let documents = documents(include_str!("../chinese/passages.jsonl"));
    let questions = file(
        "questions.jsonl",
        include_str!("../chinese/questions.jsonl"),
    );
    let index = TwoNodes::with(&driver, &documents).await;
    let found = index.ask(&self::questions(questions).unwrap()).await;
    assert!(found.ndcg >= 0.75, "{found:?}");
    assert_eq!(said(found), "nDCG 1.0000, recall 1.0000, MRR 1.0000");
}

fn file<'a>(name: &'a str, text: &'a str) -> QuestionFile<'a> {
    QuestionFile { name, text }
}

fn said(found: QualityScores) -> String {
    let QualityScores { ndcg, recall, mrr } = found;
    format!("nDCG {ndcg:.4}, recall {recall:.4}, MRR {mrr:.4}")
}

fn documents(lines: &str) -> Vec<Document> {
    let lines = lines.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The chunks of a document by the default settings.
fn chunks_of(document: &Document) -> Vec<Chunk> {
    let text = &document.text;
    let block = TextBlock {
        kind: BlockKind::Paragraph,
        range: 0..text.len(),
        header: None,
    };
    let section = Section {
        heading: Vec::new(),
        page: None,
        blocks: vec![block],
    };
    chunks(&document.id, text, &[section], ChunkSettings::default())
}

impl TwoNodes {
    async fn with(driver: &Arc<dyn Driver>, documents: &[Document]) -> Self {
        let node = || {
            let space = Space::settings("t");
            SearchIndex::new(driver.clone(), space, PageCache::new(16 << 20))
        };
        let mut index = Self {
            nodes: [node(), node()],
            documents: Vec::new(),
        };
        let mut counter = TermCounter::new(Analyzer::default());
        let mut counted: Vec<(&str, TermCounts)> = Vec::new();
        for document in documents {
            for chunk in chunks_of(document) {
                let mut counts = TermCounts::new();
                counter.count(&chunk.text, 1, &mut counts);
                counter.count(&document.title, 2, &mut counts);
                counted.push((&document.id, counts));
            }
        }
        for (number, some) in counted.chunks(COMMIT).enumerate() {
            let node = &index.nodes[number % 2];
            let terms: Vec<TermCounts> = some.iter().map(|(_, counts)| counts.clone()).collect();
            let mut change = node.change().await.unwrap();
            let range = change.add(&terms).unwrap();
            change.commit().await.unwrap();
            assert_eq!(range.first as usize, index.documents.len());
            let ids = some.iter().map(|(id, _)| (*id).to_owned());
            index.documents.extend(ids);
        }
        while index.nodes[1].keep_up().await.unwrap() {}
        index
    }

    /// What both nodes find alike.
    async fn ask(&self, questions: &[JudgedQuestion]) -> QualityScores {
        let mut reports = Vec::new();
        for node in &self.nodes {
            let mut scores = Vec::new();
            for question in questions {
                let ranked = self.ranked(node, &question.query).await;
                let judged = QualityScores::of(&ranked, &question.relevant, K);
                scores.push((question.id.clone(), judged));
            }
            reports.push(QualityReport::of(K, scores.into_iter().collect()));
        }
        assert_eq!(reports[0], reports[1]);
        reports[0].mean
    }

    /// The documents by their best chunks; of equal ones the first.
    async fn ranked(&self, node: &SearchIndex, query: &str) -> Vec<&str> {
        let snapshot = node.snapshot().await.unwrap();
        let terms = Analyzer::default().query(query);
        let allowed = AllowedChunks::all(&snapshot.manifest);
        let scope = SearchScope::of_words(node.clone(), snapshot, terms, allowed);
        let mut limit = K;
        loop {
            let ranking = rank_words(std::slice::from_ref(&scope), limit)
                .await
                .unwrap();
            let chunks = ranking.chunks.iter();
            let mut ids: Vec<&str> = chunks
                .map(|it| self.documents[it.chunk as usize].as_str())
                .collect();
            let mut seen = HashSet::new();
            ids.retain(|id| seen.insert(*id));
            if ids.len() >= K || ranking.chunks.len() < limit {
                return ids;
            }
            limit *= 2;
        }
    }
}
