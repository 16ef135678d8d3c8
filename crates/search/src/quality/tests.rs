//! Figures worked out by hand, and what counts as worse.

use super::{InvalidBaseline, QualityReport, QualityScores, QuestionFile, WorseQuestion};
use std::collections::BTreeMap;

fn scores(ranked: &[&str], relevant: &[(&str, u32)], k: usize) -> QualityScores {
    let relevant = relevant
        .iter()
        .map(|(id, grade)| ((*id).to_owned(), *grade));
    QualityScores::of(ranked, &relevant.collect(), k)
}

fn assert_scores(found: QualityScores, expected: [f64; 3]) {
    let found = [found.ndcg, found.recall, found.mrr];
    let is_near = found
        .iter()
        .zip(expected)
        .all(|(one, other)| (one - other).abs() < 1e-12);
    assert!(is_near, "{found:?} are not {expected:?}");
}

#[test]
fn the_best_ranking_has_one_and_an_empty_one_nothing() {
    let relevant = [("a", 2), ("b", 1)];
    assert_scores(scores(&["a", "b", "x"], &relevant, 10), [1.0; 3]);
    assert_scores(scores(&[], &relevant, 10), [0.0; 3]);
    assert!(scores(&[], &relevant, 10).ndcg.is_sign_positive());
    assert_scores(scores(&["x"], &relevant, 10), [0.0; 3]);
    assert_scores(scores(&["x"], &[("a", 0)], 10), [0.0; 3]);
}

#[test]
fn gains_are_linear_and_discounted_by_rank() {
    let best = 3.0 + 1.0 / 3_f64.log2();
    let found = scores(&["x", "b", "a"], &[("a", 3), ("b", 1)], 10);
    let gain = 1.0 / 3_f64.log2() + 3.0 / 2.0;
    assert_scores(found, [gain / best, 1.0, 0.5]);
}

#[test]
fn only_the_first_k_count_and_an_id_once() {
    let relevant = [("a", 1), ("b", 1), ("c", 1)];
    let found = scores(&["x", "x", "a", "b"], &relevant, 2);
    let best = 1.0 + 1.0 / 3_f64.log2();
    assert_scores(found, [1.0 / 3_f64.log2() / best, 1.0 / 3.0, 0.5]);
    assert_scores(scores(&["a"], &relevant, 0), [0.0; 3]);
}

fn report(ndcgs: &[(&str, f64)]) -> QualityReport {
    let questions = ndcgs.iter().map(|(id, ndcg)| {
        let scores = QualityScores {
            ndcg: *ndcg,
            ..QualityScores::default()
        };
        ((*id).to_owned(), scores)
    });
    QualityReport::of(10, questions.collect())
}

#[test]
fn what_got_worse_is_named_the_worst_first() {
    let baseline = report(&[("a", 0.5), ("b", 0.8), ("c", 0.4), ("gone", 1.0)]);
    let now = report(&[("a", 0.4), ("b", 0.4), ("c", 0.9), ("new", 0.0)]);
    let compared = now.compare(&baseline).unwrap();
    let worse = |id: &str, before, after| WorseQuestion {
        id: id.to_owned(),
        before,
        after,
    };
    assert_eq!(compared.worse, [worse("b", 0.8, 0.4), worse("a", 0.5, 0.4)]);
    assert_eq!(compared.unmatched, ["new", "gone"]);
    assert!(compared.change.ndcg.abs() < 1e-12 && !compared.is_failure());
}

#[test]
fn it_fails_where_ndcg_fell_by_over_a_hundredth() {
    let baseline = report(&[("a", 0.5), ("b", 0.5)]);
    for (after, is_failure) in [(0.48, false), (0.47, true), (0.6, false)] {
        let compared = report(&[("a", after), ("b", 0.5)]).compare(&baseline);
        assert_eq!(compared.unwrap().is_failure(), is_failure, "{after}");
    }
}

#[test]
fn a_report_is_read_as_it_was_saved() {
    let saved = report(&[("a", 0.5), ("b", 0.25)]);
    let text = serde_json::to_string(&saved).unwrap();
    let name = "before.json";
    let read = QualityReport::read(QuestionFile { name, text: &text });
    assert_eq!(read, Ok(saved));
    let refused = QualityReport::read(QuestionFile { name, text: "{}" });
    let said = refused.unwrap_err().to_string();
    let expected =
        "before.json: missing field `k` at line 1 column 2; a baseline is what --save has written";
    assert_eq!(said, expected);
}

#[test]
fn reports_of_other_questions_or_another_k_are_not_compared() {
    let now = report(&[("a", 0.5)]);
    let other = QualityReport::of(5, BTreeMap::new());
    let refused = InvalidBaseline::OtherK { baseline: 5, k: 10 };
    assert_eq!(now.compare(&other), Err(refused));
    let refused = InvalidBaseline::OtherQuestions(1);
    assert_eq!(now.compare(&report(&[("b", 0.5)])), Err(refused));
}
