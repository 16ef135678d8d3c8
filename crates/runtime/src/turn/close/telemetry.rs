//! What telemetry needs of a turn that ends: what is known of its agent, and that its trace is to be sent.

use crate::call_metrics;
use crate::error::{Error, Result};
use crate::telemetry::UnstoredTurn;
use crate::trace::{AgentFacts, StepFacts, TraceStatus};
use crate::trace_context::ExternalTrace;
use crate::turn::Turn;
use crate::unsent_turn::{TurnPlace, UnsentTurn};
use ambit_storage::batch::BatchWrite;
use serde_json::json;

impl Turn {
    /// Ends the trace, with what the turn has used and how it failed.
    pub(super) fn finish_trace(&self, status: TraceStatus, error: Option<&Error>) {
        let context = &self.context;
        let (agent, locale) = (&context.request.agent, &context.settings.locale);
        let used = self.journal.usage.totals();
        let metadata = json!({
            "agent": agent,
            "usage": used.usage,
            "cost": used.cost,
            "acted_by": context.request.authorized.acted_by(),
        });
        let facts = StepFacts::Agent(AgentFacts {
            usage: Some(used.usage),
            error_code: error.map(|error| call_metrics::label(&error.code).to_owned()),
            ..context.loaded.agent_facts(agent, locale)
        });
        self.output.root.set_facts_with(facts, metadata);
        let error = error.map(|error| error.message.as_str());
        self.output.trace.finish(status, error);
    }

    /// The write that notes that the turn's trace is to be sent to a collector, if it is.
    pub(super) async fn unsent_note(&self, ended_at: i64) -> Result<Option<BatchWrite>> {
        let context = &self.context;
        if !context.request.is_stored() || !self.sends_trace() {
            return Ok(None);
        }
        let turn = UnsentTurn {
            tenant: context.request.authorized.tenant().to_owned(),
            place: match self.conversation.row_id().await? {
                Some(row) => TurnPlace::Row(row),
                None => TurnPlace::Temporary(self.conversation.space()),
            },
            ended_at,
        };
        let write = turn.note(context.id(), context.retention().trace)?;
        Ok(Some(write))
    }

    /// Hands the trace of a turn that stores nothing over, if it is to be sent: its stores end with it.
    pub(super) async fn hand_over_trace(&self) {
        let context = &self.context;
        if context.request.is_stored() || context.is_nested() || !self.sends_trace() {
            return;
        }
        let (_, driver) = self.conversation.session.context().place();
        let turn = UnstoredTurn {
            core: &context.core,
            app: &context.loaded.app,
            tenant: context.request.authorized.tenant(),
            driver: driver.as_ref(),
            log: context.keys.trace(),
            ended_at: context.now(),
        };
        if let Err(error) = turn.keep_trace().await {
            tracing::warn!(request.id = context.id(), %error, "a trace cannot be read to be sent");
        }
    }

    /// Whether a collector is to have the turn's trace.
    fn sends_trace(&self) -> bool {
        let context = &self.context;
        let telemetry = &context.loaded.app.settings.telemetry;
        let caller = context.request.origin.trace_context.clone();
        let trace = ExternalTrace::of(context.id(), caller);
        context.core.sends_traces()
            && self.output.trace.is_on()
            && trace.is_sampled(telemetry.sample)
    }
}
