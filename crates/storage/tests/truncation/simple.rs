//! What is cut, what stays, and what cannot fit.

use crate::support::{Chat, call, name, names, said, simple, texts, window};
use crate::{Case, Place};
use ambit_storage::storage::Message;
use ambit_storage::truncation::{
    ContextWindow, ReportedUsage, TruncationRequest, TruncationSettings,
};

pub const CASES: &[Case] = cases![
    instructions_and_the_newest_turns_stay,
    instructions_go_where_they_are_not_preserved,
    more_is_cut_where_what_is_kept_is_still_too_much,
    g045_the_archive_is_whole_and_every_view_can_be_restored,
    a_report_counts_and_what_came_after_it_is_estimated,
    a_report_about_an_earlier_view_counts_no_more,
    g048_what_cannot_fit_is_limited_and_changes_nothing,
    g048_the_window_holds_where_the_threshold_is_larger,
    the_request_is_one_that_every_provider_accepts,
    staged_messages_must_be_saved_first,
    an_empty_history_is_left_alone,
];

fn keeping(keep: usize, threshold: u64) -> TruncationSettings {
    TruncationSettings {
        keep_messages: Some(keep),
        ..simple(threshold)
    }
}

async fn instructions_and_the_newest_turns_stay(place: Place) {
    let chat = Chat::new(&place, keeping(3, 50)).await;
    chat.say(said("sqaqasqaq")).await;
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(names(&chat.texts().await), ["s0", "s5", "q6", "a7", "q8"]);
    assert_eq!(prepared.messages, chat.view().await);
    assert_eq!(prepared.tokens, 50);
    assert_eq!(
        prepared.overlay_id,
        chat.history().overlay_id().await.unwrap()
    );
}

