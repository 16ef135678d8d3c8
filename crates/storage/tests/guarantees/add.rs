//! Adding: beside a running turn, in interleaved sessions, and through part of a view.

use crate::bed::{Bed, Case, chat, heard, say};
use ambit_storage::LiveAgent;
use ambit_storage::batch::Batch;
use ambit_storage::event::MessageAdded;
use ambit_storage::lease::OnBusy;
use ambit_storage::storage::Message;
use std::sync::{Arc, Mutex};
use tokio::sync::Barrier;

pub const CASES: &[Case] = cases![
    g010_an_append_beside_a_turn_succeeds_and_is_seen_by_its_next_read,
    what_is_added_in_a_turn_is_told_as_the_turns,
    g013_interleaved_sessions_never_see_each_others_identity,
    g050_adding_after_reading_part_of_a_view_keeps_the_rest,
    g050_adding_behind_a_shortened_view_keeps_the_archive,
    an_edited_message_is_shown_in_place_of_the_one_with_its_id,
    the_end_of_a_history_is_what_the_whole_of_it_ends_with,
];

async fn g010_an_append_beside_a_turn_succeeds_and_is_seen_by_its_next_read(bed: Bed) {
    let ambit = bed.ambit();
    let turn = chat(&ambit, "c", &["first"]).await;
    turn.context().begin_turn(OnBusy::Reject).await.unwrap();
    turn.history()
        .add_message(Message::assistant("half"))
        .await
        .unwrap();
    turn.context().save().await.unwrap();
    chat(&bed.ambit(), "c", &["beside"]).await;
    assert_eq!(heard(&turn).await, ["first", "half", "beside"]);
    turn.history()
        .add_message(Message::assistant("whole"))
        .await
        .unwrap();
    turn.context().save().await.unwrap();
    turn.context().end_turn().await.unwrap();
    assert_eq!(heard(&turn).await, ["first", "half", "beside", "whole"]);
}

async fn what_is_added_in_a_turn_is_told_as_the_turns(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &["before"]).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    ambit.after(move |event: Arc<MessageAdded>| {
        heard.lock().unwrap().push(event.about.turn_id.clone());
        Box::pin(async { Ok(()) })
    });
    let context = agent.context();
    for turn in ["one", "two"] {
        context.begin_turn(OnBusy::Reject).await.unwrap();
        context.set_turn_id(turn);
        let text = Message::assistant("within");
        agent.history().add_message(text).await.unwrap();
        context.save_and_end_turn(Batch::default()).await.unwrap();
        say(&agent, &["behind"]).await;
    }
    let turns = ["one", "two"].map(|turn| [Some(turn.to_owned()), None]);
    assert_eq!(*told.lock().unwrap(), turns.concat());
}

async fn g013_interleaved_sessions_never_see_each_others_identity(bed: Bed) {
    let ambit = bed.ambit();
    let turns = Arc::new(Barrier::new(2));
    let session = |user: &'static str| {
        let (ambit, turns) = (ambit.clone(), turns.clone());
        async move {
            let support = ambit.agent("Support").unwrap();
            let agent = support.for_user_id(user).chat("same").await.unwrap();
            for round in 0..5 {
                turns.wait().await;
                let text = format!("{user} {round}");
                agent
                    .history()
                    .add_message(Message::user(text))
                    .await
                    .unwrap();
                turns.wait().await;
                agent.context().save().await.unwrap();
                let memory = agent.context().memory().unwrap();
                memory.set("who", &user, None).await.unwrap();
                turns.wait().await;
                let who = memory.get("who").await.unwrap().unwrap();
                assert_eq!(who.to::<String>().unwrap(), user);
                assert_eq!(agent.context().identity().user_id(), Some(user));
            }
            heard(&agent).await
        }
    };
    // Both run on one task.
    let (ann, bob) = tokio::join!(session("ann"), session("bob"));
    let expected = |user| {
        (0..5)
            .map(|round| format!("{user} {round}"))
            .collect::<Vec<_>>()
    };
    assert_eq!((ann, bob), (expected("ann"), expected("bob")));
}

