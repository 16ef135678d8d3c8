//! Scripts beside the turns: where sessions are kept, and listeners.

use crate::logging;
use crate::support::Stage;
use ambit_runtime::Disclosure;
use ambit_runtime::hook::{AgentScriptLoader, EventListeners, SessionScript};
use ambit_storage::driver::DriverOptions;
use ambit_storage::storage::Message;
use ambit_storage::{Agent, Ambit, Caller, LiveAgent, SessionIdentity, Stores};
use serde_json::json;
use std::collections::BTreeMap;

const CONTEXT: &str = "assistants/pet/src/context.ts";
const EVENTS: &str = "assistants/pet/src/events.ts";

/// What is said of an identity that names nobody.
const FOR_ALL: &str =
    "HistoryIdentity returned no chat_name, user_id or group, which is one place for all who ask";

/// An agent that keeps usage apart.
struct Plain;

impl Agent for Plain {
    fn name(&self) -> &str {
        "pet"
    }

    fn create_usage_identity(
        &self,
        base: &SessionIdentity,
        _: &Caller,
    ) -> ambit_storage::Result<SessionIdentity> {
        base.with_chat_name("all")
    }
}

/// An installation whose one agent has these two scripts.
fn ambit(context: Option<&str>, events: Option<&str>) -> Ambit {
    let stage = Stage::new();
    let mut agent = stage.agent.clone();
    agent.overrides = context.map(|_| CONTEXT.to_owned());
    agent.listeners = events.map(|_| EVENTS.to_owned());
    let files = [(CONTEXT, context), (EVENTS, events)];
    let files = files.into_iter();
    let files: BTreeMap<String, String> = files
        .filter_map(|(path, text)| Some((path.to_owned(), text?.to_owned())))
        .collect();
    let loader = AgentScriptLoader {
        engine: &stage.engine,
        files: &files,
        app: &stage.app,
        agent: &agent,
        disclosure: Disclosure::default(),
    };
    let sessions = SessionScript::load(&loader, Box::new(Plain)).unwrap();
    let stores = Stores::builder(DriverOptions::default()).build().unwrap();
    let ambit = Ambit::builder(stores).agent(sessions).build();
    if let Some(listeners) = EventListeners::load(&loader).unwrap() {
        listeners.register(ambit.bus());
    }
    ambit
}

fn ann() -> Caller {
    Caller::user("acme", "ann")
        .with_team("red")
        .with_claim("org_id", "o1")
}

async fn open(ambit: &Ambit, caller: &Caller) -> ambit_storage::Result<LiveAgent> {
    let ambit = ambit.acting_as(caller);
    let definition = ambit.agent("pet")?;
    match caller.user_id() {
        Ok(user) => definition.for_user_id(user).chat("c1").await,
        Err(_) => definition.for_chat("c1").await,
    }
}

/// The identities of the history and of usage of Ann's session.
async fn places(ambit: &Ambit, caller: &Caller) -> (SessionIdentity, SessionIdentity) {
    let agent = open(ambit, caller).await.expect("the session opens");
    let context = agent.context();
    (
        context.history().identity().clone(),
        context.usage().identity().clone(),
    )
}

