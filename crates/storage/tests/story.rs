//! The worked examples of the two references' storage, as they read.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use ambit_storage::driver::Options;
use ambit_storage::storage::{ChatHistoryStorage, Message, StorageKind, UsageRecord};
use ambit_storage::*;

struct Support;
impl Agent for Support {
    fn name(&self) -> &str {
        "SupportAgent"
    }
}
#[derive(Clone, serde::Serialize, serde::Deserialize, PartialEq, Debug)]
struct Note {
    text: String,
}
struct Notes;
impl StorageKind for Notes {
    const PREFIX: &'static str = "notes";
    type Item = Note;
}

#[tokio::test]
async fn a_session_is_made_found_and_removed() {
    let stores = Stores::builder(Options::default()).build().unwrap();
    let ambit = Ambit::builder(stores).agent(Support).build();
    let support = ambit.agent("SupportAgent").unwrap();
    let agent = support.for_user_id("user-123").await.unwrap();
    assert_eq!(agent.context().identity().user_id(), Some("user-123"));
    agent
        .history()
        .add_message(Message::user("hi"))
        .await
        .unwrap();
    agent
        .history()
        .add_message(Message::assistant("hello"))
        .await
        .unwrap();
    agent
        .context()
        .usage()
        .record(UsageRecord {
            prompt_tokens: 3,
            completion_tokens: 2,
            ..Default::default()
        })
        .unwrap();
    agent
        .context()
        .storage::<Notes>()
        .await
        .unwrap()
        .add(&Note { text: "x".into() })
        .unwrap();
    let report = agent.context().save().await.unwrap();
    assert_eq!(report.rows_added.len(), 3);
    assert_eq!(agent.history().messages().await.unwrap().len(), 2);
    assert_eq!(
        agent
            .usage()
            .aggregate()
            .await
            .unwrap()
            .unwrap()
            .total_tokens,
        5
    );
    agent
        .context()
        .memory()
        .unwrap()
        .set("k", &1, None)
        .await
        .unwrap();
    let found = Context::of(&ambit, "SupportAgent")
        .unwrap()
        .for_user("user-123")
        .first()
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.key(), "chatHistory_SupportAgent_user-123");
    let again = support.from_identity(&found).await.unwrap();
    assert_eq!(again.history().messages().await.unwrap()[1].text(), "hello");
    let mut messages = again.history().messages().await.unwrap();
    messages.remove(0);
    again.history().replace_messages(messages).await.unwrap();
    again.context().save().await.unwrap();
    assert_eq!(again.history().messages().await.unwrap().len(), 1);
    assert_eq!(again.history().archive(1, 10).await.unwrap().len(), 2);
    let overlay = again.history().overlay_id().await.unwrap().unwrap();
    again.history().restore(&overlay).await.unwrap();
    assert_eq!(again.history().messages().await.unwrap().len(), 2);
    assert_eq!(again.storage_keys().await.unwrap().items.len(), 4);
    let query = Context::named(&ambit, "SupportAgent");
    assert_eq!(
        query
            .for_storage::<ChatHistoryStorage>()
            .dry_run()
            .remove()
            .await
            .unwrap()
            .done
            .len(),
        1
    );
    let report = query.remove().await.unwrap();
    assert_eq!(report.failed, vec![]);
    assert_eq!(query.count().await.unwrap(), 0);
    assert_eq!(
        agent.context().memory().unwrap().get("k").await.unwrap(),
        None
    );
    assert_eq!(
        agent
            .usage()
            .aggregate()
            .await
            .unwrap()
            .unwrap()
            .total_tokens,
        0
    );
    assert_eq!(
        Usage::all(&ambit)
            .aggregate()
            .await
            .unwrap()
            .unwrap()
            .total_tokens,
        5
    );
}
