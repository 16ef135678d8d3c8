//! What listeners are told, and their veto.

use crate::support::{Chat, Scripted, said, simple};
use crate::{Case, Place};
use ambit_storage::Error;
use ambit_storage::event::{ChatHistoryTruncating, Verdict};
use ambit_storage::truncation::{SummaryTruncation, TruncationRequest, TruncationSettings};
use std::sync::Arc;

pub const CASES: &[Case] = cases![
    a_truncation_is_asked_before_and_told_after,
    a_view_that_does_not_change_fires_nothing,
    a_veto_leaves_the_view,
];

async fn a_truncation_is_asked_before_and_told_after(place: Place) {
    let settings = TruncationSettings {
        strategy: Some(Arc::new(SummaryTruncation::new(Scripted::says([])))),
        ..simple(60)
    };
    let chat = Chat::new(&place, settings).await;
    chat.say(said("sqaqaqaq")).await;
    let heard = chat.listen();
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    // The summary's 37 letters are ten tokens, and four for the frame; the instruction and three messages stay.
    let expected = [
        "truncating summarise (80, 54)",
        "truncated summarise 2..=5 5",
    ];
    assert_eq!(heard.words(), expected);
}

async fn a_view_that_does_not_change_fires_nothing(place: Place) {
    let chat = Chat::new(&place, simple(20)).await;
    chat.say(said("sqa")).await;
    let heard = chat.listen();
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(prepared.messages, chat.view().await);
    assert_eq!(heard.words(), Vec::<String>::new());
}

async fn a_veto_leaves_the_view(place: Place) {
    let chat = Chat::new(&place, simple(40)).await;
    let all = chat.say(said("qaqaqa")).await;
    chat.ambit
        .bus()
        .before(|_event: &mut ChatHistoryTruncating| {
            Box::pin(async { Ok(Verdict::veto("all is evidence")) })
        });
    let error = chat
        .truncate(&TruncationRequest::default())
        .await
        .unwrap_err();
    let expected = "ChatHistoryTruncating was vetoed by listener 1: all is evidence";
    assert_eq!(error.to_string(), expected);
    assert!(matches!(error, Error::Vetoed { .. }));
    assert_eq!(chat.view().await, all);
}
