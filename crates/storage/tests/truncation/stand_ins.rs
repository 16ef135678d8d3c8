//! Summaries and symbols: one block, of what it says it was made from.

use crate::support::{Chat, Scripted, Step, names, said, texts};
use crate::{Case, Place};
use ambit_storage::storage::{Message, Role, UsageRecord, UsageStorage};
use ambit_storage::truncation::{
    SummaryForm, SummaryTruncation, SymbolTruncation, TruncationRequest, TruncationSettings,
    TruncationStrategy,
};
use serde_json::json;
use std::num::NonZeroUsize;
use std::sync::Arc;

pub const CASES: &[Case] = cases![
    a_summary_stands_behind_the_instructions,
    g047_a_later_summary_replaces_the_earlier_and_covers_its_range,
    g047_symbols_replace_a_summary,
    a_line_stands_for_each_exchange_in_batches,
    the_oldest_lines_go_where_there_is_no_room,
    a_summary_that_leaves_too_little_room_is_made_of_more,
    what_a_summary_costs_is_booked_on_the_session,
    an_erased_message_takes_the_summary_of_it_along,
    a_lifted_summary_shows_the_originals,
];

fn by(strategy: impl TruncationStrategy + 'static, threshold: u64) -> TruncationSettings {
    TruncationSettings {
        strategy: Some(Arc::new(strategy)),
        threshold: Some(threshold),
        buffer: Some(0.0),
        keep_messages: Some(2),
        ..TruncationSettings::default()
    }
}

fn summary(script: &Arc<Scripted>) -> TruncationSettings {
    by(SummaryTruncation::new(script.clone()), 60)
}

fn block(text: &str, strategy: &str, from: &serde_json::Value) -> Message {
    let mut message = Message::user(format!("Earlier in this conversation:\n{text}"));
    let record = json!({"strategy": strategy, "made_from": from});
    message.extras.insert("stands_for".to_owned(), record);
    message
}

/// The message as it was before it got an id.
fn bare(message: &Message) -> Message {
    let mut message = message.clone();
    message.id.clear();
    message.created_at = 0;
    message
}

async fn a_summary_stands_behind_the_instructions(place: Place) {
    let script = Scripted::says([]);
    let chat = Chat::new(&place, summary(&script)).await;
    chat.say(said("sqaqaqaq")).await;
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    let view = chat.view().await;
    assert_eq!(
        bare(&view[1]),
        block("summary", "summarise", &json!([[2, 7]]))
    );
    let texts = texts(&view);
    assert_eq!(names(&texts[2..]), ["q7"]);
    assert_eq!(prepared.messages, view);
    let (source, form) = script.asked().remove(0);
    assert_eq!(form, SummaryForm::Text);
    assert_eq!(source.previous, None);
    let lengths: Vec<usize> = source.exchanges.iter().map(Vec::len).collect();
    assert_eq!(lengths, [2, 2, 2]);
}

async fn g047_a_later_summary_replaces_the_earlier_and_covers_its_range(place: Place) {
    let script = Scripted::says([Step::Say("one".into()), Step::Say("two".into())]);
    let chat = Chat::new(&place, summary(&script)).await;
    let mut all = Vec::new();
    for (round, end) in [6, 10, 14, 18].into_iter().enumerate() {
        all.extend(chat.say(said(["qaqaqaqa", "qaqa"][round.min(1)])).await);
        chat.truncate(&TruncationRequest::default()).await.unwrap();
        let view = chat.view().await;
        let text = ["one", "two", "summary", "summary"][round];
        assert_eq!(bare(&view[0]), block(text, "summarise", &json!([[1, end]])));
        assert_eq!(view[1..], all[all.len() - 2..]);
    }
    let previous: Vec<Option<String>> = script
        .asked()
        .into_iter()
        .map(|(source, _)| source.previous)
        .collect();
    let expected = [None, Some("one"), Some("two"), Some("summary")];
    assert_eq!(previous, expected.map(|text| text.map(str::to_owned)));
    assert_eq!(chat.archive().await, all);
}

