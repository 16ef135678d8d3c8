//! What a removal leaves: nothing of its own, and everything of others: G65, G69.

use crate::bed::{Bed, Case, Notes, heard, rows, say, spend, with_agents};
use crate::dump::{forgets, keeps};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::event::{IdentityAdding, Verdict};
use ambit_storage::lease::OnBusy;
use ambit_storage::storage::{INLINE, Message};
use ambit_storage::{Ambit, Context, Error, LiveAgent, Usage};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const CASES: &[Case] = cases![
    g065_a_removed_context_leaves_its_siblings_as_they_were,
    g065_a_cleared_context_leaves_its_siblings_as_they_were,
    g069_no_byte_of_a_removed_context_is_left,
    g069_no_byte_of_a_session_removed_in_bulk_is_left,
    g069_no_text_of_a_cleared_context_is_left,
    g069_storages_that_nobody_has_opened_go_along,
    a_session_that_a_turn_holds_is_busy_and_stays_whole,
    a_turn_that_has_removed_its_session_can_go_on,
    g065_what_listeners_have_made_wider_stays,
    a_store_that_is_not_set_up_any_more_hinders_no_clear,
];

/// Everything that a session can have.
async fn fill(agent: &LiveAgent, text: &str) {
    spend(agent, 5);
    let notes = agent.context().storage::<Notes>().await.unwrap();
    notes.add(format!("{text} note")).unwrap();
    let long = format!("{text} ").repeat(INLINE / text.len() + 1);
    say(agent, &[text, &long, "last"]).await;
    let memory = agent.context().memory().unwrap();
    memory
        .set(&format!("{text} key"), &text, None)
        .await
        .unwrap();
    let mut view = agent.history().messages().await.unwrap();
    view.remove(0);
    view.push(Message::assistant(format!("{text} summary")));
    agent.history().replace_messages(view).await.unwrap();
    agent.context().save().await.unwrap();
}

/// The session that is removed, and those that look like it.
async fn sessions(ambit: &Ambit) -> LiveAgent {
    let (support, sales) = (
        ambit.agent("Support").unwrap(),
        ambit.agent("Sales").unwrap(),
    );
    let siblings = [
        support.for_user_id("ann").await.unwrap(),
        support.for_chat("c").await.unwrap(),
        support.for_chat("ann").await.unwrap(),
        support.for_user_id("ann").chat("c2").await.unwrap(),
        support.for_user_id("ann2").chat("c").await.unwrap(),
        support.for_user_id("a%").chat("c").await.unwrap(),
        sales.for_user_id("ann").chat("c").await.unwrap(),
    ];
    for sibling in &siblings {
        fill(sibling, "sibling").await;
    }
    let agent = support.for_user_id("ann").chat("c").await.unwrap();
    fill(&agent, "own").await;
    agent
}

/// What the store has of all others. The sums that lose user and chat are the removal's own doing.
async fn of_others(
    bed: &Bed,
    own: &LiveAgent,
    before: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let space = Space::of(DEFAULT_TENANT, own.context().identity()).path;
    let sums = format!("value {}", Space::usage_sums(DEFAULT_TENANT));
    let mut found = bed.snapshot().await;
    found.retain(|name, _| {
        let is_new_sum = name.starts_with(&sums) && !before.contains_key(name);
        !name.contains(&format!("{space}/")) && !is_new_sum
    });
    found
}

async fn leaves_siblings(bed: &Bed, is_removed: bool) {
    let ambit = bed.ambit();
    let agent = sessions(&ambit).await;
    let all = bed.snapshot().await;
    let own = agent.usage().aggregate().await.unwrap().unwrap();
    let before = of_others(bed, &agent, &all).await;
    if is_removed {
        agent.context().remove().await.unwrap();
    } else {
        agent.context().clear().await.unwrap();
        agent.context().save().await.unwrap();
    }
    let after = of_others(bed, &agent, &all).await;
    let gone: Vec<&String> = before
        .keys()
        .filter(|name| !after.contains_key(*name))
        .collect();
    // The one row of sums that named this chat.
    assert_eq!(gone.len(), 1, "{gone:?}");
    assert!(gone[0].contains("i:usage"), "{gone:?}");
    let changed: Vec<_> = after
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(value))
        .collect();
    assert!(changed.is_empty(), "{changed:?}");
    assert_eq!(
        (
            own.records,
            agent.usage().aggregate().await.unwrap().unwrap().records
        ),
        (1, 0)
    );
    let all = Usage::all(&ambit).aggregate().await.unwrap().unwrap();
    assert_eq!((all.records, all.prompt_tokens), (8, 40));
}

async fn g065_a_removed_context_leaves_its_siblings_as_they_were(bed: Bed) {
    leaves_siblings(&bed, true).await;
}

async fn g065_a_cleared_context_leaves_its_siblings_as_they_were(bed: Bed) {
    leaves_siblings(&bed, false).await;
}

/// A session whose every name and text holds the word `secretive`, with a turn behind it.
async fn secretive(ambit: &Ambit) -> LiveAgent {
    let support = ambit.agent("Support").unwrap();
    let agent = support
        .for_user_id("secretive-user")
        .chat("secretive-chat")
        .await
        .unwrap();
    agent.context().begin_turn(OnBusy::Reject).await.unwrap();
    fill(&agent, "secretive-text").await;
    agent.context().end_turn().await.unwrap();
    agent
}

async fn is_gone(bed: &Bed) {
    let words = [
        "secretive-text",
        "secretive-user",
        "secretive-chat",
        "secretive",
    ];
    for word in words {
        assert!(forgets(bed, word).await, "{word} is kept");
    }
    let all = Usage::all(bed.ambit()).aggregate().await.unwrap().unwrap();
    assert_eq!((all.records, all.prompt_tokens), (1, 5));
}

