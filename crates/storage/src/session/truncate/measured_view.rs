//! A look at a view before a model call: its units, and how many tokens the call would have.

use crate::Result;
use crate::message::Message;
use crate::session::history::ViewSnapshot;
use crate::truncation::{MessageUnit, TruncationRequest, UnitKind, estimate, grouped};

#[derive(Debug)]
pub(super) struct MeasuredView {
    pub(super) seen: ViewSnapshot,
    pub(super) messages: Vec<Message>,
    pub(super) units: Vec<MessageUnit>,
    /// Tokens of the call that are not of the history.
    pub(super) beside: u64,
    /// Tokens of the call: reported, and estimated for what came after.
    pub(super) tokens: u64,
}

/// What the provider counts for what the estimate counts: units are measured by it, so that what is planned is right
/// where the estimate is not.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenScale {
    counted: u64,
    estimated: u64,
}

impl TokenScale {
    pub(super) fn of(self, tokens: u64) -> u64 {
        let scaled = u128::from(tokens) * u128::from(self.counted);
        let scaled = scaled.div_ceil(u128::from(self.estimated.max(1)));
        // No sum of what is smaller than this overflows.
        u64::try_from(scaled).unwrap_or(u64::MAX).min(1 << 40)
    }
}

impl MeasuredView {
    /// Measures what was seen, without what was erased. The scale comes from the first look: after a cut there is no report
    /// about what is left.
    pub(super) fn at(
        mut seen: ViewSnapshot,
        call: &TruncationRequest,
        scale: &mut Option<TokenScale>,
    ) -> Result<(Self, TokenScale)> {
        let mut messages = Vec::with_capacity(seen.items.len());
        for item in std::mem::take(&mut seen.items) {
            let message: Message = item.body.to()?;
            if !message.is_erased() {
                messages.push(message);
                seen.items.push(item);
            }
        }
        let is_stand_in = |place: &usize| !seen.items[*place].from.is_empty();
        let stand_ins: Vec<usize> = (0..messages.len()).filter(is_stand_in).collect();
        let mut units = grouped(&messages, &stand_ins);
        let of_units = units.iter().map(|unit| unit.tokens).sum::<u64>();
        let estimated = call.extra_tokens.saturating_add(of_units);
        let tokens = reported(&seen, call, &messages);
        let fresh = TokenScale {
            counted: tokens.unwrap_or(estimated),
            estimated,
        };
        let scale = *scale.get_or_insert(fresh);
        for unit in &mut units {
            unit.tokens = scale.of(unit.tokens);
        }
        let beside = scale.of(call.extra_tokens);
        let measured = beside + units.iter().map(|unit| unit.tokens).sum::<u64>();
        let look = Self {
            tokens: tokens.unwrap_or(measured),
            seen,
            messages,
            units,
            beside,
        };
        Ok((look, scale))
    }

    /// Tokens of the call without these units, which are in order.
    pub(super) fn without(&self, gone: &[usize]) -> u64 {
        let units = self.units.iter().enumerate();
        let stay = units.filter(|(at, _)| gone.binary_search(at).is_err());
        self.beside + stay.map(|(_, unit)| unit.tokens).sum::<u64>()
    }

    /// What of a plan holds: places that exist, each once and in order, and no instruction that is to be preserved.
    pub(super) fn allowed(&self, mut plan: Vec<usize>, preserve_system: bool) -> Vec<usize> {
        let may_go = |at: &usize| {
            let unit = self.units.get(*at);
            unit.is_some_and(|unit| !(preserve_system && unit.kind == UnitKind::Instruction))
        };
        plan.retain(may_go);
        plan.sort_unstable();
        plan.dedup();
        plan
    }

    /// The places in the view of what stays, in order.
    pub(super) fn staying(&self, gone: &[usize]) -> Vec<usize> {
        let units = self.units.iter().enumerate();
        let stay = units.filter(|(at, _)| gone.binary_search(at).is_err());
        let mut places: Vec<usize> = stay.flat_map(|(_, unit)| unit.places.clone()).collect();
        places.sort_unstable();
        places
    }
}

/// What the last call reported and an estimate for what came after it; nothing where the view has changed since.
fn reported(seen: &ViewSnapshot, call: &TruncationRequest, messages: &[Message]) -> Option<u64> {
    // Some providers report 0 where they have counted nothing.
    let reported = call.reported.as_ref().filter(|report| report.tokens > 0)?;
    let at = messages
        .iter()
        .rposition(|message| message.id == reported.through)?;
    let is_of_this_view = seen.items[at].seq.is_some_and(|seq| seq > seen.covered);
    let after = messages[at + 1..].iter().map(estimate).sum::<u64>();
    is_of_this_view.then(|| reported.tokens.saturating_add(after))
}
