//! Random histories, strategies, keeps and thresholds: what must hold of every view.

use crate::support::{Chat, Scripted, window};
use crate::{Case, Place};
use ambit_storage::Error;
use ambit_storage::storage::{Message, ToolCall};
use ambit_storage::truncation::{
    SimpleTruncation, SummaryTruncation, SymbolTruncation, TruncationRequest, TruncationSettings,
    TruncationStrategy, estimate,
};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

pub const CASES: &[Case] =
    cases![g044_no_strategy_keep_or_threshold_parts_a_call_from_its_results,];

fn roll(seed: &mut u64, sides: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 11) % sides
}

fn text(seed: &mut u64) -> String {
    let length = usize::try_from(roll(seed, 120)).unwrap();
    "word ".repeat(length / 5 + 1)
}

/// A few messages: questions, answers, instructions, calls with results in any order, open calls, ids used again,
/// orphan results, and other messages between a call and its results.
fn exchange(seed: &mut u64) -> Vec<Message> {
    let id = |seed: &mut u64| format!("call-{}", roll(seed, 6));
    match roll(seed, 8) {
        0 => vec![Message::system(text(seed))],
        1 => vec![Message::result(id(seed), text(seed))],
        2 => vec![Message::calling([ToolCall::new(id(seed), "find", "")])],
        3 => vec![Message::assistant(text(seed))],
        4 | 5 => vec![Message::user(text(seed)), Message::assistant(text(seed))],
        _ => {
            let mut ids: Vec<String> = (0..=roll(seed, 3)).map(|_| id(seed)).collect();
            let calls = ids.iter().map(|id| ToolCall::new(id, "find", ""));
            let mut messages = vec![Message::user(text(seed)), Message::calling(calls)];
            let by = usize::try_from(roll(seed, 3)).unwrap() % ids.len();
            ids.rotate_left(by);
            for id in ids {
                messages.push(Message::result(id, text(seed)));
                if roll(seed, 4) == 0 {
                    messages.push(Message::user(text(seed)));
                }
            }
            messages
        }
    }
}

/// Calls and their results, by the ids of their messages: as many results as there are calls, each after its call. What
/// comes beyond that is an orphan.
fn bonds(archive: &[Message]) -> Vec<(String, String)> {
    let mut open: HashMap<&str, (&str, usize)> = HashMap::new();
    let mut bonds = Vec::new();
    for message in archive {
        if let Some(result) = &message.tool_result
            && let Some((caller, left)) = open.get_mut(result.call_id.as_str())
            && *left > 0
        {
            *left -= 1;
            bonds.push(((*caller).to_owned(), message.id.clone()));
        }
        for call in &message.tool_calls {
            let same = |other: &&ToolCall| other.id == call.id;
            let count = message.tool_calls.iter().filter(same).count();
            open.insert(&call.id, (&message.id, count));
        }
    }
    bonds
}

fn strategy(seed: &mut u64) -> Arc<dyn TruncationStrategy> {
    match roll(seed, 3) {
        0 => Arc::new(SimpleTruncation),
        1 => Arc::new(SummaryTruncation::new(Scripted::says([]))),
        _ => Arc::new(SymbolTruncation::new(Scripted::says([]))),
    }
}

async fn g044_no_strategy_keep_or_threshold_parts_a_call_from_its_results(place: Place) {
    let mut seed = 0x2545_F491_4F6C_DD1D;
    let (mut cut, mut blocks, mut limited) = (0, 0, 0);
    for round in 0..place.rounds {
        let settings = TruncationSettings {
            strategy: Some(strategy(&mut seed)),
            threshold: Some(1 + roll(&mut seed, 300)),
            keep_messages: usize::try_from(roll(&mut seed, 9)).ok(),
            preserve_system: Some(roll(&mut seed, 4) > 0),
            ..TruncationSettings::default()
        };
        let chat = Chat::new(&place, settings.clone()).await;
        chat.agent.clear().await.unwrap();
        let mut all = Vec::new();
        for _ in 0..4 {
            for _ in 0..roll(&mut seed, 4) {
                all.extend(chat.say(exchange(&mut seed)).await);
            }
            let limit = 20 + roll(&mut seed, 400);
            let call = TruncationRequest {
                extra_tokens: roll(&mut seed, 20),
                ..window(limit)
            };
            let before = chat.view().await;
            let prepared = chat.truncate(&call).await;
            let view = chat.view().await;
            match prepared {
                Ok(prepared) => {
                    cut += u64::from(prepared.overlay_id.is_some());
                    let tokens = prepared.messages.iter().map(estimate).sum::<u64>();
                    assert_eq!(prepared.tokens, tokens + call.extra_tokens);
                    assert!(prepared.tokens <= limit);
                }
                Err(error) => {
                    limited += 1;
                    assert!(matches!(error, Error::Limited { .. }), "{error}");
                    assert_eq!(view, before);
                }
            }
            let told = format!("round {round}, {settings:?}, {view:#?}");
            blocks += check(&view, &all, settings.preserve_system == Some(true), &told);
            assert_eq!(chat.archive().await, all, "{told}");
        }
        g045_lifted_one_by_one_all_is_seen_again(&chat, &all).await;
    }
    // Else nothing was tried.
    assert!(cut > place.rounds / 2, "{cut} cuts");
    assert!(blocks > place.rounds / 4, "{blocks} blocks");
    assert!(
        limited > 0 && limited < 2 * place.rounds,
        "{limited} limited"
    );
}

async fn g045_lifted_one_by_one_all_is_seen_again(chat: &Chat, all: &[Message]) {
    for _ in 0..20 {
        if chat.view().await == all {
            return;
        }
        let id = chat.history().overlay_id().await.unwrap().unwrap();
        chat.history().restore(&id).await.unwrap();
    }
    assert_eq!(chat.view().await, all);
}

/// What holds of every view; the answer is how many stand-ins it shows.
fn check(view: &[Message], all: &[Message], preserves: bool, told: &str) -> u64 {
    let shown: BTreeSet<&str> = view.iter().map(|message| message.id.as_str()).collect();
    for (call, result) in bonds(all) {
        let pair = (
            shown.contains(call.as_str()),
            shown.contains(result.as_str()),
        );
        assert_eq!(pair.0, pair.1, "{call} and {result}: {told}");
    }
    let blocks = view
        .iter()
        .filter(|message| message.extras.contains_key("stands_for"));
    let blocks = blocks.count() as u64;
    assert!(blocks <= 1, "{told}");
    let left: Vec<&Message> = all
        .iter()
        .filter(|message| shown.contains(message.id.as_str()))
        .collect();
    let kept: Vec<&Message> = view
        .iter()
        .filter(|message| !message.extras.contains_key("stands_for"))
        .collect();
    assert_eq!(kept, left, "{told}");
    let is_newest_shown = all
        .last()
        .is_none_or(|last| shown.contains(last.id.as_str()) || last.is_instruction());
    assert!(is_newest_shown, "{told}");
    let preserved = all
        .iter()
        .filter(|message| preserves && message.is_instruction());
    assert!(
        preserved
            .clone()
            .all(|message| shown.contains(message.id.as_str())),
        "{told}"
    );
    blocks
}
