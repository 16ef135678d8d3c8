//! Messages that are amended while their turn goes on.

use crate::bed::{Bed, Case, chat, heard};
use crate::dump::forgets;
use ambit_storage::LiveAgent;
use ambit_storage::storage::{INLINE, Message};

pub const CASES: &[Case] = cases![
    an_amended_message_keeps_its_place_and_leaves_nothing_of_what_it_was,
    messages_of_other_turns_and_erased_ones_are_not_amended,
];

/// A chat with these messages, each with the turn that it is of.
async fn turns(bed: &Bed, messages: &[(&str, &str)]) -> LiveAgent {
    let agent = chat(&bed.ambit(), "c", &[]).await;
    for (turn, text) in messages {
        let mut message = Message::assistant(*text);
        message.turn_id = Some((*turn).to_owned());
        agent.history().add_message(message).await.unwrap();
    }
    agent.context().save().await.unwrap();
    agent
}

/// Gives every message of the turn this text.
async fn rewrite(agent: &LiveAgent, turn: &str, text: &str) -> u64 {
    let change = |before: &Message| {
        let mut message = Message::assistant(text);
        message.id.clone_from(&before.id);
        message.turn_id.clone_from(&before.turn_id);
        Some(message)
    };
    agent.history().amend(turn, change).await.unwrap()
}

async fn an_amended_message_keeps_its_place_and_leaves_nothing_of_what_it_was(bed: Bed) {
    let (small, large) = ("former".to_owned(), "sizeable ".repeat(INLINE / 8));
    for (before, after) in [
        (&small, &large),
        (&large, &small),
        (&small, &"new".to_owned()),
    ] {
        let agent = turns(&bed, &[("t1", "first"), ("t2", before), ("t3", "last")]).await;
        assert_eq!(rewrite(&agent, "t2", after).await, 1);
        assert_eq!(heard(&agent).await, ["first", after.as_str(), "last"]);
        assert_eq!(
            agent.history().archive(2, 1).await.unwrap()[0].text(),
            *after
        );
        let word = &before[..6];
        assert!(forgets(&bed, word).await, "{word}");
        agent.context().remove().await.unwrap();
    }
}

async fn messages_of_other_turns_and_erased_ones_are_not_amended(bed: Bed) {
    let said = [("t1", "one"), ("t2", "two"), ("t2", "three")];
    let agent = turns(&bed, &said).await;
    let erased = agent.history().messages().await.unwrap()[1].id.clone();
    agent.history().erase(&[&erased]).await.unwrap();
    assert_eq!(rewrite(&agent, "t2", "new").await, 1);
    assert_eq!(rewrite(&agent, "t4", "new").await, 0);
    assert_eq!(heard(&agent).await, ["one", "", "new"]);
}
