//! What a turn within a turn is to the one around it.

use super::kept::{Done, Kept};
use crate::ask::Callee;
use crate::ctx::Scope;
use crate::error::Result;
use crate::journal::Step;
use crate::outbox::Voice;
use crate::trace::{Node, Start};
use crate::turn::Turn;
use crate::turn::meter::Spent;
use serde_json::{Map, Value};

/// What a turn within a turn has of the one around it.
pub(in crate::turn) struct Fork {
    /// The agents above it, the one that was asked first.
    pub above: Vec<String>,
    /// Where it speaks.
    pub voice: Voice,
    /// What it hangs below in the trace.
    pub node: Node,
    /// What it has done, where it is known again after a crash.
    pub kept: Option<Kept>,
}

impl Fork {
    /// Notes what it has done.
    pub fn keep(&self, done: Done) -> Result<()> {
        self.kept.as_ref().map_or(Ok(()), |kept| kept.note(done))
    }

    /// Makes durable what it has done.
    pub async fn flush(&self, spent: &Spent) -> Result<()> {
        match &self.kept {
            Some(kept) => kept.flush(spent).await,
            None => Ok(()),
        }
    }

    /// Leaves what is not durable of what it has done.
    pub fn leave(&self, spent: &Spent) {
        if let Some(kept) = &self.kept {
            kept.leave(spent);
        }
    }
}

impl Turn {
    /// Goes on behind what a call has done in an earlier attempt; the answer is its end, if it had come to that.
    pub(super) fn taken_up(&mut self, kept: Option<&Kept>) -> Option<(Value, String)> {
        let mut ended = None;
        for done in kept.map(Kept::before).unwrap_or_default() {
            match done {
                Done::Step(step) => self.replay.add(Step::clone(step)),
                Done::Ended { response, content } => {
                    ended = Some((response.clone(), content.clone()));
                }
                Done::Unknown(_) => {}
            }
        }
        ended
    }

    /// Breaks off a call that is dropped: what has ended by then is not done again where the turn begins anew. Nothing can be
    /// waited for here, so that listeners do not hear of what had ended unseen.
    pub(super) fn break_off(&mut self) {
        self.running.stop();
        let settling = self.running.settling.take();
        let untold = std::mem::take(&mut self.running.ended);
        for ended in settling.as_deref().into_iter().chain(&untold) {
            if self.replay.settled(ended.call.place).is_none()
                && let Err(error) = self.note(ended.step())
            {
                let name = &ended.call.call.name;
                self.warn(&format!("the result of {name} is not kept: {error}"));
            }
            self.show_end(ended);
        }
    }

    /// Keeps the end of a call. Where that fails, a hook that runs again has the last of it done once more.
    pub(super) async fn keep_end(&mut self, (response, content): &(Value, String)) {
        let Some(fork) = &self.fork else { return };
        let kept = fork.keep(Done::Ended {
            response: response.clone(),
            content: content.clone(),
        });
        // Where the end is not kept, what comes before it is.
        if let Err(error) = kept.and(fork.flush(&self.spent).await) {
            self.warn(&format!("the end of a call is not kept: {error}"));
        }
    }
}

/// The options of a call of an agent that its hooks get as they are.
pub(super) fn further(options: &Map<String, Value>) -> Map<String, Value> {
    let others = options.iter();
    let others = others.filter(|(name, _)| !matches!(name.as_str(), "connector" | "mode"));
    others
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Where a call is traced.
pub(super) fn node(caller: &Scope, (callee, name): (Callee, &str), messages: &[Value]) -> Node {
    let kind = match callee {
        Callee::Agent => "agent",
        Callee::Model => "step",
    };
    let start = Start::new(kind, name);
    caller.trace.add(start.with_input(messages.to_vec().into()))
}
