//! How good rankings are: nDCG, recall and MRR over questions whose answers are known, and what got worse since another time.

mod questions;

pub use questions::{InvalidQuestions, JudgedQuestion, QuestionFile, beir_questions, questions};

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// So much less of the mean nDCG is a failure.
const TOLERATED: f64 = 0.01;

/// Differences that come from the order of sums alone.
const NOISE: f64 = 1e-9;

/// What is known of one ranking, or the mean over many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QualityScores {
    /// Discounted cumulative gain of the first k, with linear gains, divided by that of the best ranking.
    pub ndcg: f64,
    /// The share of what is relevant that is among the first k.
    pub recall: f64,
    /// 1 divided by the rank of the first relevant one among the first k.
    pub mrr: f64,
}

/// What a set of questions found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QualityReport {
    /// How many of each ranking were looked at.
    pub k: usize,
    /// Over all questions.
    pub mean: QualityScores,
    /// Of each question, by its id.
    pub questions: BTreeMap<String, QualityScores>,
}

/// A report beside an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QualityComparison {
    /// The means now minus those then, over the questions that both have.
    pub change: QualityScores,
    /// What got worse, by nDCG, the worst first.
    pub worse: Vec<WorseQuestion>,
    /// Questions that only one of the reports has.
    pub unmatched: Vec<String>,
}

/// A question whose nDCG fell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorseQuestion {
    /// Which.
    pub id: String,
    /// Its nDCG then.
    pub before: f64,
    /// Its nDCG now.
    pub after: f64,
}

/// Why two reports cannot be compared, or a saved one cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBaseline {
    /// The file is no report.
    #[error("{file}: {reason}; a baseline is what --save has written")]
    Unreadable {
        /// Its name.
        file: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// It looked at another number of results.
    #[error("the baseline was measured with k = {baseline}: measure with the same k, not {k}")]
    OtherK {
        /// Its k.
        baseline: usize,
        /// The k of now.
        k: usize,
    },
    /// None of its questions is asked now.
    #[error("the baseline has none of these {0} questions: measure the same questions")]
    OtherQuestions(usize),
}

impl QualityScores {
    /// Judges what a question found, the best first. An id counts where it stands first; those behind it move up.
    pub fn of(ranked: &[impl AsRef<str>], relevant: &BTreeMap<String, u32>, k: usize) -> Self {
        let mut seen = HashSet::new();
        let ids = ranked.iter().map(AsRef::as_ref);
        let ids = ids.filter(|id| seen.insert(*id)).take(k);
        let gains: Vec<u32> = ids
            .map(|id| relevant.get(id).copied().unwrap_or_default())
            .collect();
        let mut best: Vec<u32> = relevant.values().copied().filter(|it| *it > 0).collect();
        if best.is_empty() || k == 0 {
            return Self::default();
        }
        best.sort_unstable_by(|one, other| other.cmp(one));
        let found = gains.iter().filter(|gain| **gain > 0).count();
        let first = gains.iter().position(|gain| *gain > 0);
        Self {
            ndcg: discounted(&gains) / discounted(&best[..best.len().min(k)]),
            recall: found as f64 / best.len() as f64,
            mrr: first.map_or(0.0, |first| 1.0 / (first + 1) as f64),
        }
    }

    fn mean<'a>(all: impl ExactSizeIterator<Item = &'a Self>) -> Self {
        let count = all.len().max(1) as f64;
        let sum = all.fold(Self::default(), |sum, it| Self {
            ndcg: sum.ndcg + it.ndcg,
            recall: sum.recall + it.recall,
            mrr: sum.mrr + it.mrr,
        });
        Self {
            ndcg: sum.ndcg / count,
            recall: sum.recall / count,
            mrr: sum.mrr / count,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            ndcg: self.ndcg - other.ndcg,
            recall: self.recall - other.recall,
            mrr: self.mrr - other.mrr,
        }
    }
}

/// Gains, each divided by the logarithm of its rank.
fn discounted(gains: &[u32]) -> f64 {
    let ranks = 2..;
    let discounted = gains.iter().zip(ranks);
    let discounted = discounted.map(|(gain, rank)| f64::from(*gain) / f64::from(rank).log2());
    // The sum of nothing is -0, which is shown with its sign.
    discounted.sum::<f64>() + 0.0
}

impl QualityReport {
    /// Puts the scores of questions together, each under its id.
    pub fn of(k: usize, questions: BTreeMap<String, QualityScores>) -> Self {
        Self {
            k,
            mean: QualityScores::mean(questions.values()),
            questions,
        }
    }

    /// Reads what was saved as JSON.
    pub fn read(file: QuestionFile<'_>) -> Result<Self, InvalidBaseline> {
        serde_json::from_str(file.text).map_err(|error| InvalidBaseline::Unreadable {
            file: file.name.to_owned(),
            reason: error.to_string(),
        })
    }

    /// What has changed since an earlier report.
    pub fn compare(&self, baseline: &Self) -> Result<QualityComparison, InvalidBaseline> {
        if self.k != baseline.k {
            return Err(InvalidBaseline::OtherK {
                baseline: baseline.k,
                k: self.k,
            });
        }
        let questions = self.questions.iter();
        let both = questions.filter_map(|(id, now)| Some((id, now, baseline.questions.get(id)?)));
        let both: Vec<_> = both.collect();
        if both.is_empty() {
            return Err(InvalidBaseline::OtherQuestions(self.questions.len()));
        }
        let now = QualityScores::mean(both.iter().map(|(_, now, _)| *now));
        let then = QualityScores::mean(both.iter().map(|(_, _, then)| *then));
        let fallen = both
            .iter()
            .filter(|(_, now, then)| now.ndcg < then.ndcg - NOISE);
        let mut worse: Vec<WorseQuestion> = fallen
            .map(|(id, now, then)| WorseQuestion {
                id: (*id).clone(),
                before: then.ndcg,
                after: now.ndcg,
            })
            .collect();
        worse.sort_by(|one, other| one.change().total_cmp(&other.change()));
        Ok(QualityComparison {
            change: now.minus(then),
            worse,
            unmatched: unmatched(&self.questions, &baseline.questions),
        })
    }
}

impl QualityComparison {
    /// Whether the mean nDCG fell by more than 0.01.
    pub fn is_failure(&self) -> bool {
        self.change.ndcg < -TOLERATED - NOISE
    }
}

impl WorseQuestion {
    /// Below zero.
    pub fn change(&self) -> f64 {
        self.after - self.before
    }
}

fn unmatched<T>(one: &BTreeMap<String, T>, other: &BTreeMap<String, T>) -> Vec<String> {
    let only = one.keys().filter(|id| !other.contains_key(*id));
    let missing = other.keys().filter(|id| !one.contains_key(*id));
    only.chain(missing).cloned().collect()
}

#[cfg(test)]
mod tests;
