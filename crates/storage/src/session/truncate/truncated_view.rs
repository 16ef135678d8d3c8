//! What a strategy makes of a view: the new view, measured, and what its overlay must record.

use super::measured_view::{MeasuredView, TokenScale};
use crate::items::{ViewItem, new_entry};
use crate::json::Json;
use crate::message::Message;
use crate::truncation::{
    STANDS_FOR, StandIn, StandInSource, TruncationBudget, TruncationRules, UnitKind, estimate,
};
use crate::{Error, Result};
use futures::FutureExt;
use serde_json::json;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::panic::AssertUnwindSafe;

/// The first line of every stand-in.
const TITLE: &str = "Earlier in this conversation:";

#[derive(Debug)]
pub(super) struct TruncatedView {
    pub(super) items: Vec<ViewItem>,
    pub(super) tokens: u64,
    /// Calls that it does not show.
    pub(super) calls: Vec<String>,
    /// The sequences that it leaves out or puts into other words.
    pub(super) replaced: RangeInclusive<u64>,
}

/// The places of the units that a strategy lets go, and what is to stand for them.
pub(super) struct TruncationPlan {
    pub(super) gone: Vec<usize>,
    pub(super) source: StandInSource,
    /// Tokens of what stays of the history.
    pub(super) taken: u64,
}

impl TruncationPlan {
    /// The strategy's next plan: another one than before. Where the strategy has none for this room, the room shrinks: it
    /// may have set too little aside for what stands there now. Nothing where no further message would go.
    pub(super) fn next(
        look: &MeasuredView,
        rules: &TruncationRules,
        room: &mut TruncationBudget,
        before: &[usize],
    ) -> Option<Vec<usize>> {
        let plan = |room: &TruncationBudget| {
            let planned = rules.strategy.plan(&look.units, room);
            let gone = look.allowed(planned, room.preserve_system);
            let is_said = |at: &usize| look.units[*at].kind != UnitKind::StandIn;
            (gone.iter().any(is_said) && gone != before).then_some(gone)
        };
        let none = TruncationBudget {
            tokens: 0,
            ..room.clone()
        };
        let least = plan(&none)?;
        while room.tokens > 0 {
            if let Some(gone) = plan(room) {
                return Some(gone);
            }
            room.tokens -= room.tokens.div_ceil(8);
        }
        Some(least)
    }

    /// The plan to let these units go; what they leave of all the room is for the stand-in.
    pub(super) fn of(look: &MeasuredView, gone: Vec<usize>, all: &TruncationBudget) -> Self {
        let taken = look.without(&gone).saturating_sub(look.beside);
        Self {
            source: StandInSource {
                exchanges: exchanges(look, &gone),
                previous: previous(look),
                tokens: all.tokens.saturating_sub(taken),
            },
            gone,
            taken,
        }
    }

    /// The strategy's stand-in. A panic in it is an error like any other.
    pub(super) async fn stand_in(&self, rules: &TruncationRules) -> Option<StandIn> {
        let work = AssertUnwindSafe(rules.strategy.stand_in(&self.source));
        let made = work.catch_unwind().await;
        made.unwrap_or_else(|_panic| {
            let what = format!("the truncation strategy {} panicked", rules.strategy.name());
            Some(StandIn {
                text: Err(Error::Internal { what }),
                usage: Vec::new(),
            })
        })
    }
}

/// What goes, exchange by exchange.
fn exchanges(look: &MeasuredView, gone: &[usize]) -> Vec<Vec<Message>> {
    let mut exchanges: Vec<Vec<Message>> = Vec::new();
    for unit in gone.iter().map(|at| &look.units[*at]) {
        if unit.kind == UnitKind::StandIn {
            continue;
        }
        match exchanges.last_mut() {
            Some(exchange) if unit.kind != UnitKind::Question => {
                exchange.extend(unit.messages.iter().cloned());
            }
            _ => exchanges.push(unit.messages.clone()),
        }
    }
    exchanges
}