async fn g069_no_byte_of_a_removed_context_is_left(bed: Bed) {
    let agent = secretive(&bed.ambit()).await;
    assert!(keeps(&bed, "secretive-text").await);
    agent.context().remove().await.unwrap();
    is_gone(&bed).await;
}

async fn g069_no_byte_of_a_session_removed_in_bulk_is_left(bed: Bed) {
    secretive(&bed.ambit()).await;
    assert!(keeps(&bed, "secretive-text").await);
    let query = Context::named(bed.ambit(), "Support").for_user("secretive-user");
    let report = query.remove().await.unwrap();
    assert_eq!((report.done.len(), report.failed), (4, vec![]));
    is_gone(&bed).await;
}

async fn g069_no_text_of_a_cleared_context_is_left(bed: Bed) {
    let agent = secretive(&bed.ambit()).await;
    agent.context().clear().await.unwrap();
    agent.context().save().await.unwrap();
    assert!(forgets(&bed, "secretive-text").await);
    assert_eq!(
        Context::named(bed.ambit(), "Support")
            .count()
            .await
            .unwrap(),
        4
    );
}

/// The chat `c`, opened anew: from the index, or as an agent opens one.
async fn reopened(ambit: &Ambit, is_from_index: bool) -> LiveAgent {
    let support = ambit.agent("Support").unwrap();
    let agent = support.for_chat("c").await.unwrap();
    if !is_from_index {
        return agent;
    }
    let base = agent.context().identity();
    support.from_identity(base).await.unwrap()
}

async fn g069_storages_that_nobody_has_opened_go_along(bed: Bed) {
    let ambit = bed.ambit();
    for is_from_index in [true, false] {
        let first = reopened(&ambit, false).await;
        fill(&first, "own").await;
        let agent = reopened(&ambit, is_from_index).await;
        if is_from_index {
            assert_eq!(agent.context().names(), ["chatHistory", "usage", "notes"]);
        }
        agent.context().clear().await.unwrap();
        agent.context().save().await.unwrap();
        let notes = first.context().storage::<Notes>().await.unwrap();
        assert_eq!(notes.archive(1, 10).await.unwrap(), Vec::<String>::new());
        fill(&first, "own").await;
        let agent = reopened(&ambit, is_from_index).await;
        let report = agent.context().remove().await.unwrap();
        assert_eq!(report.done.len(), 4, "{report:?}");
        assert_eq!(rows(bed.driver.as_ref()).await, []);
        assert_eq!(notes.archive(1, 10).await.unwrap(), Vec::<String>::new());
    }
}

async fn a_session_that_a_turn_holds_is_busy_and_stays_whole(bed: Bed) {
    let ambit = bed.ambit();
    let turn = reopened(&ambit, false).await;
    fill(&turn, "own").await;
    turn.context().begin_turn(OnBusy::Reject).await.unwrap();
    let before = bed.snapshot().await;
    let other = reopened(&ambit, false).await;
    let refused = other.context().remove().await.unwrap_err();
    assert!(matches!(refused, Error::Busy { .. }), "{refused}");
    assert_eq!(bed.snapshot().await, before);
    turn.context().end_turn().await.unwrap();
    other.context().remove().await.unwrap();
    assert_eq!(rows(bed.driver.as_ref()).await, []);
}

async fn a_turn_that_has_removed_its_session_can_go_on(bed: Bed) {
    let ambit = bed.ambit();
    let agent = reopened(&ambit, false).await;
    fill(&agent, "own").await;
    agent.context().begin_turn(OnBusy::Reject).await.unwrap();
    agent.context().remove().await.unwrap();
    say(&agent, &["anew"]).await;
    assert_eq!(heard(&agent).await, ["anew"]);
}

async fn g065_what_listeners_have_made_wider_stays(bed: Bed) {
    let ambit = bed.ambit();
    ambit.bus().before(|event: &mut IdentityAdding| {
        if event.storage == "notes" {
            event.identity = event.identity.with_chat_name("all").unwrap();
        }
        Box::pin(async { Ok(Verdict::Continue) })
    });
    let support = ambit.agent("Support").unwrap();
    let (one, two) = (
        support.for_chat("one").await.unwrap(),
        support.for_chat("two").await.unwrap(),
    );
    for agent in [&one, &two] {
        let notes = agent.context().storage::<Notes>().await.unwrap();
        notes.add("note".to_owned()).unwrap();
        say(agent, &["hi"]).await;
    }
    let notes = two.context().storage::<Notes>().await.unwrap();
    let again = support.from_identity(notes.identity()).await.unwrap();
    assert_eq!(again.context().identity(), one.context().identity());
    assert!(again.context().has("notes"));
    again.context().clear().await.unwrap();
    again.context().save().await.unwrap();
    assert_eq!(notes.get().await.unwrap(), ["note", "note"]);
    for agent in [&again, &two] {
        let report = agent.context().remove().await.unwrap();
        assert_eq!(report.done.len(), 1, "{report:?}");
        assert_eq!(report.skipped[0].0, *notes.identity());
        assert_eq!(notes.get().await.unwrap(), ["note", "note"]);
    }
}

async fn a_store_that_is_not_set_up_any_more_hinders_no_clear(bed: Bed) {
    let other = Arc::new(MemoryDriver::new(bed.options()));
    let stores = bed.stores().driver("other", other);
    let before = with_agents(stores.scope_drivers("notes", &["other"])).build();
    fill(&reopened(&before, false).await, "own").await;
    let agent = reopened(&bed.ambit(), false).await;
    agent.context().clear().await.unwrap();
    agent.context().save().await.unwrap();
    assert_eq!(heard(&agent).await, [""; 0]);
}