async fn instructions_go_where_they_are_not_preserved(place: Place) {
    let settings = TruncationSettings {
        preserve_system: Some(false),
        ..keeping(3, 50)
    };
    let chat = Chat::new(&place, settings).await;
    chat.say(said("sqaqasqaq")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(names(&chat.texts().await), ["q6", "a7", "q8"]);
}

async fn more_is_cut_where_what_is_kept_is_still_too_much(place: Place) {
    let chat = Chat::new(&place, keeping(10, 49)).await;
    chat.say(said("sqaqaqaq")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(names(&chat.texts().await), ["s0", "q5", "a6", "q7"]);
}

async fn g045_the_archive_is_whole_and_every_view_can_be_restored(place: Place) {
    let chat = Chat::new(&place, keeping(2, 30)).await;
    let (mut all, mut views) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        all.extend(chat.say(said("qaqa")).await);
        views.push(chat.view().await);
        chat.truncate(&TruncationRequest::default()).await.unwrap();
        assert_eq!(names(&chat.texts().await), ["q2", "a3"]);
        assert_eq!(chat.archive().await, all);
    }
    let history = chat.history();
    for expected in [&all[6..], &all[2..], &all[..]] {
        let id = history.overlay_id().await.unwrap().unwrap();
        history.restore(&id).await.unwrap();
        assert_eq!(chat.view().await, expected);
    }
    assert_eq!(chat.archive().await, all);
}

async fn a_report_counts_and_what_came_after_it_is_estimated(place: Place) {
    let chat = Chat::new(&place, keeping(10, 1_000)).await;
    let said = chat.say(said("qaqaqa")).await;
    let reported = |tokens| TruncationRequest {
        reported: Some(ReportedUsage {
            tokens,
            through: said[3].id.clone(),
        }),
        ..TruncationRequest::default()
    };
    let prepared = chat.truncate(&reported(0)).await.unwrap();
    assert_eq!((prepared.tokens, prepared.messages.len()), (60, 6));
    let prepared = chat.truncate(&reported(980)).await.unwrap();
    assert_eq!((prepared.tokens, prepared.messages.len()), (1_000, 6));
    // 1,020 for six equal messages: 170 each, and five would be 850, but a turn of two goes.
    let prepared = chat.truncate(&reported(1_000)).await.unwrap();
    assert_eq!((prepared.tokens, prepared.messages.len()), (680, 4));
}

async fn a_report_about_an_earlier_view_counts_no_more(place: Place) {
    let chat = Chat::new(&place, keeping(10, 45)).await;
    let said = chat.say(said("qaqaqa")).await;
    let call = TruncationRequest {
        reported: Some(ReportedUsage {
            tokens: 60,
            through: said[5].id.clone(),
        }),
        ..TruncationRequest::default()
    };
    let first = chat.truncate(&call).await.unwrap();
    assert_eq!((first.tokens, first.messages.len()), (40, 4));
    let second = chat.truncate(&call).await.unwrap();
    assert_eq!((second.tokens, second.overlay_id), (40, None));
    let id = chat.history().overlay_id().await.unwrap().unwrap();
    chat.history().restore(&id).await.unwrap();
    let small = TruncationRequest {
        reported: Some(ReportedUsage {
            tokens: 1,
            through: said[5].id.clone(),
        }),
        ..TruncationRequest::default()
    };
    assert_eq!(chat.truncate(&small).await.unwrap().tokens, 40);
}

async fn g048_what_cannot_fit_is_limited_and_changes_nothing(place: Place) {
    for settings in [TruncationSettings::default(), simple(50)] {
        let chat = Chat::new(&place, settings).await;
        chat.history().clear().await.unwrap();
        chat.say(said("qaqa")).await;
        chat.say([Message::user("x".repeat(1_000))]).await;
        let view = chat.view().await;
        let call = TruncationRequest {
            window: Some(ContextWindow {
                tokens: 300,
                reserve: 50,
            }),
            ..TruncationRequest::default()
        };
        let error = chat.truncate(&call).await.unwrap_err();
        assert_eq!(error.to_string(), "request exceeds 250 tokens");
        assert_eq!(chat.view().await, view);
        assert_eq!(chat.history().overlay_id().await.unwrap(), None);
    }
}

async fn g048_the_window_holds_where_the_threshold_is_larger(place: Place) {
    let chat = Chat::new(&place, keeping(10, 1_000)).await;
    chat.say(said("qaqaqa")).await;
    let prepared = chat.truncate(&window(45)).await.unwrap();
    assert_eq!((prepared.tokens, prepared.messages.len()), (40, 4));
    // A fallback provider with a smaller window.
    let prepared = chat.truncate(&window(20)).await.unwrap();
    assert_eq!((prepared.tokens, prepared.messages.len()), (20, 2));
}

async fn the_request_is_one_that_every_provider_accepts(place: Place) {
    let chat = Chat::new(&place, keeping(4, 30)).await;
    chat.say(said("qaq")).await;
    chat.say([call("a"), Message::result("a", "found")]).await;
    chat.say([Message::result("gone", "late"), call("open")])
        .await;
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    let sent: Vec<(String, Option<String>)> = prepared
        .messages
        .iter()
        .map(|message| {
            let result = message.tool_result.as_ref();
            let id = result.map(|result| result.call_id.clone());
            (name(&message.text()).to_owned(), id)
        })
        .collect();
    let nothing = String::new;
    let expected = [
        ("q2".to_owned(), None),
        (nothing(), None),
        (nothing(), Some("open".to_owned())),
    ];
    assert_eq!(sent, expected);
}

async fn staged_messages_must_be_saved_first(place: Place) {
    let chat = Chat::new(&place, simple(50)).await;
    chat.history()
        .add_message(Message::user("q"))
        .await
        .unwrap();
    let error = chat
        .truncate(&TruncationRequest::default())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "history has staged changes; save them before the model is called"
    );
    chat.history().discard();
}

async fn an_empty_history_is_left_alone(place: Place) {
    let chat = Chat::new(&place, simple(1)).await;
    let call = TruncationRequest {
        extra_tokens: 100,
        ..TruncationRequest::default()
    };
    let prepared = chat.truncate(&call).await.unwrap();
    assert_eq!(texts(&prepared.messages), Vec::<String>::new());
    assert_eq!(prepared.overlay_id, None);
}
