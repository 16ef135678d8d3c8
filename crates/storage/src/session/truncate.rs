//! `Context::truncate`: what a turn asks before each model call.

mod measured_view;
mod truncated_view;

use super::commit;
use super::context::Context;
use super::events::{ChatHistoryTruncated, ChatHistoryTruncating, EngineError};
use super::history::{ChatHistoryStorage, NewOverlay};
use crate::message::{Message, for_model};
use crate::truncation::{
    ContextWindow, FittingRequest, TruncationBudget, TruncationRequest, TruncationRules,
    TruncationSettings, cut,
};
use crate::{Error, Result, ids};
use measured_view::{MeasuredView, TokenScale};
use truncated_view::{StandInOptions, TruncatedView, TruncationPlan, made};

/// How often one call may shorten a view; more than once where a strategy of the application's own stops short, or the
/// log has grown meanwhile.
const PASSES: usize = 4;
/// How often a stand-in is made anew because it left too little room for the rest.
const ROUNDS: usize = 3;

impl Context {
    /// Makes the next model call fit: the history's view is shortened if the call would have more tokens than the
    /// settings allow, and what cannot fit the model's window is refused with `Limited`. To be asked before every model
    /// call, in tool rounds and for a fallback provider too. Staged messages must be saved before.
    pub async fn truncate(&self, call: &TruncationRequest) -> Result<FittingRequest> {
        let run = TruncationRun::of(self, call)?;
        let (mut scale, mut overlay_id, mut refused) = (None, None, None);
        for _ in 0..PASSES {
            let (look, scale) = run.measure(&mut scale).await?;
            let Some(rules) = run.rules.as_ref().filter(|_| look.tokens > run.budget) else {
                return run.final_request(&look, overlay_id, refused);
            };
            match run.shortened(rules, &look, scale).await {
                Ok(Some(id)) => overlay_id = Some(id),
                Ok(None) => break,
                Err(TruncationError::Failed(error)) => return Err(error),
                Err(TruncationError::Refused(error)) => {
                    run.report(rules, &error).await;
                    refused = Some(error);
                    break;
                }
            }
        }
        // What was added meanwhile belongs to the call, and what was erased does not.
        let (look, _) = run.measure(&mut scale).await?;
        run.final_request(&look, overlay_id, refused)
    }
}

/// Why a view was not shortened.
enum TruncationError {
    /// The strategy or a move of the log spoke against it: the call may go on without.
    Refused(Error),
    /// A listener or a store did.
    Failed(Error),
}

impl From<Error> for TruncationError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

struct TruncationRun<'a> {
    context: &'a Context,
    history: ChatHistoryStorage,
    call: &'a TruncationRequest,
    rules: Option<TruncationRules>,
    /// What the model accepts.
    limit: u64,
    /// What the call is to have at most.
    budget: u64,
}

impl<'a> TruncationRun<'a> {
    fn of(context: &'a Context, call: &'a TruncationRequest) -> Result<Self> {
        let history = context.history();
        if history.is_dirty() {
            return Err(Error::invalid(
                "history",
                "has staged changes; save them before the model is called",
            ));
        }
        let agent = context.session().agent().truncation();
        let application = &context.ambit().settings().truncation;
        let mut rules = TruncationSettings::resolve(&[&agent, &call.settings, application])?;
        if let (Some(rules), Some(own)) = (&mut rules, &call.strategy) {
            rules.strategy = own.clone();
        }
        let limit = call.window.map_or(Ok(u64::MAX), ContextWindow::room)?;
        let effective = rules.as_ref().map_or(u64::MAX, |rules| rules.effective);
        Ok(Self {
            context,
            history,
            call,
            rules,
            limit,
            budget: effective.min(limit),
        })
    }

    async fn measure(&self, scale: &mut Option<TokenScale>) -> Result<(MeasuredView, TokenScale)> {
        MeasuredView::at(self.history.view_snapshot().await?, self.call, scale)
    }

    /// Shows the view as the strategy wants it; nothing where no message can go, or too few.
    async fn shortened(
        &self,
        rules: &TruncationRules,
        look: &MeasuredView,
        scale: TokenScale,
    ) -> Result<Option<String>, TruncationError> {
        let all = self.room(rules, look);
        let (mut room, mut before, mut best) = (all.clone(), Vec::new(), None);
        for _ in 0..ROUNDS {
            let Some(gone) = TruncationPlan::next(look, rules, &mut room, &before) else {
                break;
            };
            let plan = TruncationPlan::of(look, gone, &all);
            let text = self.text(rules, &plan).await?;
            let made = made(look, &plan, text.as_deref(), &self.wording(rules, scale))?;
            let over = made.tokens.saturating_sub(self.budget);
            room.tokens = plan.taken.min(room.tokens).saturating_sub(over);
            (before, best) = (plan.gone, Some(made));
            if over == 0 {
                break;
            }
        }
        let Some(made) = best.filter(|made| made.tokens <= self.limit) else {
            return Ok(None);
        };
        if made.tokens >= look.without(&[]) {
            let field = format!("the plan of {}", rules.strategy.name());
            return Err(Error::invalid(field, "does not make the view shorter").into());
        }
        self.store_overlay(rules, look, made).await.map(Some)
    }