async fn g050_adding_after_reading_part_of_a_view_keeps_the_rest(bed: Bed) {
    let ambit = bed.ambit();
    chat(&ambit, "c", &["1", "2", "3", "4", "5"]).await;
    let agent = ambit.agent("Support").unwrap().for_chat("c").await.unwrap();
    let history = agent.history();
    assert_eq!(history.tail(2).await.unwrap().len(), 2);
    say(&agent, &["6"]).await;
    assert_eq!(history.range(1, 2).await.unwrap().len(), 2);
    say(&agent, &["7"]).await;
    assert_eq!(history.archive(3, 1).await.unwrap().len(), 1);
    agent.context().read().await.unwrap();
    say(&agent, &["8"]).await;
    assert_eq!(
        heard(&agent).await,
        ["1", "2", "3", "4", "5", "6", "7", "8"]
    );
}

async fn g050_adding_behind_a_shortened_view_keeps_the_archive(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &["1", "2", "3", "4"]).await;
    let last = agent.history().tail(1).await.unwrap();
    agent.history().replace_messages(last).await.unwrap();
    agent.context().save().await.unwrap();
    let again = chat(&ambit, "c", &["5"]).await;
    assert_eq!(heard(&again).await, ["4", "5"]);
    let archive = again.history().archive(1, 10).await.unwrap();
    let texts: Vec<String> = archive.iter().map(Message::text).collect();
    assert_eq!(texts, ["1", "2", "3", "4", "5"]);
    let overlay = again.history().overlay_id().await.unwrap().unwrap();
    again.history().restore(&overlay).await.unwrap();
    assert_eq!(heard(&again).await, ["1", "2", "3", "4", "5"]);
}

async fn an_edited_message_is_shown_in_place_of_the_one_with_its_id(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &["1", "wrong", "3"]).await;
    let mut messages = agent.history().messages().await.unwrap();
    let id = messages[1].id.clone();
    messages[1].parts = Message::user("2").parts;
    agent.history().replace_messages(messages).await.unwrap();
    agent.context().save().await.unwrap();
    assert_eq!(heard(&agent).await, ["1", "2", "3"]);
    // One that was taken out of the view comes back.
    assert!(agent.history().remove_message(&id).await.unwrap());
    agent.context().save().await.unwrap();
    assert_eq!(heard(&agent).await, ["1", "3"]);
    let mut messages = agent.history().messages().await.unwrap();
    let again = Message {
        id: id.clone(),
        ..Message::user("2")
    };
    messages.insert(1, again);
    agent.history().replace_messages(messages).await.unwrap();
    agent.context().save().await.unwrap();
    assert_eq!(heard(&chat(&ambit, "c", &[]).await).await, ["1", "2", "3"]);
    // Every body that it ever had goes with it.
    assert_eq!(agent.history().erase(&[&id]).await.unwrap(), 3);
    let archive = agent.history().archive(1, 10).await.unwrap();
    let texts: Vec<String> = archive.iter().map(Message::text).collect();
    assert_eq!(texts, ["1", "", "3", "", ""]);
}

/// The last messages, however many are asked for, are those of the whole view; staged ones are among them.
async fn check_ends(agent: &LiveAgent) {
    for count in 0..2 {
        let whole = heard(agent).await;
        for limit in [0, 1, 2, 3, 5, 20, 2_000] {
            let end = agent.history().tail(limit).await.unwrap();
            let end: Vec<String> = end.iter().map(Message::text).collect();
            assert_eq!(
                end,
                whole[whole.len().saturating_sub(limit)..],
                "{count} {limit}"
            );
        }
        let staged = Message::user("staged");
        agent.history().add_message(staged).await.unwrap();
    }
    agent.context().discard();
}

async fn the_end_of_a_history_is_what_the_whole_of_it_ends_with(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &["1", "2", "3", "4", "5", "6"]).await;
    let history = agent.history();
    check_ends(&agent).await;
    let last = history.last_message().await.unwrap().unwrap();
    assert!(history.remove_message(&last.id).await.unwrap());
    agent.context().save().await.unwrap();
    check_ends(&agent).await;
    let mut messages = history.messages().await.unwrap();
    messages[2].parts = Message::user("other").parts;
    history.replace_messages(messages).await.unwrap();
    agent.context().save().await.unwrap();
    check_ends(&agent).await;
    let mut messages = history.messages().await.unwrap();
    messages.swap(0, 3);
    history.replace_messages(messages).await.unwrap();
    agent.context().save().await.unwrap();
    check_ends(&agent).await;
    check_ends(&chat(&ambit, "c", &["7", "8"]).await).await;
    agent.context().clear().await.unwrap();
    agent.context().save().await.unwrap();
    check_ends(&agent).await;
}
