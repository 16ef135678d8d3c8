//! A server with conversations of several people in its store, as turns leave them.

use crate::feed::Feed;
use crate::site::{Answer, Site, TOKENS};
use ambit_runtime::Authorized;
use ambit_runtime::chats::{self, LastTurn};
use ambit_runtime::turn_location;
use ambit_runtime::{TurnInfo, TurnStatus, TurnTotals};
use ambit_storage::batch::{BatchWrite, NewEntry};
use ambit_storage::driver::DriverOptions;
use ambit_storage::operation::Operation;
use ambit_storage::storage::{Message, UsageRecord};
use ambit_storage::{Agent, Ambit, Json, Stores};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

struct Hello;

impl Agent for Hello {
    fn name(&self) -> &str {
        "hello"
    }
}

/// Somebody who calls: tenant, user, team, role.
#[derive(Clone, Copy, Debug)]
pub struct Person(
    pub &'static str,
    pub &'static str,
    pub &'static str,
    pub &'static str,
);

pub const ANN: Person = Person("t1", "ann", "red", "user");
pub const BOB: Person = Person("t1", "bob", "red", "user");
pub const CID: Person = Person("t1", "cid", "blue", "user");
pub const TWIN: Person = Person("t2", "ann", "red", "user");
pub const CHIEF: Person = Person("t1", "chief", "", "admin");

impl Person {
    pub fn token(&self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let mut claims = json!({
            "iss": "https://id.test", "aud": "ambit", "exp": now.as_secs() + 600,
            "tenant_id": self.0, "sub": self.1, "roles": [self.3],
        });
        if !self.2.is_empty() {
            claims["team_id"] = self.2.into();
        }
        let key = EncodingKey::from_secret(b"not a secret, being in a test");
        encode(&Header::new(Algorithm::HS256), &claims, &key).unwrap()
    }

    pub fn authorized(&self) -> Authorized {
        Authorized {
            tenant_id: Some(self.0.to_owned()),
            user_id: Some(self.1.to_owned()),
            team_id: Some(self.2.to_owned()).filter(|team| !team.is_empty()),
            ..Authorized::default()
        }
    }
}

pub struct Bed {
    pub site: Site,
    pub ambit: Ambit,
}

impl Bed {
    pub async fn new() -> Self {
        Self::of(&[]).await
    }

    /// With these files of the app too.
    pub async fn of(files: &[(&str, &str)]) -> Self {
        Self::on(Site::of(&[&[TOKENS], files].concat()).await)
    }

    /// Over this server.
    pub fn on(site: Site) -> Self {
        let stores = Stores::builder(DriverOptions::default()).driver("memory", site.store.clone());
        let ambit = Ambit::builder(stores.build().unwrap()).agent(Hello).build();
        Self { site, ambit }
    }

    /// A conversation of one turn in which this text is everywhere.
    pub async fn talk(&self, who: Person, chat: &str, text: &str) {
        let who = who.authorized();
        let live = chats::open(&self.ambit, &who, "hello", Some(chat)).await;
        let live = live.unwrap();
        let context = live.context();
        let request_id = format!("r-{text}");
        for message in [
            Message::user(text),
            Message::assistant(format!("to {text}")),
        ] {
            let turn_id = Some(request_id.clone());
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
        context.stage_with_history(written(context, &request_id, text));
        context.save().await.unwrap();
        let life = Some(Duration::from_secs(24 * 3_600));
        let note = turn_location::note(context, &request_id, life).unwrap();
        context.stage_with_history([note]);
        context.save().await.unwrap();
        let memory = context.memory().unwrap();
        memory
            .set(&format!("key-{text}"), text, None)
            .await
            .unwrap();
    }

    pub async fn ask(&self, who: Person, method: Method, path: &str) -> Answer {
        let request = self.site.request(method, &format!("/v1{path}"));
        Answer::of(request.bearer_auth(who.token())).await
    }

    pub async fn get(&self, who: Person, path: &str) -> Answer {
        self.ask(who, Method::GET, path).await
    }

    pub async fn send(&self, who: Person, method: Method, path: &str, body: &Value) -> Answer {
        let request = self.site.request(method, &format!("/v1{path}"));
        Answer::of(request.bearer_auth(who.token()).json(body)).await
    }

    /// The events that this person follows.
    pub async fn follow(&self, who: Person, filter: &str, behind: Option<&str>) -> Feed {
        let request = self.request(who, &format!("/events{filter}"));
        Feed::of(match behind {
            Some(id) => request.header("last-event-id", id),
            None => request,
        })
        .await
    }

    pub fn request(&self, who: Person, path: &str) -> RequestBuilder {
        let request = self.site.request(Method::GET, &format!("/v1{path}"));
        request.bearer_auth(who.token())
    }

    /// A turn with the agent `hello`, from its request to its end.
    pub async fn turn(&self, who: Person, chat: &str, text: &str) -> Answer {
        self.turn_of("hello", who, chat, text).await
    }

    /// The same with another agent.
    pub async fn turn_of(&self, agent: &str, who: Person, chat: &str, text: &str) -> Answer {
        let body = json!({
            "model": agent, "chat_id": chat, "messages": [{"role": "user", "content": text}],
        });
        self.send(who, Method::POST, "/chat/completions", &body)
            .await
    }

    /// The id of the row of a chat's history.
    pub async fn row(&self, who: Person, chat: &str) -> String {
        let path = format!("/contexts?scope=chatHistory&chat={chat}");
        let rows = self.get(who, &path).await.json();
        rows["items"][0]["id"].as_str().unwrap().to_owned()
    }
}

/// What a turn writes beside its messages.
fn written(context: &ambit_storage::Context, request_id: &str, text: &str) -> Vec<BatchWrite> {
    let (space, _) = context.place();
    let last = LastTurn {
        assistant_id: "hello".to_owned(),
        connector: Some("script".to_owned()),
        mode: None,
        at: 5_000,
    };
    let info = TurnInfo {
        request_id: request_id.to_owned(),
        context_id: format!("c-{text}"),
        chat_id: context
            .identity()
            .chat_name()
            .unwrap_or_default()
            .to_owned(),
        context: None,
        assistant_id: "hello".to_owned(),
        status: TurnStatus::Completed,
        last_event: 4,
        started_at: 1_000,
        ended_at: Some(5_000),
        error: None,
        response: None,
        user_id: None,
        acted_by: None,
        totals: TurnTotals::default(),
    };
    let node = json!({
        "id": "n1", "parent_ids": [], "label": text, "type": "agent", "icon": "", "description": "", "metadata": {},
        "status": "running", "input": null, "output": null, "error": null, "start_at": 1_000, "end_at": null,
    });
    let events = [
        json!({"type": "init", "trace_id": request_id, "request_id": request_id, "chat_id": text, "assistant_id": "hello",
            "at": 1_000}),
        json!({"type": "node_start", "node": node}),
        json!({"type": "log_added", "node_id": "n1", "level": "info", "message": text, "data": null, "at": 2_000}),
        json!({"type": "complete", "status": "completed", "at": 5_000}),
    ];
    let entries = events.iter().enumerate().map(|(at, event)| NewEntry {
        id: at.to_string(),
        body: Json::of(event).unwrap(),
    });
    vec![
        chats::note(&space, &last).unwrap(),
        chats::first_title(&space, text).unwrap(),
        BatchWrite::Apply {
            key: space.key(format!("turn/{request_id}")),
            op: Operation::Set(Json::of(&info).unwrap().into()),
            life: None,
        },
        BatchWrite::Append {
            log: space.log(format!("turn/{request_id}/trace")),
            entries: entries.collect(),
        },
    ]
}
