//! Scripts that say where sessions are kept.

use crate::support::Stage;
use ambit_runtime::Disclosure;
use ambit_runtime::hook::{AgentScriptLoader, EventListeners, SessionScript};
use ambit_storage::driver::DriverOptions;
use ambit_storage::{Agent, Ambit, Caller, LiveAgent, SessionIdentity, Stores};
use std::collections::BTreeMap;

const CONTEXT: &str = "assistants/pet/src/context.ts";
pub const EVENTS: &str = "assistants/pet/src/events.ts";

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
pub fn ambit(context: Option<&str>, events: Option<&str>) -> Ambit {
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

pub fn ann() -> Caller {
    Caller::user("acme", "ann")
        .with_team("red")
        .with_claim("org_id", "o1")
}

pub async fn open(ambit: &Ambit, caller: &Caller) -> ambit_storage::Result<LiveAgent> {
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
