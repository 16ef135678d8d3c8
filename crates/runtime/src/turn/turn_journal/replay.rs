//! What the journal of a turn says has been done already.

use crate::chat::ChatMessage;
use crate::error::{Error, ErrorCode};
use crate::hook::{CreateResult, Delegate};
use crate::journal::{
    CallPosition, JournalStep, ModelCallUsage, RoundPosition, SettledToolCall, ToolCallReport,
    UnstoredAnswer,
};
use crate::llm::ModelAnswer;
use crate::search::AutomaticSearch;
use crate::turn::answers::AnswerRecord;

/// The steps of a turn, those of an earlier attempt included.
#[derive(Default)]
pub(in crate::turn) struct JournalReplay {
    steps: Vec<JournalStep>,
}

impl JournalReplay {
    /// How many steps there are: the number of the next one.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    pub fn add(&mut self, step: JournalStep) {
        self.steps.push(step);
    }

    /// What `Create` of this run returned, if it has returned.
    pub fn created(&self, of: usize) -> Option<Option<&CreateResult>> {
        self.steps.iter().find_map(|step| match step {
            JournalStep::Created { run, created } if *run == of => Some(created.as_deref()),
            _ => None,
        })
    }

    /// How this run was handed the turn, if it was.
    pub fn delegated(&self, to: usize) -> Option<&Delegate> {
        self.steps.iter().find_map(|step| match step {
            JournalStep::Delegated { run, delegate } if *run == to => Some(&**delegate),
            _ => None,
        })
    }

    /// The model's answer of a round, if the turn went on behind it.
    pub fn answered(&self, of: RoundPosition) -> Option<&ModelAnswer> {
        let mut answers = self.answers();
        answers.find_map(|(position, answer)| (position == of).then_some(answer))
    }

    /// The answers that the turn has gone on behind, each with its round.
    pub fn answers(&self) -> impl Iterator<Item = (RoundPosition, &ModelAnswer)> {
        self.steps.iter().filter_map(|step| match step {
            JournalStep::Answered {
                run, round, answer, ..
            } => Some((position(*run, *round), answer.as_ref())),
            _ => None,
        })
    }

    /// The end of a tool call, if it has one.
    pub fn settled(&self, position: CallPosition) -> Option<&SettledToolCall> {
        self.settled_calls()
            .find(|settled| settled.position() == position)
    }

    /// The failure that ends a round: that of the first call which has one.
    pub fn failure(&self, of: RoundPosition) -> Option<Error> {
        let calls = self.settled_calls();
        let calls = calls.filter(|settled| settled.position().round == of);
        let failed = calls.filter_map(|settled| Some((settled, settled.fatal.as_deref()?)));
        let (first, code) = failed.min_by_key(|(settled, _)| settled.index)?;
        Some(Error::new(ErrorCode::from(code), first.text.as_str()))
    }

    /// What came of all calls of a run, in the order of the calls.
    pub fn results(&self, of: usize) -> Vec<ToolCallReport> {
        let mut calls: Vec<&SettledToolCall> = self.settled_calls().collect();
        calls.retain(|settled| settled.run == of);
        calls.sort_by_key(|settled| settled.position());
        let results = calls.into_iter().map(|settled| settled.result.clone());
        results.collect()
    }

    fn settled_calls(&self) -> impl Iterator<Item = &SettledToolCall> {
        self.steps.iter().filter_map(|step| match step {
            JournalStep::Settled(settled) => Some(&**settled),
            _ => None,
        })
    }

    /// What models have used.
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
            } => Some(record(answer, unstored)),
            _ => None,
        })
    }

    /// The answer that was shown as a whole and asks for nothing, with its run, if nothing was done behind it.
    pub fn last_answer(&self) -> Option<(usize, AnswerRecord)> {
        let mut steps = self.steps.iter().rev();
        match steps.find(|step| !matches!(step, JournalStep::Attempt | JournalStep::Used(_)))? {
            JournalStep::Answered {
                run,
                answer,
                unstored: Some(unstored),
                ..
            } => Some((*run, record(answer, unstored))),
            _ => None,
        }
    }

    /// The words that stand for a part of a message, if somebody has found them.
    pub fn worded(&self, digest: &str) -> Option<&str> {
        self.steps.iter().find_map(|step| match step {
            JournalStep::Worded { part, text } if part == digest => Some(text.as_str()),
            _ => None,
        })
    }

    /// What was found before the call of a run's model, if that was searched for.
    pub fn searched(&self, of: usize) -> Option<&AutomaticSearch> {
        self.steps.iter().find_map(|step| match step {
            JournalStep::Searched { run, search } if *run == of => Some(search.as_ref()),
            _ => None,
        })
    }

    /// The last search that has come to something.
    pub fn last_search(&self) -> Option<&AutomaticSearch> {
        let mut steps = self.steps.iter().rev();
        steps.find_map(|step| match step {
            JournalStep::Searched { search, .. } if !search.types.is_empty() => {
                Some(search.as_ref())
            }
            _ => None,
        })
    }

    /// How much of what was sent to the turn is taken in.
    pub fn inbox_position(&self) -> u64 {
        let positions = self.steps.iter().map(|step| match step {
            JournalStep::Added { inbox, .. } => *inbox,
            _ => 0,
        });
        positions.max().unwrap_or_default()
    }

    /// Whether messages came in that count before a round.
    pub fn has_added(&self, before: RoundPosition) -> bool {
        self.added_before(before).next().is_some()
    }

    /// Messages that came in while the turn ran and that count before a round.
    pub fn added(&self, before: RoundPosition) -> Vec<ChatMessage> {
        self.added_before(before).flatten().cloned().collect()
    }

    fn added_before(&self, before: RoundPosition) -> impl Iterator<Item = &Vec<ChatMessage>> {
        self.steps.iter().filter_map(move |step| match step {
            JournalStep::Added {
                run,
                round,
                messages,
                ..
            } if position(*run, *round) == before => Some(messages),
            _ => None,
        })
    }

    /// The ids of the stored messages of others that were taken in.
    pub fn appended_ids(&self) -> impl Iterator<Item = &str> {
        let ids = self.steps.iter().filter_map(|step| match step {
            JournalStep::Added { ids, .. } => Some(ids),
            _ => None,
        });
        ids.flatten().map(String::as_str)
    }
}

fn record(answer: &ModelAnswer, unstored: &UnstoredAnswer) -> AnswerRecord {
    AnswerRecord {
        answer: answer.clone(),
        agent: unstored.agent.clone(),
        shown: unstored.shown.clone(),
    }
}

fn position(run: usize, round: usize) -> RoundPosition {
    RoundPosition { run, round }
}
