//! What happens to a conversation while a summary of it is being made.

use crate::support::{Chat, Scripted, Step, call, names, said, texts, window};
use crate::{Case, Place};
use ambit_storage::address::{DEFAULT_TENANT, ITEMS, OVERLAYS, Space};
use ambit_storage::conformance::{FaultKind, FlakyDriver};
use ambit_storage::directory::{PageRequest, RowFilter, RowOrder};
use ambit_storage::driver::LogRange;
use ambit_storage::lease::OnBusy;
use ambit_storage::storage::Message;
use ambit_storage::truncation::{SummaryTruncation, TruncationRequest, TruncationSettings};
use futures::future::BoxFuture;
use std::sync::Arc;

pub const CASES: &[Case] = cases![
    g009_appends_during_a_compaction_are_all_in_the_view,
    g009_a_clear_during_a_compaction_refuses_it,
    g009_a_replace_during_a_compaction_refuses_it,
    g009_of_two_compactions_at_once_one_is_refused,
    g044_a_result_that_comes_for_a_call_being_cut_refuses_the_cut,
    g044_a_call_whose_result_is_still_to_come_stays_in_the_view,
    g069_what_is_erased_during_a_compaction_does_not_come_back,
    g069_a_replace_of_what_was_erased_meanwhile_is_refused,
    what_came_meanwhile_is_in_the_request_or_makes_for_another_cut,
    a_turn_whose_lease_has_passed_on_shortens_nothing,
    a_write_that_fails_leaves_the_view,
    a_read_that_fails_is_no_empty_history,
    a_temporary_session_is_shortened_and_leaves_nothing_in_the_store,
];

/// A conversation of 80 tokens, and a script in which this happens while its summary is made.
async fn meanwhile(
    place: &Place,
    work: impl FnOnce(Chat) -> BoxFuture<'static, ()>,
) -> (Chat, Vec<Message>) {
    let other = Chat::new(place, TruncationSettings::default()).await;
    let step = Step::Meanwhile(work(other), "summary".into());
    let settings = TruncationSettings {
        strategy: Some(Arc::new(SummaryTruncation::new(Scripted::says([step])))),
        threshold: Some(60),
        buffer: Some(0.0),
        keep_messages: Some(2),
        ..TruncationSettings::default()
    };
    let chat = Chat::new(place, settings).await;
    let all = chat.say(said("qaqaqaqa")).await;
    (chat, all)
}

async fn refusal(chat: &Chat) -> String {
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    let view = ambit_storage::storage::for_model(&chat.view().await);
    assert_eq!(prepared.messages, view);
    assert_eq!(prepared.overlay_id, None);
    prepared.refused.unwrap().to_string()
}

async fn g009_appends_during_a_compaction_are_all_in_the_view(place: Place) {
    let (chat, all) = meanwhile(&place, |other| {
        Box::pin(async move {
            other.say([Message::user("while")]).await;
            other
                .say([Message::user("at"), Message::user("work")])
                .await;
        })
    })
    .await;
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    let view = chat.view().await;
    assert_eq!(view[1..3], all[6..]);
    assert_eq!(texts(&view[3..]), ["while", "at", "work"]);
    assert_eq!(prepared.messages, view);
    assert_eq!(chat.archive().await.len(), 11);
}

async fn g009_a_clear_during_a_compaction_refuses_it(place: Place) {
    let (chat, _) = meanwhile(&place, |other| {
        Box::pin(async move {
            other.agent.clear().await.unwrap();
            other.say(said("qaqaqaqaqa")).await;
        })
    })
    .await;
    let refusal = refusal(&chat).await;
    assert!(refusal.contains("changed since it was read"), "{refusal}");
    assert_eq!(chat.view().await.len(), 10);
}

async fn g009_a_replace_during_a_compaction_refuses_it(place: Place) {
    let (chat, all) = meanwhile(&place, |other| {
        Box::pin(async move {
            let mut view = other.view().await;
            view.truncate(7);
            other.history().replace_messages(view).await.unwrap();
            other.agent.context().save().await.unwrap();
        })
    })
    .await;
    let refusal = refusal(&chat).await;
    assert!(refusal.contains("changed since it was read"), "{refusal}");
    assert_eq!(chat.view().await, all[..7]);
}

async fn g009_of_two_compactions_at_once_one_is_refused(place: Place) {
    let (chat, _) = meanwhile(&place, |other| {
        Box::pin(async move {
            let settings = crate::support::simple(20);
            let call = TruncationRequest {
                settings,
                ..TruncationRequest::default()
            };
            other.truncate(&call).await.unwrap();
        })
    })
    .await;
    let refusal = refusal(&chat).await;
    assert!(refusal.contains("changed since it was read"), "{refusal}");
    assert_eq!(names(&chat.texts().await), ["q6", "a7"]);
}

async fn g044_a_result_that_comes_for_a_call_being_cut_refuses_the_cut(place: Place) {
    let (chat, _) = meanwhile(&place, |other| {
        Box::pin(async move {
            other.say([Message::result("old", "again")]).await;
        })
    })
    .await;
    chat.agent.clear().await.unwrap();
    chat.say([Message::user("x".repeat(200)), call("old")])
        .await;
    chat.say([Message::result("old", "once")]).await;
    chat.say(said("qaqa")).await;
    let refusal = refusal(&chat).await;
    assert!(
        refusal.contains("expected no result of call old"),
        "{refusal}"
    );
    assert_eq!(chat.view().await.len(), 8);
}