async fn g047_symbols_replace_a_summary(place: Place) {
    let script = Scripted::says([Step::Say("sum".into()), Step::Say("one\ntwo".into())]);
    let chat = Chat::new(&place, summary(&script)).await;
    chat.say(said("qaqaqaqa")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    let symbols = Chat::new(&place, by(SymbolTruncation::new(script.clone()), 60)).await;
    symbols.say(said("qaqa")).await;
    symbols
        .truncate(&TruncationRequest::default())
        .await
        .unwrap();
    let view = symbols.view().await;
    let expected = block("sum\none\ntwo", "symbolise", &json!([[1, 10]]));
    assert_eq!(bare(&view[0]), expected);
    assert_eq!(view.len(), 3);
}

async fn a_line_stands_for_each_exchange_in_batches(place: Place) {
    let script = Scripted::says([
        Step::Say("1\n\n 2 \n".into()),
        Step::Say("3\n4".into()),
        Step::Say("5".into()),
    ]);
    let symbols =
        SymbolTruncation::new(script.clone()).in_batches_of(NonZeroUsize::new(2).unwrap());
    let chat = Chat::new(&place, by(symbols, 100)).await;
    chat.say(said("qaqaqaqaqaqa")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    let view = chat.view().await;
    let expected = block("1\n2\n3\n4\n5", "symbolise", &json!([[1, 10]]));
    assert_eq!(bare(&view[0]), expected);
    let sizes: Vec<(usize, SummaryForm)> = script
        .asked()
        .iter()
        .map(|(source, form)| (source.exchanges.len(), *form))
        .collect();
    assert_eq!(
        sizes,
        [
            (2, SummaryForm::Lines),
            (2, SummaryForm::Lines),
            (1, SummaryForm::Lines)
        ]
    );
}

async fn the_oldest_lines_go_where_there_is_no_room(place: Place) {
    let lines = ["first", "second", "third", "fourth", "fifth"];
    let long = lines.map(|line| format!("{line:-<40}"));
    let script = Scripted::says([Step::Say(long.join("\n"))]);
    let chat = Chat::new(&place, by(SymbolTruncation::new(script.clone()), 65)).await;
    chat.say(said("qaqaqaqaqaqa")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    let text = chat.view().await[0].text();
    let left: Vec<&str> = text.lines().skip(1).map(crate::support::name).collect();
    // 65 tokens less 20 for what is kept are room for three lines of 14.
    assert_eq!(left, ["third", "fourth", "fifth"]);
}

async fn a_summary_that_leaves_too_little_room_is_made_of_more(place: Place) {
    let script = Scripted::says([Step::Say("x".repeat(120)), Step::Say("x".repeat(120))]);
    let settings = TruncationSettings {
        keep_messages: Some(10),
        ..by(SummaryTruncation::new(script.clone()), 80)
    };
    let chat = Chat::new(&place, settings).await;
    chat.say(said("qaqaqaqaqaqa")).await;
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    let sizes: Vec<usize> = script
        .asked()
        .iter()
        .map(|(source, _)| source.exchanges.len())
        .collect();
    // Three turns of 20 tokens would stay; beside a summary of 42, one does.
    assert_eq!(sizes, [3, 5]);
    assert_eq!(prepared.messages.len(), 3);
    assert!(prepared.tokens <= 80, "{}", prepared.tokens);
}

async fn what_a_summary_costs_is_booked_on_the_session(place: Place) {
    let script = Scripted::says([Step::Say("sum".into()), Step::Fail]);
    let chat = Chat::new(&place, summary(&script)).await;
    for round in 1..=2 {
        chat.say(said("qaqaqaqa")).await;
        chat.truncate(&TruncationRequest::default()).await.unwrap();
        // Durable already: another handle sees it.
        let other = Chat::new(&place, TruncationSettings::default()).await;
        let usage: UsageStorage = other.agent.context().usage();
        let records: Vec<UsageRecord> = usage.records().await.unwrap();
        let totals: Vec<Option<i64>> = records.iter().map(|record| record.total_tokens).collect();
        assert_eq!(totals, vec![Some(5); round]);
        assert_eq!(records[0].chat_name.as_deref(), Some("chat"));
    }
}

async fn an_erased_message_takes_the_summary_of_it_along(place: Place) {
    let script = Scripted::says([Step::Say("they said: secret".into())]);
    let chat = Chat::new(&place, summary(&script)).await;
    let said = chat.say(said("qaqaqaqa")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    chat.history().erase(&[&said[1].id]).await.unwrap();
    let view = chat.view().await;
    assert_eq!((view[0].text(), view.len()), (String::new(), 3));
    // The next summary is not made from what it no longer says.
    chat.say(crate::support::said("qaqaqa")).await;
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(prepared.refused.map(|error| error.to_string()), None);
    let (source, _) = script.asked().pop().unwrap();
    assert_eq!(source.previous, None);
}

async fn a_lifted_summary_shows_the_originals(place: Place) {
    let script = Scripted::says([]);
    let chat = Chat::new(&place, summary(&script)).await;
    let mut all = chat.say(said("qaqaqaqa")).await;
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    all.extend(chat.say(said("q")).await);
    let id = prepared.overlay_id.unwrap();
    chat.history().restore(&id).await.unwrap();
    assert_eq!(chat.view().await, all);
    assert_eq!(all[0].role, Role::User);
}
