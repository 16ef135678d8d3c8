//! Listeners of agents.

use crate::beside::{EVENTS, ambit, ann, open};
use crate::logging;
use ambit_storage::storage::Message;
use serde_json::json;

#[tokio::test]
async fn listeners_change_and_hear_what_their_agent_does() {
    let text = "export function MessageAdding(event) {
          if (event.agent_name !== 'pet' || event.identity.user_id !== 'ann' || !event.event_id) throw new Error('wrong event');
          const message = event.message;
          message.seen = true;
          return { message };
        }
        export function IdentityAdding(event) { event.labels.kind = event.storage; return event; }";
    let ambit = ambit(None, Some(text));
    let agent = open(&ambit, &ann()).await.unwrap();
    agent
        .history()
        .add_message(Message::user("Hello"))
        .await
        .unwrap();
    agent.context().save().await.unwrap();
    let messages = agent.history().messages().await.unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!(
        (messages[0].text(), messages[0].extras.get("seen")),
        ("Hello".to_owned(), Some(&json!(true)))
    );
    assert_eq!(ambit.bus().failures(), 0);
}

/// What saving a message gives with these listeners: its error, how many messages are kept, and how many listeners failed.
async fn saved(events: &str) -> (Option<String>, usize, u64) {
    let ambit = ambit(None, Some(events));
    let agent = open(&ambit, &ann()).await.unwrap();
    let added = agent.history().add_message(Message::user("Hello")).await;
    let saved = match added {
        Ok(_) => agent.context().save().await.map(drop),
        Err(error) => Err(error),
    };
    let again = open(&ambit, &ann()).await.unwrap();
    let kept = again.history().messages().await.unwrap().len();
    (
        saved.err().map(|error| error.to_string()),
        kept,
        ambit.bus().failures(),
    )
}

#[tokio::test]
async fn g124_a_veto_stops_with_its_reason_and_errors_fail_or_are_logged() {
    let refused = |text: &str| (Some(text.to_owned()), 0, 0);
    let found = saved("export const MessageAdding = () => ({ veto: 'no pets' });").await;
    assert_eq!(
        found,
        refused(&format!("MessageAdding was vetoed by {EVENTS}: no pets"))
    );
    let found = saved("export const ContextSaving = async () => ({ veto: 'not now' });").await;
    assert_eq!(
        found,
        refused(&format!("ContextSaving was vetoed by {EVENTS}: not now"))
    );
    let found = saved("export function ContextSaving() { throw new Error('broken'); }").await;
    assert_eq!(
        found,
        refused(&format!("internal error: {EVENTS} ContextSaving: broken"))
    );
    let found = saved("export const ContextSaving = () => 5;").await;
    assert_eq!(
        found,
        refused(&format!(
            "{EVENTS} ContextSaving must return nothing, changed fields or {{veto: reason}}"
        ))
    );
    let found = saved("export const ContextSaving = () => ({ veto: 5 });").await;
    assert_eq!(
        found,
        refused(&format!(
            "{EVENTS} ContextSaving must return a text as veto"
        ))
    );
    let (error, kept, _) = saved("export const ContextSaving = () => ({ stagde: {} });").await;
    let error = error.unwrap();
    assert!(
        error.starts_with(&format!(
            "{EVENTS} ContextSaving returned the unknown field \"stagde\"; known are "
        )),
        "{error}"
    );
    assert_eq!(kept, 0);
    // What has happened has happened.
    assert_eq!(
        saved("export function ContextSaved() { throw new Error('late'); }").await,
        (None, 1, 1)
    );
    assert_eq!(
        saved("export function ContextSaving() { return null; }").await,
        (None, 1, 0)
    );
}

#[tokio::test]
async fn the_line_of_a_failed_listener_has_nothing_that_it_was_told() {
    let saved = |name: &str| {
        let events = format!(
            "export function {name}(event) {{ throw new Error('cannot count ' + JSON.stringify(event.message)); }}"
        );
        async move {
            let ambit = ambit(None, Some(&events));
            let agent = open(&ambit, &ann()).await.unwrap();
            let message = Message::user("canary4711");
            agent.history().add_message(message).await?;
            agent.context().save().await?;
            assert_eq!(ambit.bus().failures(), 1);
            Ok::<(), ambit_storage::Error>(())
        }
    };
    saved("MessageAdded").await.unwrap();
    let failed = logging::with_message("a listener failed");
    let mut reasons = failed.iter().filter_map(|line| line.get("error.message"));
    let why = reasons.find(|why| why.contains("MessageAdded: cannot count "));
    let why = why.unwrap();
    assert!(!why.contains("canary4711"), "{why}");
    // What fails the operation goes to whoever logs that.
    let refused = saved("MessageAdding").await.unwrap_err().to_string();
    assert!(
        refused.contains("MessageAdding: cannot count "),
        "{refused}"
    );
    assert!(!refused.contains("canary4711"), "{refused}");
}

const BEFORE: &[&str] = &[
    "ContextReading",
    "ContextSaving",
    "ContextClearing",
    "ContextRemoving",
    "IdentityAdding",
    "IdentityRemoving",
    "IdentityStorageSaving",
    "MessageAdding",
    "ChatHistorySaving",
];

/// Failures of these are counted, which shows that they were heard.
const AFTER: &[&str] = &[
    "ContextCreated",
    "StorageRegistered",
    "ContextRead",
    "ContextSaved",
    "ContextCleared",
    "ContextRemoved",
    "IdentityAdded",
    "IdentityRemoved",
    "IdentityStorageSaved",
    "MessageAdded",
    "ChatHistoryLoaded",
    "ChatHistorySaved",
    "AgentInitialized",
    "AgentCleared",
];

#[tokio::test]
async fn every_event_reaches_its_function() {
    for name in BEFORE.iter().chain(AFTER) {
        let text = format!(
            "export function {name}(event) {{ throw new Error(event.identity.agent_name === 'pet' ? 'heard' : 'lost'); }}"
        );
        let ambit = ambit(None, Some(&text));
        let life = async {
            let agent = open(&ambit, &ann()).await?;
            agent.history().add_message(Message::user("Hello")).await?;
            agent.context().save().await?;
            agent.context().read().await?;
            agent.clear().await?;
            agent.context().clear().await?;
            agent.context().save().await?;
            agent.context().remove().await?;
            Ok::<(), ambit_storage::Error>(())
        };
        let result = life.await.map_err(|error| error.to_string());
        if AFTER.contains(name) {
            assert_eq!(result, Ok(()), "{name}");
            assert!(ambit.bus().failures() > 0, "{name} was not heard");
        } else {
            assert_eq!(
                result,
                Err(format!("internal error: {EVENTS} {name}: heard")),
                "{name}"
            );
        }
    }
}
