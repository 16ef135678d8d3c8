//! What a case stands on: a fresh store, and an installation with the agents `support` and `sales` over it.

use crate::stores::{POSTGRES, REDIS, SQLITE, Store};
use ambit_runtime::chats::{LastTurn, first_title, note};
use ambit_runtime::turn_location;
use ambit_runtime::{Authorized, DataConstraints};
use ambit_runtime::{TurnInfo, TurnStatus, TurnTotals};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::clock::Clock;
use ambit_storage::driver::{self, Driver, DriverOptions, Durability};
use ambit_storage::operation::Operation;
use ambit_storage::storage::{Message, UsageRecord};
use ambit_storage::{Agent, Ambit, AmbitSettings, Json, LiveAgent, Stores};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub const STORES: &[Store] = &[
    Store {
        name: "memory",
        place: || Some(("memory:".to_owned(), None)),
    },
    SQLITE,
    POSTGRES,
    REDIS,
];

struct Plain(&'static str);

impl Agent for Plain {
    fn name(&self) -> &str {
        self.0
    }
}

pub struct Bed {
    pub ambit: Ambit,
    pub driver: Arc<dyn Driver>,
    pub clock: Clock,
    pub options: DriverOptions,
    folder: Option<TempDir>,
}

impl Bed {
    pub async fn new(store: &'static Store) -> Self {
        let (url, folder) = (store.place)().expect("a store that is there");
        let options = DriverOptions {
            durability: Durability::Normal,
            ..DriverOptions::default()
        };
        let driver = driver::open(&url, options.clone()).await.unwrap();
        Self {
            ambit: over(driver.clone(), options.clone()),
            driver,
            clock: options.clock.clone(),
            options,
            folder,
        }
    }

    /// Fails where a file of the store has such a text.
    pub async fn has_no_file_with(&self, text: &str) {
        // What has expired is erased by a sweep.
        self.driver.sweep(1_000).await.unwrap();
        let Some(folder) = &self.folder else {
            return;
        };
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let has_it = bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes());
            assert!(!has_it, "{text} is in {}", path.display());
        }
    }

    /// A conversation as a turn leaves it: two messages, usage, memory, a trace.
    pub async fn talk(&self, who: &Authorized, agent: &str, chat: &str, text: &str) -> LiveAgent {
        let open = ambit_runtime::chats::open(&self.ambit, who, agent, Some(chat));
        let live = open.await.unwrap();
        self.turn(&live, &format!("r-{text}"), text).await;
        live
    }

    /// One turn, whose request has this id.
    pub async fn turn(&self, live: &LiveAgent, request_id: &str, text: &str) {
        let context = live.context();
        let is_first = live.history().count().await.unwrap() == 0;
        for message in [
            Message::user(text),
            Message::assistant(format!("to {text}")),
        ] {
            let turn_id = Some(request_id.to_owned());
            let message = Message { turn_id, ..message };
            live.history().add_message(message).await.unwrap();
        }
        let record = UsageRecord {
            prompt_tokens: 7,
            completion_tokens: 1,
            model_name: Some(format!("model-{text}")),
            ..UsageRecord::default()
        };
        context.usage().record(record).unwrap();
        context.stage_with_history(self.written(live, request_id, text));
        if is_first {
            let (space, _) = context.place();
            context.stage_with_history([first_title(&space, text).unwrap()]);
        }
        context.save().await.unwrap();
        let life = Some(Duration::from_secs(3_600));
        let note = turn_location::note(context, request_id, life);
        context.stage_with_history([note.unwrap()]);
        context.save().await.unwrap();
        let memory = context.memory().unwrap();
        memory
            .set(&format!("key-{text}"), text, None)
            .await
            .unwrap();
    }

    /// What a turn writes beside its messages.
    fn written(&self, live: &LiveAgent, request_id: &str, text: &str) -> Vec<BatchWrite> {
        let context = live.context();
        let (space, _) = context.place();
        let now = self.clock.now();
        let last = LastTurn {
            assistant_id: context.identity().agent_name().to_owned(),
            connector: Some("gpt".to_owned()),
            mode: None,
            at: now,
        };
        let info = TurnInfo {
            request_id: request_id.to_owned(),
            context_id: format!("c-{request_id}"),
            chat_id: live.chat_name().unwrap_or_default().to_owned(),
            context: None,
            assistant_id: last.assistant_id.clone(),
            status: TurnStatus::Completed,
            last_event: 4,
            started_at: now,
            ended_at: Some(now + 60),
            error: None,
            response: Some(json!(text)),
            user_id: None,
            acted_by: None,
            totals: TurnTotals::default(),
        };
        let event = NewEntry {
            id: "1".to_owned(),
            body: Json::of(&json!({"type": "init", "about": text})).unwrap(),
        };
        vec![
            note(&space, &last).unwrap(),
            BatchWrite::Apply {
                key: space.key(format!("turn/{request_id}")),
                op: Operation::Set(Json::of(&info).unwrap().into()),
                life: None,
            },
            BatchWrite::Append {
                log: space.log(format!("turn/{request_id}/trace")),
                entries: vec![event],
            },
        ]
    }

    pub async fn commit(&self, writes: impl IntoIterator<Item = BatchWrite>) {
        self.driver.commit(Batch::of(writes)).await.unwrap();
    }
}

