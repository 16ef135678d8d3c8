//! The Chinese set: what holds for its files, and that the terms alone find its answers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use ambit_search::terms::{Analyzer, Language, QueryTerm, TermCounts};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};

#[derive(Deserialize)]
struct Passage {
    id: String,
    text: String,
}

#[derive(Deserialize)]
struct Question {
    query: String,
    relevant: Vec<String>,
}

fn read<T: for<'a> Deserialize<'a>>(lines: &str) -> Vec<T> {
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn passages() -> Vec<Passage> {
    read(include_str!("chinese/passages.jsonl"))
}

fn questions() -> Vec<Question> {
    read(include_str!("chinese/questions.jsonl"))
}

#[test]
fn the_set_has_300_passages_and_50_questions() {
    let passages = passages();
    let texts: HashSet<_> = passages.iter().map(|passage| &passage.text).collect();
    let ids: HashSet<_> = passages.iter().map(|passage| &passage.id).collect();
    assert_eq!([texts.len(), ids.len()], [passages.len(); 2]);
    assert!(passages.len() >= 300, "{}", passages.len());
    let questions = questions();
    let queries: HashSet<_> = questions.iter().map(|question| &question.query).collect();
    assert_eq!(queries.len(), questions.len());
    assert!(questions.len() >= 50, "{}", questions.len());
}

#[test]
fn each_question_has_words_of_one_clause_of_one_passage() {
    let passages: BTreeMap<_, _> = passages()
        .into_iter()
        .map(|passage| (passage.id, passage.text))
        .collect();
    for question in questions() {
        let [id] = question.relevant.as_slice() else {
            panic!("{} has more than one answer", question.query);
        };
        let has_words = |clause: &str| question.query.split(' ').all(|word| clause.contains(word));
        let has_clause = |text: &str| text.split(['，', '；', '。']).any(has_words);
        let found = passages.iter().filter(|(_, text)| has_clause(text));
        let found: Vec<_> = found.map(|(id, _)| id).collect();
        assert_eq!(found, [id], "{}", question.query);
    }
}

/// BM25 over all passages, each term counted by hand: what any index has to come to.
fn ranked(query: &[QueryTerm], documents: &[TermCounts]) -> Vec<usize> {
    let length = |counts: &TermCounts| f64::from(counts.values().sum::<u32>());
    let mean = documents.iter().map(length).sum::<f64>() / documents.len() as f64;
    let mut scores = vec![0.0; documents.len()];
    for term in query {
        let matches = |found: &String| match term {
            QueryTerm::Exact(term) => found == term,
            QueryTerm::Prefix(start) => found.starts_with(start),
        };
        let counts = documents.iter().map(|counts| {
            let found = counts.iter().filter(|(term, _)| matches(term));
            f64::from(found.map(|(_, count)| *count).sum::<u32>())
        });
        let counts: Vec<f64> = counts.collect();
        let with = counts.iter().filter(|count| **count > 0.0).count() as f64;
        let idf = (1.0 + (documents.len() as f64 - with + 0.5) / (with + 0.5)).ln();
        for (place, count) in counts.into_iter().enumerate() {
            let norm = 1.5 * (0.25 + 0.75 * length(&documents[place]) / mean);
            scores[place] += idf * count * 2.5 / (count + norm);
        }
    }
    let mut order: Vec<_> = (0..documents.len())
        .filter(|place| scores[*place] > 0.0)
        .collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    order
}

#[test]
fn pairs_of_letters_find_the_answers() {
    let analyzer = Analyzer::new(Language::Auto);
    let passages = passages();
    let documents: Vec<_> = passages
        .iter()
        .map(|passage| {
            let mut counts = TermCounts::new();
            analyzer.count(&passage.text, 1, &mut counts);
            counts
        })
        .collect();
    let questions = questions();
    let (mut gain, mut among_five) = (0.0, 0.0);
    for question in &questions {
        let order = ranked(&analyzer.query(&question.query), &documents);
        let is_answer = |place: &usize| passages[*place].id == question.relevant[0];
        if let Some(place) = order.iter().take(10).position(is_answer) {
            gain += 1.0 / (place as f64 + 2.0).log2();
            among_five += f64::from(u8::from(place < 5));
        }
    }
    let count = questions.len() as f64;
    let [gain, recall] = [gain / count, among_five / count];
    assert!(
        gain >= 0.75 && recall >= 0.7,
        "nDCG@10 {gain:.3}, recall@5 {recall:.3}"
    );
}