/// The text of the stand-in that the view shows.
fn previous(look: &MeasuredView) -> Option<String> {
    let shown = look
        .units
        .iter()
        .find(|unit| unit.kind == UnitKind::StandIn)?;
    let text = shown.messages.first()?.text();
    let text = text.strip_prefix(TITLE).unwrap_or(&text).trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// How a stand-in becomes a message.
pub(super) struct StandInOptions<'a> {
    pub(super) id: String,
    pub(super) strategy: &'a str,
    pub(super) scale: TokenScale,
    /// The largest item a store accepts.
    pub(super) limit: usize,
}

/// The view without what goes. A stand-in comes behind the leading instructions and takes the place of every earlier one.
pub(super) fn made(
    look: &MeasuredView,
    plan: &TruncationPlan,
    text: Option<&str>,
    wording: &StandInOptions<'_>,
) -> Result<TruncatedView> {
    let mut gone = plan.gone.clone();
    if text.is_some() {
        let stand_ins = look.units.iter().enumerate();
        gone.extend(
            stand_ins
                .filter(|(_, unit)| unit.kind == UnitKind::StandIn)
                .map(|(at, _)| at),
        );
        gone.sort_unstable();
        gone.dedup();
    }
    let places = look.staying(&gone);
    let mut items: Vec<ViewItem> = places
        .iter()
        .map(|at| look.seen.items[*at].clone())
        .collect();
    let from = sources(look, &gone);
    let mut tokens = look.without(&gone);
    if let Some(text) = text {
        let message = message(text, &from, wording)?;
        let size = wording.scale.of(estimate(&message));
        let measured = gone.iter().map(|at| look.units[*at].tokens).sum::<u64>();
        if size > measured {
            let reason = format!("is longer than its source ({size} tokens for {measured})");
            return Err(refused(wording, reason));
        }
        tokens += size;
        let is_said = |at: &usize| !look.messages[*at].is_instruction();
        let place = places.iter().position(is_said).unwrap_or(items.len());
        let entry = new_entry(message.id.clone(), Json::of(&message)?, wording.limit)?;
        let item = ViewItem {
            id: entry.id,
            seq: None,
            at: 0,
            body: entry.body,
            from: from.clone(),
        };
        items.insert(place, item);
    }
    let first = from.first().map_or(0, |(first, _)| *first);
    let last = from.last().map_or(0, |(_, last)| *last);
    Ok(TruncatedView {
        items,
        tokens,
        calls: hidden_calls(look, &gone),
        replaced: first..=last,
    })
}

/// The stand-in as the model sees it: what it says comes from people and tools, so it has no more weight than they have.
fn message(text: &str, from: &[(u64, u64)], wording: &StandInOptions<'_>) -> Result<Message> {
    let text = text.trim();
    if text.is_empty() {
        return Err(refused(wording, "is empty".to_owned()));
    }
    let mut message = Message::user(format!("{TITLE}\n{text}"));
    message.id.clone_from(&wording.id);
    let record = json!({"strategy": wording.strategy, "made_from": from});
    message.extras.insert(STANDS_FOR.to_owned(), record);
    Ok(message)
}

fn refused(wording: &StandInOptions<'_>, reason: String) -> Error {
    Error::invalid(format!("the stand-in by {}", wording.strategy), reason)
}

/// The archived entries behind what goes, in order and joined.
fn sources(look: &MeasuredView, gone: &[usize]) -> Vec<(u64, u64)> {
    let places = gone.iter().flat_map(|at| &look.units[*at].places);
    let items = places.map(|place| &look.seen.items[*place]);
    let ranges = items.flat_map(|item| {
        let own = item.seq.map(|seq| (seq, seq));
        item.from.iter().copied().chain(own)
    });
    let mut ranges: Vec<(u64, u64)> = ranges.collect();
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (first, last) in ranges {
        match joined.last_mut() {
            Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    joined
}

/// The ids of calls that go and that no call which stays has, too.
fn hidden_calls(look: &MeasuredView, gone: &[usize]) -> Vec<String> {
    let of = |is_gone: bool| {
        let units = look.units.iter().enumerate();
        let units = units.filter(move |(at, _)| gone.binary_search(at).is_ok() == is_gone);
        let messages = units.flat_map(|(_, unit)| &unit.messages);
        messages.flat_map(|message| message.tool_calls.iter().map(|call| &call.id))
    };
    let stay: HashSet<&String> = of(false).collect();
    of(true).filter(|id| !stay.contains(id)).cloned().collect()
}
