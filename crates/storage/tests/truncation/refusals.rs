//! Summaries that are no good leave the view as it is, and are reported.

use crate::support::{Chat, Scripted, Step, names, said, texts, window};
use crate::{Case, Place};
use ambit_storage::truncation::{
    SummaryTruncation, SymbolTruncation, TruncationRequest, TruncationSettings, TruncationStrategy,
};
use std::sync::Arc;

pub const CASES: &[Case] = cases![
    g046_a_bad_summary_leaves_the_view_and_is_reported,
    g046_simple_is_used_for_this_call_if_the_request_would_not_fit,
    g046_a_dropped_truncation_leaves_the_view,
    lines_must_be_one_for_each_exchange,
];

fn by(strategy: impl TruncationStrategy + 'static) -> TruncationSettings {
    TruncationSettings {
        strategy: Some(Arc::new(strategy)),
        threshold: Some(40),
        buffer: Some(0.0),
        keep_messages: Some(2),
        ..TruncationSettings::default()
    }
}

/// The steps that make a bad summary of 60 tokens, and what is said about each.
fn bad() -> Vec<(Step, &'static str)> {
    vec![
        (
            Step::Say(String::new()),
            "the stand-in by summarise is empty",
        ),
        (
            Step::Say(" \n\t".into()),
            "the stand-in by summarise is empty",
        ),
        (
            Step::Say("x".repeat(400)),
            "the stand-in by summarise is longer than its source (112 tokens for 60)",
        ),
        (Step::Fail, "the summariser is unavailable"),
        (
            Step::Panic,
            "internal error: the truncation strategy summarise panicked",
        ),
    ]
}

async fn g046_a_bad_summary_leaves_the_view_and_is_reported(place: Place) {
    let script = Scripted::says([]);
    let chat = Chat::new(&place, by(SummaryTruncation::new(script.clone()))).await;
    let all = chat.say(said("qaqaqaqa")).await;
    for (step, expected) in bad() {
        script.then(step);
        let heard = chat.listen();
        let prepared = chat.truncate(&window(80)).await.unwrap();
        assert_eq!(heard.words(), [format!("summarise: {expected}")]);
        assert_eq!(prepared.refused.unwrap().to_string(), expected);
        assert_eq!(prepared.messages, all);
        assert!(!prepared.is_for_this_call);
        assert_eq!(chat.view().await, all);
        assert_eq!(chat.history().overlay_id().await.unwrap(), None);
    }
}

async fn g046_simple_is_used_for_this_call_if_the_request_would_not_fit(place: Place) {
    let script = Scripted::says([Step::Fail]);
    let chat = Chat::new(&place, by(SummaryTruncation::new(script.clone()))).await;
    let all = chat.say(said("qaqaqaqa")).await;
    let prepared = chat.truncate(&window(70)).await.unwrap();
    assert_eq!(names(&texts(&prepared.messages)), ["q6", "a7"]);
    assert!(prepared.is_for_this_call);
    assert_eq!(chat.view().await, all);
    // The next call's summary is made of all of it.
    let prepared = chat.truncate(&window(70)).await.unwrap();
    assert_eq!(script.asked()[1].0.exchanges.len(), 3);
    assert!(!prepared.is_for_this_call);
    assert_eq!(chat.view().await.len(), 3);
}

async fn g046_a_dropped_truncation_leaves_the_view(place: Place) {
    let script = Scripted::says([Step::Meanwhile(
        Box::pin(std::future::pending()),
        "never".into(),
    )]);
    let chat = Chat::new(&place, by(SummaryTruncation::new(script.clone()))).await;
    let all = chat.say(said("qaqaqaqa")).await;
    let asked = async {
        while script.asked().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let call = TruncationRequest::default();
    tokio::select! {
        _ = chat.truncate(&call) => panic!("a summary that never comes"),
        () = asked => {}
    }
    assert_eq!(chat.view().await, all);
    chat.truncate(&call).await.unwrap();
    assert_eq!(chat.view().await.len(), 3);
}

async fn lines_must_be_one_for_each_exchange(place: Place) {
    let script = Scripted::says([Step::Say("one\ntwo".into())]);
    let chat = Chat::new(&place, by(SymbolTruncation::new(script))).await;
    let all = chat.say(said("qaqaqaqa")).await;
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(
        prepared.refused.unwrap().to_string(),
        "lines must be one for each exchange: 2 came for 3"
    );
    assert_eq!(chat.view().await, all);
}
