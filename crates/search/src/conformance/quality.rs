//! How well words find on every store, and words and vectors together: figures that a change of terms, chunks or ranking has to
//! state anew.

use super::recorded_vectors::RecordedVectors;
use crate::allowed::AllowedChunks;
use crate::chunker::{BlockKind, Chunk, ChunkSettings, Section, TextBlock, chunks};
use crate::fusion::{RankRequest, rank};
use crate::index::{PageCache, SearchIndex};
use crate::quality::{
    JudgedQuestion, QualityReport, QualityScores, QuestionFile, beir_questions, questions,
};
use crate::ranking::{SearchScope, rank_words};
use crate::terms::{Analyzer, TermCounter, WeightedText};
use crate::vectors::ChunkVector;
use ambit_storage::address::Space;
use ambit_storage::driver::Driver;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;

/// The first so many documents count.
const K: usize = 10;
/// Chunks of one commit.
const COMMIT: usize = 250;
/// Vectors of one commit.
const BATCH: usize = 64;
/// The least similarity of a search that says nothing of it.
const THRESHOLD: f64 = 0.7;

const CORPUS: &str = include_str!("../../tests/cranfield/corpus.jsonl");
const QUERIES: &str = include_str!("../../tests/cranfield/queries.jsonl");

#[derive(Deserialize)]
struct QualityDocument {
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
    /// Where meaning counts too.
    vectors: Option<RecordedVectors>,
}

pub(super) async fn g218_words_find_in_cranfield(driver: Arc<dyn Driver>) {
    let index = TwoNodes::with(&driver, &documents(CORPUS)).await;
    let found = index.ask(&cranfield()).await;
    assert!(found.ndcg >= 0.385, "{found:?}");
    assert_eq!(said(found), "nDCG 0.3973, recall 0.4058, MRR 0.5370");
}

pub(super) async fn g218_words_and_vectors_find_in_cranfield(driver: Arc<dyn Driver>) {
    let (documents, questions) = (documents(CORPUS), documents(QUERIES));
    let ids =
        |of: &[QualityDocument]| -> Vec<String> { of.iter().map(|it| it.id.clone()).collect() };
    let vectors = RecordedVectors::of(&ids(&documents), &ids(&questions));
    let mut index = TwoNodes::with(&driver, &documents).await;
    index.embed(vectors).await;
    let found = index.ask(&cranfield()).await;
    assert!(found.ndcg >= 0.43, "{found:?}");
    assert_eq!(format!("{:.2}", found.ndcg), "0.44", "{found:?}");
}

pub(super) async fn g218_pairs_of_letters_find_in_chinese(driver: Arc<dyn Driver>) {
    let documents = documents(include_str!("../../tests/chinese/passages.jsonl"));
    let questions = file(
        "questions.jsonl",
        include_str!("../../tests/chinese/questions.jsonl"),
    );
    let index = TwoNodes::with(&driver, &documents).await;
    let found = index.ask(&self::questions(questions).unwrap()).await;
    assert!(found.ndcg >= 0.75, "{found:?}");
    assert_eq!(said(found), "nDCG 1.0000, recall 1.0000, MRR 1.0000");
}

/// The questions about Cranfield, and what answers them.
fn cranfield() -> Vec<JudgedQuestion> {
    let judgements = file("qrels.tsv", include_str!("../../tests/cranfield/qrels.tsv"));
    beir_questions(file("queries.jsonl", QUERIES), judgements).unwrap()
}

fn file<'a>(name: &'a str, text: &'a str) -> QuestionFile<'a> {
    QuestionFile { name, text }
}

fn said(found: QualityScores) -> String {
    let QualityScores { ndcg, recall, mrr } = found;
    format!("nDCG {ndcg:.4}, recall {recall:.4}, MRR {mrr:.4}")
}

