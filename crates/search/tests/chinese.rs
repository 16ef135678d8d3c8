//! The Chinese set: what holds for its files, and that the terms alone find its answers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use ambit_search::quality::{QualityReport, QualityScores, QuestionFile, questions};
use ambit_search::terms::{Analyzer, Language, QueryTerm, TermCounts};
use rusqlite::Connection;
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

fn question_lines() -> Vec<Question> {
    read(include_str!("chinese/questions.jsonl"))
}

#[test]
fn the_set_has_300_passages_and_50_questions() {
    let passages = passages();
    let texts: HashSet<_> = passages.iter().map(|passage| &passage.text).collect();
    let ids: HashSet<_> = passages.iter().map(|passage| &passage.id).collect();
    assert_eq!([texts.len(), ids.len()], [passages.len(); 2]);
    assert!(passages.len() >= 300, "{}", passages.len());
    let questions = question_lines();
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
    for question in question_lines() {
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
fn ranked_by_words(query: &[QueryTerm], documents: &[TermCounts]) -> Vec<usize> {
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

/// The means of what a ranking of the passages finds.
fn scores(k: usize, rank: impl Fn(&str) -> Vec<usize>) -> QualityScores {
    let passages = passages();
    let text = include_str!("chinese/questions.jsonl");
    let name = "questions.jsonl";
    let questions = questions(QuestionFile { name, text }).unwrap();
    let scores = questions.into_iter().map(|question| {
        let ranked = rank(&question.query);
        let ids: Vec<&str> = ranked.iter().map(|at| passages[*at].id.as_str()).collect();
        let judged = QualityScores::of(&ids, &question.relevant, k);
        (question.id, judged)
    });
    QualityReport::of(k, scores.collect()).mean
}

#[test]
fn pairs_of_letters_find_twice_what_fts5_finds() {
    let analyzer = Analyzer::new(Language::Auto);
    let counted = passages().into_iter().map(|passage| {
        let mut counts = TermCounts::new();
        analyzer.count(&passage.text, 1, &mut counts);
        counts
    });
    let documents: Vec<TermCounts> = counted.collect();
    let rank = |query: &str| ranked_by_words(&analyzer.query(query), &documents);
    let (ours, among_five) = (scores(10, rank), scores(5, rank));
    assert!(
        ours.ndcg >= 0.75 && among_five.recall >= 0.7,
        "{ours:?} {among_five:?}"
    );
    let theirs = scores(10, ranked_by_fts5());
    assert!(ours.ndcg >= 2.0 * theirs.ndcg, "{ours:?} {theirs:?}");
}

/// The passages that FTS5 finds by its own tokeniser, for any word of a query.
fn ranked_by_fts5() -> impl Fn(&str) -> Vec<usize> {
    let store = Connection::open_in_memory().unwrap();
    store
        .execute_batch("create virtual table passage using fts5(text)")
        .unwrap();
    for (place, passage) in passages().iter().enumerate() {
        let row = (place as i64, &passage.text);
        store
            .execute("insert into passage(rowid, text) values (?1, ?2)", row)
            .unwrap();
    }
    move |query| {
        let words: Vec<String> = query.split(' ').map(|word| format!("\"{word}\"")).collect();
        let ask =
            "select rowid from passage where passage match ?1 order by bm25(passage) limit 10";
        let mut found = store.prepare_cached(ask).unwrap();
        let rows = found.query_map([words.join(" OR ")], |row| row.get::<_, i64>(0));
        rows.unwrap().map(|row| row.unwrap() as usize).collect()
    }
}
