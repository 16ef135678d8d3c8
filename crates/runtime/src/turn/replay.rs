//! What a turn's journal says has been done already.

use super::said::Spoken;
use crate::error::Code;
use crate::hook::{Created, Delegate};
use crate::journal::{Step, Used};
use crate::llm::Answer;
use serde_json::Value;

/// The steps of a turn, those of an earlier attempt included.
#[derive(Default)]
pub(super) struct Replay {
    steps: Vec<Step>,
}

/// A tool call's journalled end.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    /// The entry of `payload.tools`.
    pub result: Value,
    /// What the model is told.
    pub text: String,
}

impl Replay {
    pub fn of(steps: Vec<Step>) -> Self {
        Self { steps }
    }

    /// How many steps there are: the number of the next one.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    pub fn add(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// What `Create` of this leg returned, if it has returned.
    pub fn created(&self, at: usize) -> Option<Option<&Created>> {
        self.steps.iter().find_map(|step| match step {
            Step::Created { leg, created } if *leg == at => Some(created.as_deref()),
            _ => None,
        })
    }

    /// Whom this leg is of, if the turn was handed over to it.
    pub fn delegated(&self, to: usize) -> Option<&Delegate> {
        self.steps.iter().find_map(|step| match step {
            Step::Delegated { leg, delegate } if *leg == to => Some(delegate),
            _ => None,
        })
    }

    /// The model's answer of this round, if the turn went on behind it.
    pub fn answered(&self, at: usize, of: usize) -> Option<&Answer> {
        self.steps.iter().find_map(|step| match step {
            Step::Answered {
                leg, round, answer, ..
            } if (*leg, *round) == (at, of) => Some(answer.as_ref()),
            _ => None,
        })
    }

    /// The end of a call, if it has one.
    pub fn settled(&self, place: (usize, usize, usize)) -> Option<Settled> {
        let mut settled = self.settlements();
        let (_, result, text, _) = settled.find(|(at, ..)| *at == place)?;
        let (result, text) = (result.clone(), text.to_owned());
        Some(Settled { result, text })
    }

    /// Whether a call has an end.
    pub fn is_settled(&self, place: (usize, usize, usize)) -> bool {
        self.settlements().any(|(at, ..)| at == place)
    }

    /// The failure that ends this round: that of the first call which has one.
    pub fn failed(&self, at: usize, of: usize) -> Option<(Code, &str)> {
        let failed = self.settlements().filter_map(|(place, _, text, fatal)| {
            let is_of_round = (place.0, place.1) == (at, of);
            let code = fatal.filter(|_| is_of_round)?;
            Some((place, code, text))
        });
        let (_, code, text) = failed.min_by_key(|(place, ..)| *place)?;
        Some((Code::from(code), text))
    }

    /// The stored messages of others that were taken in.
    pub fn taken(&self) -> impl Iterator<Item = &str> {
        let taken = self.steps.iter().filter_map(|step| match step {
            Step::Added { ids, .. } => Some(ids),
            _ => None,
        });
        taken.flatten().map(String::as_str)
    }

    /// What came of all calls of this leg, in the order of the calls.
    pub fn results(&self, at: usize) -> Vec<Value> {
        let of_leg = self.settlements().filter(|(place, ..)| place.0 == at);
        let mut results: Vec<_> = of_leg
            .map(|(place, result, ..)| (place, result.clone()))
            .collect();
        results.sort_by_key(|(place, _)| *place);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// The ends of calls: their places, the entries of `payload.tools`, what the model is told, and what fails the step.
    fn settlements(
        &self,
    ) -> impl Iterator<Item = ((usize, usize, usize), &Value, &str, Option<&str>)> {
        self.steps.iter().filter_map(|step| match step {
            Step::Settled {
                leg,
                round,
                index,
                result,
                text,
                fatal,
            } => Some((
                (*leg, *round, *index),
                result,
                text.as_str(),
                fatal.as_deref(),
            )),
            _ => None,
        })
    }

    /// The answers that the turn has gone on behind, with their legs and rounds.
    pub fn answers(&self) -> impl Iterator<Item = (usize, usize, &Answer)> {
        self.steps.iter().filter_map(|step| match step {
            Step::Answered {
                leg, round, answer, ..
            } => Some((*leg, *round, answer.as_ref())),
            _ => None,
        })
    }

    /// What models were called for.
    pub fn used(&self) -> impl Iterator<Item = &Used> {
        self.steps.iter().filter_map(|step| match step {
            Step::Used(used) => Some(used.as_ref()),
            _ => None,
        })
    }

    /// The answers that were not in the history when they were noted.
    pub fn unstored(&self) -> impl Iterator<Item = Spoken> {
        self.steps.iter().filter_map(|step| match step {
            Step::Answered {
                answer,
                unstored: Some(unstored),
                ..
            } => Some(Spoken {
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
            Step::Worded { part, text } if part == digest => Some(text.as_str()),
            _ => None,
        })
    }

    /// The answer that was shown as a whole and asks for nothing, if that is the last that was done: its leg, its agent and
    /// itself.
    pub fn last_answer(&self) -> Option<(usize, &str, &Answer)> {
        let mut done = self.steps.iter().rev();
        match done.find(|step| !matches!(step, Step::Attempt | Step::Used(_)))? {
            Step::Answered {
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
            Step::Added { inbox, .. } => *inbox,
            _ => 0,
        });
        taken.max().unwrap_or_default()
    }

    /// Whether messages came in that count before this round.
    pub fn has_added(&self, at: usize, of: usize) -> bool {
        let is_it = |step: &Step| matches!(step, Step::Added { leg, round, .. } if (*leg, *round) == (at, of));
        self.steps.iter().any(is_it)
    }

    /// Messages that came in while the turn ran and that count before this round.
    pub fn added(&self, at: usize, of: usize) -> Vec<Value> {
        let added = self.steps.iter().filter_map(|step| match step {
            Step::Added {
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