fn documents(lines: &str) -> Vec<QualityDocument> {
    let lines = lines.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The chunks of a document by the default settings.
fn chunks_of(document: &QualityDocument) -> Vec<Chunk> {
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
    async fn with(driver: &Arc<dyn Driver>, documents: &[QualityDocument]) -> Self {
        let node = || {
            let space = Space::settings("t");
            SearchIndex::new(driver.clone(), space, PageCache::new(16 << 20))
        };
        let mut index = Self {
            nodes: [node(), node()],
            documents: Vec::new(),
            vectors: None,
        };
        let mut counter = TermCounter::new(Analyzer::default());
        let chunks = documents.iter().flat_map(|document| {
            let chunks = chunks_of(document).into_iter();
            chunks.map(move |chunk| (document, chunk))
        });
        let chunks: Vec<(&QualityDocument, Chunk)> = chunks.collect();
        for (number, some) in chunks.chunks(COMMIT).enumerate() {
            for (document, chunk) in some {
                let texts = [(&chunk.text, 1), (&document.title, 2)];
                counter.read_chunk(texts.map(|(text, weight)| WeightedText { text, weight }));
            }
            let mut change = index.nodes[number % 2].change().await.unwrap();
            let range = change.add(&counter.take_chunks()).unwrap();
            change.commit().await.unwrap();
            assert_eq!(range.first as usize, index.documents.len());
            let ids = some.iter().map(|(document, _)| document.id.clone());
            index.documents.extend(ids);
        }
        while index.nodes[1].keep_up().await.unwrap() {}
        index
    }

    /// Adds the vectors of all chunks, now the one node and now the other, and asks by meaning too from then on.
    async fn embed(&mut self, vectors: RecordedVectors) {
        let chunks = self.documents.iter().enumerate();
        let chunks = chunks.map(|(number, id)| ChunkVector {
            chunk: u32::try_from(number).unwrap(),
            vector: vectors.documents[id].clone(),
        });
        let chunks: Vec<ChunkVector> = chunks.collect();
        for (number, some) in chunks.chunks(BATCH).enumerate() {
            let mut change = self.nodes[number % 2].change().await.unwrap();
            change.add_vectors(&vectors.space, some).await.unwrap();
            change.commit().await.unwrap();
        }
        self.vectors = Some(vectors);
    }

    /// What both nodes find alike.
    async fn ask(&self, questions: &[JudgedQuestion]) -> QualityScores {
        let mut reports = Vec::new();
        for node in &self.nodes {
            let mut scores = Vec::new();
            for question in questions {
                let ranked = self.ranked(node, question).await;
                let judged = QualityScores::of(&ranked, &question.relevant, K);
                scores.push((question.id.clone(), judged));
            }
            reports.push(QualityReport::of(K, scores.into_iter().collect()));
        }
        assert_eq!(reports[0], reports[1]);
        reports[0].mean
    }

    /// The documents by their best chunks; of equal ones the first.
    async fn ranked(&self, node: &SearchIndex, question: &JudgedQuestion) -> Vec<&str> {
        let snapshot = node.snapshot().await.unwrap();
        let terms = Analyzer::default().query(&question.query);
        let allowed = AllowedChunks::all(&snapshot.manifest);
        let mut scope = SearchScope::of_words(node.clone(), snapshot, terms, allowed);
        scope.vector = self.vectors.as_ref().map(|it| it.query(&question.id));
        let mut limit = K;
        loop {
            let chunks = found(&scope, limit).await;
            let mut ids: Vec<&str> = chunks
                .iter()
                .map(|chunk| self.documents[*chunk as usize].as_str())
                .collect();
            let mut seen = HashSet::new();
            ids.retain(|id| seen.insert(*id));
            if ids.len() >= K || chunks.len() < limit {
                return ids;
            }
            limit *= 2;
        }
    }
}

/// The chunks that a search finds, the best first.
async fn found(scope: &SearchScope, limit: usize) -> Vec<u32> {
    let scopes = std::slice::from_ref(scope);
    if scope.vector.is_none() {
        let ranking = rank_words(scopes, limit).await.unwrap();
        return ranking.chunks.iter().map(|it| it.chunk).collect();
    }
    let request = RankRequest {
        limit,
        threshold: THRESHOLD,
        nearest: None,
    };
    let mut chunks = rank(scopes, &request).await.unwrap().chunks;
    chunks.sort_by(|one, other| {
        let better = other.score.total_cmp(&one.score);
        better.then(one.chunk.cmp(&other.chunk))
    });
    chunks.iter().map(|it| it.chunk).collect()
}