fn identity(builder: ambit_storage::IdentityBuilder, scope: &str) -> SessionIdentity {
    builder.scope(scope).build().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_decides_where_sessions_are_kept() {
    let text = "export function Group(caller) { return caller.tenant_id + '-' + caller.claims.org_id; }
        export async function HistoryIdentity(base, caller) { return { chat_name: `team-${caller.team_id}` }; }";
    let of_pet = || SessionIdentity::builder("pet");
    let (history, usage) = places(&ambit(Some(text), None), &ann()).await;
    assert_eq!(
        history,
        identity(of_pet().chat_name("team-red"), "chatHistory")
    );
    assert_eq!(
        usage,
        identity(
            of_pet().user_id("ann").chat_name("all").group("acme-o1"),
            "usage"
        )
    );
    let text = "export const Group = () => null; export function UsageIdentity(base) { return { ...base, chat_name: 'org' }; }";
    let (history, usage) = places(&ambit(Some(text), None), &ann()).await;
    assert_eq!(
        history,
        identity(of_pet().user_id("ann").chat_name("c1"), "chatHistory")
    );
    assert_eq!(
        usage,
        identity(of_pet().user_id("ann").chat_name("org"), "usage")
    );
}

/// Scripts that make no identity, and what is said of them.
const REFUSED: &[(&str, &str)] = &[
    (
        "export const HistoryIdentity = () => null;",
        "HistoryIdentity must return an identity",
    ),
    (
        "export const HistoryIdentity = () => 'x';",
        "HistoryIdentity must return an identity",
    ),
    (
        "export const HistoryIdentity = () => ({ chat: 'x' });",
        "HistoryIdentity returned the unknown field \"chat\"; known are agent_name, chat_name, user_id, group",
    ),
    (
        "export const UsageIdentity = () => ({ chat_name: 5 });",
        "UsageIdentity returned chat_name, which must be a string",
    ),
    (
        "export const Group = () => 5;",
        "Group must return a string or null",
    ),
    (
        "export const Group = caller => caller.claims.other;",
        "Group must return a string or null",
    ),
    (
        "export const HistoryIdentity = () => ({ agent_name: 'pet', chat_name: null });",
        FOR_ALL,
    ),
    (
        "export const HistoryIdentity = (_, caller) => ({ chat_name: 'all', group: caller.claims.other });",
        "HistoryIdentity returned group without a value; null stands for none",
    ),
    (
        "export const HistoryIdentity = (_, caller) => ({ chat_name: 'all', group: Number(caller.user_id) });",
        "HistoryIdentity returned group without a value; null stands for none",
    ),
    (
        "export const HistoryIdentity = base => ({ chat_name: 'x' + base.other });",
        "HistoryIdentity returned \"xundefined\": a value that it is made of is missing",
    ),
    (
        "export const HistoryIdentity = base => ({ group: 'x-' + Number(base.user_id) });",
        "HistoryIdentity returned \"x-NaN\": a value that it is made of is missing",
    ),
    (
        "export const UsageIdentity = base => ({ chat_name: `of ${base}` });",
        "UsageIdentity returned \"of [object Object]\": a value that it is made of is missing",
    ),
];

#[tokio::test]
async fn g064_a_missing_value_refuses_the_session() {
    let nobody = Caller::anonymous("acme");
    let refused = async |script: &str, caller: &Caller| {
        let ambit = ambit(Some(script), None);
        open(&ambit, caller)
            .await
            .expect_err("it is refused")
            .to_string()
    };
    let missing = "a value that it is made of is missing";
    let script = "export function HistoryIdentity(base, caller) { return { chat_name: `team-${caller.team_id}` }; }";
    assert_eq!(
        refused(script, &nobody).await,
        format!("{CONTEXT} HistoryIdentity returned \"team-undefined\": {missing}")
    );
    let script = "export function Group(caller) { return `org-${caller.claims.org_id}`; }";
    assert_eq!(
        refused(script, &nobody).await,
        format!("{CONTEXT} Group returned \"org-undefined\": {missing}")
    );
    for (script, message) in REFUSED {
        assert_eq!(
            refused(script, &ann()).await,
            format!("{CONTEXT} {message}")
        );
    }
    let broken = refused(
        "export function Group(caller) { return caller.claims.org_id.id.x; }",
        &nobody,
    )
    .await;
    assert!(
        broken.starts_with(&format!("internal error: {CONTEXT} Group: TypeError: ")),
        "{broken}"
    );
    let endless = refused("export function Group() { return Process('x'); }", &ann()).await;
    assert!(endless.contains("Process is not available in"), "{endless}");
}

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
