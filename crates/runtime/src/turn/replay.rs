//! What a turn's journal says has been done already.

use super::turn_answers::AnswerRecord;
use crate::error::{Error, ErrorCode};
use crate::hook::{CreateResult, Delegate};
use crate::journal::{JournalStep, ModelCallUsage, SettledToolCall};
use crate::llm::ModelAnswer;
use serde_json::Value;

/// The steps of a turn, those of an earlier attempt included.
#[derive(Default)]
pub(super) struct JournalReplay {
    steps: Vec<JournalStep>,
}

impl JournalReplay {
    pub fn of(steps: Vec<JournalStep>) -> Self {
        Self { steps }
    }

    /// How many steps there are: the number of the next one.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    pub fn add(&mut self, step: JournalStep) {
        self.steps.push(step);
    }

    /// What `Create` of this leg returned, if it has returned.
    pub fn created(&self, at: usize) -> Option<Option<&CreateResult>> {
        self.steps.iter().find_map(|step| match step {
            JournalStep::Created { leg, created } if *leg == at => Some(created.as_deref()),
            _ => None,
        })
    }

    /// Whom this leg is of, if the turn was handed over to it.
    pub fn delegated(&self, to: usize) -> Option<&Delegate> {
        self.steps.iter().find_map(|step| match step {
            JournalStep::Delegated { leg, delegate } if *leg == to => Some(delegate),
            _ => None,
        })
    }

    /// The model's answer of this round, if the turn went on behind it.
    pub fn answered(&self, at: usize, of: usize) -> Option<&ModelAnswer> {
        self.steps.iter().find_map(|step| match step {
            JournalStep::Answered {
                leg, round, answer, ..
            } if (*leg, *round) == (at, of) => Some(answer.as_ref()),
            _ => None,
        })
    }

    /// The end of a call, if it has one.
    pub fn settled(&self, place: (usize, usize, usize)) -> Option<&SettledToolCall> {
        self.settlements().find(|settled| settled.place() == place)
    }

    /// The failure that ends this round: that of the first call which has one.
    pub fn failure(&self, at: usize, of: usize) -> Option<Error> {
        let of_round = self.settlements();
        let of_round = of_round.filter(|settled| (settled.leg, settled.round) == (at, of));
        let failed = of_round.filter_map(|settled| Some((settled, settled.fatal.as_deref()?)));
        let (first, code) = failed.min_by_key(|(settled, _)| settled.index)?;
        Some(Error::new(ErrorCode::from(code), first.text.as_str()))
    }

    /// The stored messages of others that were taken in.
    pub fn taken(&self) -> impl Iterator<Item = &str> {
        let taken = self.steps.iter().filter_map(|step| match step {
            JournalStep::Added { ids, .. } => Some(ids),
            _ => None,
        });
        taken.flatten().map(String::as_str)
    }

    /// What came of all calls of this leg, in the order of the calls.
    pub fn results(&self, at: usize) -> Vec<Value> {
        let mut of_leg: Vec<&SettledToolCall> = self.settlements().collect();
        of_leg.retain(|settled| settled.leg == at);
        of_leg.sort_by_key(|settled| settled.place());
        let results = of_leg.into_iter().map(|settled| settled.result.clone());
        results.collect()
    }

    /// The ends of calls.
    fn settlements(&self) -> impl Iterator<Item = &SettledToolCall> {
        self.steps.iter().filter_map(|step| match step {
            JournalStep::Settled(settled) => Some(settled),
            _ => None,
        })
    }

    /// The answers that the turn has gone on behind, with their legs and rounds.
    pub fn answers(&self) -> impl Iterator<Item = (usize, usize, &ModelAnswer)> {
        self.steps.iter().filter_map(|step| match step {
            JournalStep::Answered {
                leg, round, answer, ..
            } => Some((*leg, *round, answer.as_ref())),
            _ => None,
        })
    }

    /// What models were called for.
    pub fn used(&self) -> impl Iterator<Item = &ModelCallUsage> {
        self.steps.iter().filter_map(|step| match step {
            JournalStep::Used(used) => Some(used.as_ref()),
            _ => None,
        })
    }

    /// The answers that were not in the history when they were noted.
    pub fn unstored(&self) -> impl Iterator<Item = AnswerRecord> {
        self.steps.iter().filter_map(|step| match step {
            JournalStep::Answered {
                answer,
                unstored: Some(unstored),
                ..
            } => Some(AnswerRecord {
                answer: answer.as_ref().clone(),
                agent: unstored.agent.clone(),
                shown: unstored.shown.clone(),
            }),
            _ => None,
        })
    }

    /// The words that stand for a part of a message, if somebody has found them.
    pub fn worded(&self, digest: &str) -> Option<&str> {
        self.steps.iter().find_map(|step| match step {
            JournalStep::Worded { part, text } if part == digest => Some(text.as_str()),
            _ => None,
        })
    }

    /// The answer that was shown as a whole and asks for nothing, if that is the last that was done: its leg, its agent and
    /// itself.
    pub fn last_answer(&self) -> Option<(usize, &str, &ModelAnswer)> {
        let mut done = self.steps.iter().rev();
        match done.find(|step| !matches!(step, JournalStep::Attempt | JournalStep::Used(_)))? {
            JournalStep::Answered {
                leg,
                answer,
                unstored: Some(unstored),
                ..
            } => Some((*leg, unstored.agent.as_str(), answer.as_ref())),
            _ => None,
        }
    }

    /// How much of what was sent to the turn is taken in.
    pub fn inbox(&self) -> u64 {
        let taken = self.steps.iter().map(|step| match step {
            JournalStep::Added { inbox, .. } => *inbox,
            _ => 0,
        });
        taken.max().unwrap_or_default()
    }

    /// Whether messages came in that count before this round.
    pub fn has_added(&self, at: usize, of: usize) -> bool {
        let is_it = |step: &JournalStep| matches!(step, JournalStep::Added { leg, round, .. } if (*leg, *round) == (at, of));
        self.steps.iter().any(is_it)
    }

    /// Messages that came in while the turn ran and that count before this round.
    pub fn added(&self, at: usize, of: usize) -> Vec<Value> {
        let added = self.steps.iter().filter_map(|step| match step {
            JournalStep::Added {
                leg,
                round,
                messages,
                ..
            } if (*leg, *round) == (at, of) => Some(messages.clone()),
            _ => None,
        });
        added.flatten().collect()
    }
}