async fn g044_a_call_whose_result_is_still_to_come_stays_in_the_view(place: Place) {
    let (chat, _) = meanwhile(&place, |_other| Box::pin(async {})).await;
    chat.agent.clear().await.unwrap();
    chat.say([Message::user("x".repeat(200)), call("old")])
        .await;
    chat.say(said("qaqa")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    chat.say([Message::result("old", "at last")]).await;
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    let view = chat.view().await;
    assert_eq!(texts(&view[3..4]), ["a3----------------------"]);
    assert_eq!(view[1].tool_calls[0].id, "old");
    assert_eq!(prepared.messages[2], view[4]);
}

async fn g069_what_is_erased_during_a_compaction_does_not_come_back(place: Place) {
    let (chat, all) = meanwhile(&place, |other| {
        Box::pin(async move {
            let first = other.view().await.remove(0);
            other.history().erase(&[&first.id]).await.unwrap();
        })
    })
    .await;
    let refusal = refusal(&chat).await;
    assert!(refusal.contains("changed since it was read"), "{refusal}");
    let view = chat.view().await;
    assert_eq!(view[1..], all[1..]);
    assert_eq!(view[0].text(), "");
}

async fn g069_a_replace_of_what_was_erased_meanwhile_is_refused(place: Place) {
    let chat = Chat::new(&place, TruncationSettings::default()).await;
    let mut all = chat.say(said("qa")).await;
    let first = all[0].id.clone();
    // An edited copy, which is a new message with the old text.
    all[0].id.clear();
    chat.history().replace_messages(all.clone()).await.unwrap();
    let other = Chat::new(&place, TruncationSettings::default()).await;
    other.history().erase(&[&first]).await.unwrap();
    let error = chat.agent.context().save().await.unwrap_err();
    assert!(
        matches!(error, ambit_storage::Error::Conflict { .. }),
        "{error}"
    );
    assert_eq!(texts(&other.view().await)[0], "");
    chat.agent.context().discard();
    // Seen again, it can be replaced.
    let left = chat.view().await.split_off(1);
    chat.history().replace_messages(left.clone()).await.unwrap();
    chat.agent.context().save().await.unwrap();
    assert_eq!(other.view().await, left);
}

async fn a_write_that_fails_leaves_the_view(place: Place) {
    let flaky = Arc::new(FlakyDriver::new(place.driver.clone()));
    let place = Place {
        driver: flaky.clone(),
        ..place
    };
    let chat = Chat::new(&place, crate::support::simple(20)).await;
    let all = chat.say(said("qaqa")).await;
    flaky.fail(FaultKind::Write, 1);
    let error = chat
        .truncate(&TruncationRequest::default())
        .await
        .unwrap_err();
    assert!(
        matches!(error, ambit_storage::Error::Unavailable { .. }),
        "{error}"
    );
    assert_eq!(chat.view().await, all);
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(chat.view().await, all[2..]);
}

async fn a_read_that_fails_is_no_empty_history(place: Place) {
    let flaky = Arc::new(FlakyDriver::new(place.driver.clone()));
    let place = Place {
        driver: flaky.clone(),
        ..place
    };
    let chat = Chat::new(&place, crate::support::simple(20)).await;
    let all = chat.say(said("qaqa")).await;
    flaky.fail(FaultKind::Read, 1);
    let error = chat
        .truncate(&TruncationRequest::default())
        .await
        .unwrap_err();
    assert!(
        matches!(error, ambit_storage::Error::Unavailable { .. }),
        "{error}"
    );
    assert_eq!(chat.view().await, all);
}

async fn a_temporary_session_is_shortened_and_leaves_nothing_in_the_store(place: Place) {
    let chat = Chat::new(&place, crate::support::simple(20)).await;
    let definition = chat.ambit.agent("SupportAgent").unwrap();
    let agent = definition.for_chat("_temp").await.unwrap();
    let chat = Chat {
        ambit: chat.ambit,
        agent,
    };
    let all = chat.say(said("qaqa")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(chat.view().await, all[2..]);
    let tenant = RowFilter::tenant(DEFAULT_TENANT);
    let page = PageRequest {
        order: RowOrder::Oldest,
        after: None,
        limit: 10,
    };
    assert_eq!(place.driver.identities(&tenant, &page).await.unwrap(), []);
    let space = Space::of(DEFAULT_TENANT, chat.history().identity());
    for log in [ITEMS, OVERLAYS] {
        let page = place.driver.read(&space.log(log), LogRange::head()).await;
        assert_eq!(page.unwrap().head, None);
    }
}

async fn what_came_meanwhile_is_in_the_request_or_makes_for_another_cut(place: Place) {
    let (chat, _) = meanwhile(&place, |other| {
        Box::pin(async move {
            other.say(said("qaqaqa")).await;
        })
    })
    .await;
    let prepared = chat.truncate(&window(60)).await.unwrap();
    assert!(prepared.tokens <= 60, "{}", prepared.tokens);
    assert_eq!(names(&texts(&prepared.messages)[1..]), ["q4", "a5"]);
    assert_eq!(prepared.messages, chat.view().await);
}

async fn a_turn_whose_lease_has_passed_on_shortens_nothing(place: Place) {
    let (chat, all) = meanwhile(&place, |other| {
        Box::pin(async move {
            let context = other.agent.context();
            context.begin_turn(OnBusy::Interrupt).await.unwrap();
        })
    })
    .await;
    let context = chat.agent.context();
    context.begin_turn(OnBusy::Reject).await.unwrap();
    let lease = context.lease().unwrap();
    lease.release().await.unwrap();
    let error = chat
        .truncate(&TruncationRequest::default())
        .await
        .unwrap_err();
    assert!(
        matches!(error, ambit_storage::Error::Fenced { .. }),
        "{error}"
    );
    assert_eq!(chat.view().await, all);
}
