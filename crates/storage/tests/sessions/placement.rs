//! Two agents that share an identity and name different drivers for it.

use crate::setting::*;
use crate::stores::Store;
use ambit_storage::storage::{ChatHistoryStorage, StorageState};
use ambit_storage::{Ambit, AmbitSettings, Context, Json};

pub const CASES: &[Case] = cases![
    g068_a_second_agent_with_other_drivers_is_refused,
    g068_a_chain_and_its_primary_are_two_placements,
    g068_the_memory_of_a_conversation_stays_with_it,
    g068_a_stored_session_is_opened_where_it_is_on_record,
];

fn refused(wanted: &str, kept: &str, scope: &str) -> String {
    format!(
        "drivers are {wanted} for {scope}_team_s, whose first write put {kept} on record; \
         name those, or move it with `ambit context move`"
    )
}

async fn g068_a_second_agent_with_other_drivers_is_refused(store: &'static Store) {
    for (first, second, kept, wanted) in [
        ("Main", "Other", "main", "other"),
        ("Other", "Main", "other", "main"),
    ] {
        let setting = Setting::of(store).await;
        let ambit = setting.ambit(AmbitSettings::default());
        let (first, second) = (
            open(&ambit, first, "s").await,
            open(&ambit, second, "s").await,
        );
        say(&first, "one").await.unwrap();
        let before = Context::of(&ambit, "Main").unwrap().page(None, 10).await;
        let refusal = say(&second, "lost").await.unwrap_err().to_string();
        assert_eq!(refusal, refused(wanted, kept, "chatHistory"));
        let after = Context::of(&ambit, "Main").unwrap().page(None, 10).await;
        assert_eq!(before.unwrap(), after.unwrap());
        assert_eq!(
            second.history().state().await.unwrap(),
            StorageState::Absent
        );
        assert_eq!(texts(&first).await, ["one"]);
        assert!(
            second.context().is_dirty(),
            "what was refused is still staged"
        );
        say(&first, "two").await.unwrap();
        assert_eq!(texts(&first).await, ["one", "two"]);
        assert_eq!(chats(&ambit).await, ["s"]);
    }
}

async fn g068_a_chain_and_its_primary_are_two_placements(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let (both, main) = (
        open(&ambit, "Both", "s").await,
        open(&ambit, "Main", "s").await,
    );
    say(&both, "one").await.unwrap();
    let refusal = say(&main, "lost").await.unwrap_err().to_string();
    assert_eq!(refusal, refused("main", "main, other", "chatHistory"));
    say(&both, "two").await.unwrap();
    assert_eq!(texts(&both).await, ["one", "two"]);
}

async fn g068_the_memory_of_a_conversation_stays_with_it(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let (main, other) = (
        open(&ambit, "Main", "s").await,
        open(&ambit, "Other", "s").await,
    );
    let memory = main.context().memory().unwrap();
    memory.set("k", &1, None).await.unwrap();
    let second = other.context().memory().unwrap();
    let refusal = second.set("k", &2, None).await.unwrap_err().to_string();
    assert_eq!(refusal, refused("other", "main", "memory"));
    assert_eq!(second.get("k").await.unwrap(), None);
    assert_eq!(memory.get("k").await.unwrap(), Some(Json::of(&1).unwrap()));
}

async fn g068_a_stored_session_is_opened_where_it_is_on_record(store: &'static Store) {
    let setting = Setting::of(store).await;
    let before = setting.ambit(AmbitSettings::default());
    let agent = open(&before, "Other", "s").await;
    let notes = agent.context().storage::<Notes>().await.unwrap();
    notes.add("a".to_owned()).unwrap();
    say(&agent, "one").await.unwrap();
    // The same agent later, when it names other drivers.
    let later = Ambit::builder(setting.stores()).agent(Member {
        name: "Other",
        drivers: &["main"],
    });
    let later = later.build();
    let anew = open(&later, "Other", "s").await;
    let refusal = say(&anew, "lost").await.unwrap_err().to_string();
    assert_eq!(refusal, refused("main", "other", "chatHistory"));
    let query = Context::of(&later, "Other").unwrap();
    let found = query.for_storage::<ChatHistoryStorage>().first().await;
    let definition = later.agent("Other").unwrap();
    let opened = definition.from_identity(&found.unwrap().unwrap()).await;
    let opened = opened.unwrap();
    let theirs = opened.context().storage::<Notes>().await.unwrap();
    theirs.add("b".to_owned()).unwrap();
    say(&opened, "two").await.unwrap();
    assert_eq!(texts(&agent).await, ["one", "two"]);
    assert_eq!(notes.get().await.unwrap(), ["a", "b"]);
}