/// An installation over this driver.
pub fn over(driver: Arc<dyn Driver>, options: DriverOptions) -> Ambit {
    over_with(driver, options, AmbitSettings::default())
}

/// The same with these settings.
pub fn over_with(
    driver: Arc<dyn Driver>,
    options: DriverOptions,
    settings: AmbitSettings,
) -> Ambit {
    let stores = Stores::builder(options).driver("main", driver);
    over_stores(stores.build().unwrap(), settings)
}

/// The same with histories in this process's memory, apart from the index.
pub fn over_with_histories_apart(driver: Arc<dyn Driver>, options: DriverOptions) -> Ambit {
    let stores = Stores::builder(options).driver("main", driver);
    let stores = stores.scope_drivers("chatHistory", &["memory"]);
    over_stores(stores.build().unwrap(), AmbitSettings::default())
}

fn over_stores(stores: Stores, settings: AmbitSettings) -> Ambit {
    Ambit::builder(stores)
        .settings(settings)
        .agent(Plain("support"))
        .agent(Plain("sales"))
        .build()
}

/// A person as default constraints leave them.
pub fn person(tenant: &str, user: &str, team: Option<&str>) -> Authorized {
    Authorized {
        user_id: Some(user.to_owned()),
        team_id: team.map(str::to_owned),
        tenant_id: Some(tenant.to_owned()),
        constraints: DataConstraints {
            team_only: team.is_some(),
            owner_only: team.is_none(),
            ..DataConstraints::default()
        },
        ..Authorized::default()
    }
}

/// Ann of team red in tenant `t1`.
pub fn ann() -> Authorized {
    person("t1", "ann", Some("red"))
}

/// Bob of Ann's team.
pub fn bob() -> Authorized {
    person("t1", "bob", Some("red"))
}

/// Cid of Ann's tenant and another team.
pub fn cid() -> Authorized {
    person("t1", "cid", Some("blue"))
}

/// Somebody of another tenant with Ann's name and team.
pub fn twin() -> Authorized {
    person("t2", "ann", Some("red"))
}

/// Somebody without constraints.
pub fn chief(tenant: &str) -> Authorized {
    Authorized {
        constraints: DataConstraints::default(),
        ..person(tenant, "chief", None)
    }
}

/// Nobody in particular.
pub fn nobody(tenant: &str) -> Authorized {
    Authorized {
        tenant_id: Some(tenant.to_owned()),
        ..Authorized::default()
    }
}
