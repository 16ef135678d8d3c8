//! Sessions that are removed while others write to them.

use crate::setting::*;
use crate::stores::Store;
use ambit_storage::{Ambit, AmbitSettings, Error, LiveAgent, SessionQuery};

pub const CASES: &[Case] = cases![
    what_is_added_during_a_removal_goes_too,
    a_session_bound_to_its_row_is_not_made_anew,
];

/// The agents, whose conversations are beside the index, in another store, and in both.
const AGENTS: [&str; 3] = ["Main", "Other", "Both"];

async fn spoken(ambit: &Ambit, agent: &str) -> LiveAgent {
    let agent = open(ambit, agent, "s").await;
    say(&agent, "one").await.unwrap();
    agent
}

async fn remove(ambit: &Ambit, agent: &str) {
    let report = SessionQuery::named(ambit, agent).remove().await.unwrap();
    assert_eq!((report.done.len(), report.failed), (1, vec![]), "{agent}");
}

async fn what_is_added_during_a_removal_goes_too(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    for name in AGENTS {
        let agent = spoken(&ambit, name).await;
        let late = agent.clone();
        let added = async move { say(&late, "late").await.unwrap() };
        setting.hooks.at("removal.read", added);
        remove(&ambit, name).await;
        assert!(setting.hooks.are_done());
        assert_eq!(texts(&agent).await, Vec::<String>::new(), "{name}");
        assert_eq!(chats(&ambit).await, Vec::<String>::new(), "{name}");
    }
}

async fn a_session_bound_to_its_row_is_not_made_anew(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    for name in AGENTS {
        let agent = spoken(&ambit, name).await;
        let context = agent.context();
        context.bind_to_row(&context.row_id().unwrap());
        say(&open(&ambit, name, "s").await, "two").await.unwrap();
        say(&agent, "three").await.unwrap();
        assert_eq!(texts(&agent).await, ["one", "two", "three"], "{name}");
        remove(&ambit, name).await;
        let refused = say(&agent, "late").await.unwrap_err();
        assert!(matches!(refused, Error::Conflict { .. }), "{refused}");
        assert_eq!(chats(&ambit).await, Vec::<String>::new(), "{name}");
        // One of the same name is another session.
        let anew = spoken(&ambit, name).await;
        let refused = context.save().await.unwrap_err();
        assert!(matches!(refused, Error::Conflict { .. }), "{refused}");
        context.discard();
        assert_eq!(texts(&anew).await, ["one"], "{name}");
        remove(&ambit, name).await;
    }
}