    fn room(&self, rules: &TruncationRules, look: &MeasuredView) -> TruncationBudget {
        TruncationBudget {
            keep: rules.keep_messages,
            tokens: self.budget.saturating_sub(look.beside),
            preserve_system: rules.preserve_system,
        }
    }

    fn wording<'b>(&self, rules: &'b TruncationRules, scale: TokenScale) -> StandInOptions<'b> {
        let options = self.context.ambit().stores().options();
        StandInOptions {
            id: ids::ordered(&options.clock),
            strategy: rules.strategy.name(),
            scale,
            limit: options.limits.value,
        }
    }

    /// The text that stands for what goes, if something does. What making it cost is booked in any case.
    async fn text(
        &self,
        rules: &TruncationRules,
        plan: &TruncationPlan,
    ) -> Result<Option<String>, TruncationError> {
        let Some(stand_in) = plan.stand_in(rules).await else {
            return Ok(None);
        };
        let usage = self.context.usage();
        for record in stand_in.usage {
            usage.record(record).map_err(TruncationError::Failed)?;
        }
        if usage.cell().is_dirty() {
            let saved = commit::save(self.context, std::slice::from_ref(usage.cell())).await;
            saved.map_err(TruncationError::Failed)?;
        }
        Ok(Some(stand_in.text?))
    }

    async fn store_overlay(
        &self,
        rules: &TruncationRules,
        look: &MeasuredView,
        made: TruncatedView,
    ) -> Result<String, TruncationError> {
        let bus = self.context.ambit().bus();
        let asked = ChatHistoryTruncating {
            about: self.context.about(),
            strategy: rules.strategy.name().to_owned(),
            tokens_before: look.tokens,
            tokens_planned: made.tokens,
        };
        bus.ask(asked.clone())
            .await
            .map_err(TruncationError::Failed)?;
        let remaining = made.items.len() as u64;
        let laying = NewOverlay {
            items: made.items,
            reason: rules.strategy.name(),
            calls: made.calls,
        };
        let laid = self.history.lay(&look.seen, &laying).await;
        let overlay_id = laid.map_err(|error| match error {
            Error::Conflict { .. } | Error::Busy { .. } => TruncationError::Refused(error),
            error => TruncationError::Failed(error),
        })?;
        let event = ChatHistoryTruncated {
            about: self.context.about(),
            strategy: asked.strategy,
            tokens_before: asked.tokens_before,
            tokens_planned: asked.tokens_planned,
            replaced: made.replaced,
            remaining,
            overlay_id: overlay_id.clone(),
        };
        bus.notify(event).await;
        Ok(overlay_id)
    }

    /// The view as it is, if it fits; else for this call what `simple` leaves of it, if truncation is on and that fits.
    fn final_request(
        &self,
        look: &MeasuredView,
        overlay_id: Option<String>,
        refused: Option<Error>,
    ) -> Result<FittingRequest> {
        let is_for_this_call = look.tokens > self.limit;
        let rules = self.rules.as_ref().filter(|_| is_for_this_call);
        let gone = rules.map_or_else(Vec::new, |rules| self.cut_for_this_call(rules, look));
        let tokens = match gone.is_empty() {
            true => look.tokens,
            false => look.without(&gone),
        };
        if tokens > self.limit {
            return Err(Error::limited("request tokens", tokens, self.limit));
        }
        let places = look.staying(&gone);
        let messages: Vec<Message> = places.iter().map(|at| look.messages[*at].clone()).collect();
        Ok(FittingRequest {
            messages: for_model(&messages),
            tokens,
            overlay_id,
            refused,
            is_for_this_call,
        })
    }

    /// What `simple` cuts. Open calls of earlier turns go only where nothing else helps, and never from the view.
    fn cut_for_this_call(&self, rules: &TruncationRules, look: &MeasuredView) -> Vec<usize> {
        let room = self.room(rules, look);
        let gone = cut(&look.units, &room);
        if look.without(&gone) <= self.limit {
            return gone;
        }
        let mut units = look.units.clone();
        for unit in &mut units {
            unit.is_pinned &= !unit.is_spare;
        }
        cut(&units, &room)
    }

    async fn report(&self, rules: &TruncationRules, error: &Error) {
        let event = EngineError {
            about: self.context.about(),
            provider: rules.strategy.name().to_owned(),
            error: error.to_string(),
            retried: false,
        };
        self.context.ambit().bus().notify(event).await;
    }
}
