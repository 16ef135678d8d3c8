//! What a turn within a turn is to the one around it.

use super::journal::{NestedCallRecord, NestedCallStep};
use crate::ctx::ScriptContext;
use crate::error::Result;
use crate::journal::JournalStep;
use crate::outbox::MessageAuthor;
use crate::trace::{NodeOptions, TraceNode};
use crate::turn::Turn;
use crate::turn::usage::TurnUsage;
use crate::turn_host::CalleeKind;
use serde_json::{Map, Value};

/// What a turn within a turn has of the one around it.
pub(in crate::turn) struct ParentTurn {
    /// The agents above it, the one that was asked first.
    pub ancestors: Vec<String>,
    /// Where it speaks.
    pub voice: MessageAuthor,
    /// What it hangs below in the trace.
    pub node: TraceNode,
    /// What it has done, where it is known again after a crash.
    pub record: Option<NestedCallRecord>,
}

impl ParentTurn {
    /// Notes what it has done.
    pub fn keep(&self, done: NestedCallStep) -> Result<()> {
        self.record.as_ref().map_or(Ok(()), |kept| kept.note(done))
    }

    /// Makes durable what it has done.
    pub async fn flush(&self, spent: &TurnUsage) -> Result<()> {
        match &self.record {
            Some(kept) => kept.flush(spent).await,
            None => Ok(()),
        }
    }

    /// Leaves what is not durable of what it has done.
    pub fn leave(&self, spent: &TurnUsage) {
        if let Some(kept) = &self.record {
            kept.leave(spent);
        }
    }
}

impl Turn {
    /// Goes on behind what a call has done in an earlier attempt; the answer is its end, if it had come to that.
    pub(super) fn resume_call(
        &mut self,
        kept: Option<&NestedCallRecord>,
    ) -> Option<(Value, String)> {
        let mut ended = None;
        for done in kept.map(NestedCallRecord::before).unwrap_or_default() {
            match done {
                NestedCallStep::Step(step) => self.replay.add(JournalStep::clone(step)),
                NestedCallStep::Ended { response, content } => {
                    ended = Some((response.clone(), content.clone()));
                }
                NestedCallStep::Unknown(_) => {}
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
        let Some(fork) = &self.parent else { return };
        let kept = fork.keep(NestedCallStep::Ended {
            response: response.clone(),
            content: content.clone(),
        });
        // Where the end is not kept, what comes before it is.
        if let Err(error) = kept.and(fork.flush(&self.usage).await) {
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
pub(super) fn node(
    caller: &ScriptContext,
    (callee, name): (CalleeKind, &str),
    messages: &[Value],
) -> TraceNode {
    let kind = match callee {
        CalleeKind::Agent => "agent",
        CalleeKind::Model => "step",
    };
    let start = NodeOptions::new(kind, name);
    caller.trace.add(start.with_input(messages.to_vec().into()))
}
