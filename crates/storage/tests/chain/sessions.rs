//! Sessions over a chain whose primary is away.

use crate::flaky::Fault;
use crate::support::Pair;
use ambit_storage::driver::DriverOptions;
use ambit_storage::driver::chain::WritePolicy;
use ambit_storage::storage::Message;
use ambit_storage::{Agent, Ambit, Error, Stores};

struct Plain;

impl Agent for Plain {
    fn name(&self) -> &str {
        "Plain"
    }
}

#[tokio::test]
async fn g033_a_history_that_a_secondary_answers_for_is_marked_and_takes_no_write() {
    let pair = Pair::new();
    let stores = Stores::builder(DriverOptions::default())
        .driver("first", pair.first.clone())
        .driver("second", pair.second.clone())
        .default_drivers(&["first", "second"])
        .policy(WritePolicy::Primary)
        .build()
        .unwrap();
    let ambit = Ambit::builder(stores).agent(Plain).build();
    let agent = ambit.agent("Plain").unwrap().for_chat("a").await.unwrap();
    let history = agent.history();
    history.add_message(Message::user("said")).await.unwrap();
    agent.context().save().await.unwrap();
    assert_eq!(history.messages().await.unwrap().len(), 1);
    assert!(!history.is_stale_possible());
    pair.first.fails(Fault::Down);
    assert_eq!(history.messages().await.unwrap().len(), 1);
    assert!(history.is_stale_possible());
    history.add_message(Message::user("more")).await.unwrap();
    let refused = agent.context().save().await;
    assert!(
        matches!(refused, Err(Error::Unavailable { .. })),
        "{refused:?}"
    );
    pair.first.fails(Fault::Nothing);
    agent.context().save().await.unwrap();
    assert_eq!(history.messages().await.unwrap().len(), 2);
    assert!(!history.is_stale_possible());
}
