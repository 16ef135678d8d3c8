//! People of three tenants, and what each of them keeps: every text with a word of its own.

use crate::bed::{Bed, Person};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Each of them searches. The role is the kind of limits.
pub const PEOPLE: [Person; 9] = [
    Person("t1", "ann", "red", "team"),
    Person("t1", "bob", "red", "team"),
    Person("t1", "cid", "blue", "team"),
    Person("t1", "chief", "", "whole"),
    Person("t2", "ann", "red", "team"),
    Person("t2", "dan", "blue", "team"),
    Person("t2", "chief", "", "whole"),
    Person("t3", "ann", "red", "team"),
    Person("t3", "eve", "", "own"),
];

/// The names that they have, in all tenants.
pub const NAMES: [&str; 6] = ["ann", "bob", "cid", "dan", "eve", "chief"];

/// What is said of collections and conversations of each person.
pub const KINDS: [&str; 3] = ["private", "team", "public"];

const ROLES: (&str, &str) = (
    "openapi/roles.yml",
    r#"
own: {scopes: ["*:*:own"]}
team: {scopes: ["*:*:team"]}
whole: {scopes: ["*:*:all"]}
"#,
);

/// Everything that this test asks a second is one tenant's right.
const APP: (&str, &str) = (
    "app.yao",
    r#"{"name": "Tests", "ambit": {"search": {"limits": {"queries": 1000000}}}}"#,
);

/// A model that calls a tool and repeats what it was sent then, and one that repeats it at once.
const MODELS: [(&str, &str); 2] = [
    (
        "connectors/calling.conn.yao",
        r#"{"type": "scripted", "options": {"model": "m", "capabilities": {"tool_calls": true}, "rules": [
            {"match": {"has_tool_result": true}, "reply": "{{request}}"},
            {"tool_calls": [{"name": "find__run", "arguments": {"query": "report"}}]}]}}"#,
    ),
    (
        "connectors/mirror.conn.yao",
        r#"{"type": "scripted", "options": {"model": "m", "rules": [{"reply": "{{request}}"}]}}"#,
    ),
];

/// Rows of people, each of which its maker and their team see.
const MEMO: (&str, &str) = (
    "models/memo.mod.yao",
    r#"{"name": "Memo", "option": {"permission": true},
        "columns": [{"name": "id", "type": "ID"}, {"name": "title", "type": "string"}]}"#,
);

/// An agent that searches by itself, in its hook, with its tool, and asks one that searches by itself, whose queries of rows a
/// third one makes. A fourth one keeps a row.
const AGENTS: [(&str, &str); 10] = [
    (
        "assistants/finder/prompts.yml",
        "- {role: system, content: x}\n",
    ),
    (
        "assistants/finder/src/index.ts",
        r#"export function Create(ctx: any, messages: any) {
            const query = messages[messages.length - 1].content;
            const asked = ctx.agent.Call("reader", messages);
            const rows = ctx.search.DB(query, {models: ["memo"]});
            const kept = [ctx.memory.user.Search(query), ctx.memory.team.Search(query)];
            const listed = Process("kb.collection.list", {pagesize: 100}).data;
            return { metadata: { found: [ctx.search.KB(query, {threshold: 0}), asked, rows, kept, listed] } };
        }
        export function Next(ctx: any, payload: any) { return { data: [ctx.metadata.found, payload] }; }"#,
    ),
    (
        "assistants/reader/prompts.yml",
        "- {role: system, content: x}\n",
    ),
    (
        "mcps/find.mcp.yao",
        r#"{"transport": "process", "tools": {"run": "scripts.find.Run"}}"#,
    ),
    (
        "mcps/mapping/find/schemes/run.in.yao",
        r#"{"type": "object", "description": "Finds.", "properties": {"query": {"type": "string"}}, "x-process-args": ["$args.query"]}"#,
    ),
    (
        "scripts/find.ts",
        r#"export function Run(query: string, ctx: any) {
            return [ctx.search.KB(query, {threshold: 0}), ctx.search.DB(query, {models: ["memo"]})];
        }"#,
    ),
    (
        "assistants/maker/package.yao",
        r#"{"name": "Maker", "public": true}"#,
    ),
    (
        "assistants/maker/src/index.ts",
        r#"export function Next() {
            const wheres = [{field: "id", op: ">", value: 0}, {or: true, field: "title", op: "<>", value: "x"}];
            return { data: { select: ["id", "title"], from: "memo", wheres, limit: 20 } };
        }"#,
    ),
    (
        "assistants/keeper/package.yao",
        r#"{"name": "Keeper", "public": true}"#,
    ),
    (
        "assistants/keeper/src/index.ts",
        r#"export function Create(ctx: any, messages: any) {
            Process("models.memo.Create", { title: messages[messages.length - 1].content });
        }"#,
    ),
];

/// For whom a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanarySight {
    /// Who wrote it, and those who see all of the tenant.
    Private,
    /// These, and the team.
    Team,
    /// All of the tenant.
    Tenant,
    /// These, and Bob, who is named.
    Named,
    /// Who wrote it, and nobody else.
    Own,
    /// The team alone.
    OfTeam,
}

/// A word, whose it is and for whom.
#[derive(Clone, Copy, Debug)]
pub struct Canary {
    pub owner: Person,
    pub sight: CanarySight,
}

pub struct World {
    pub bed: Bed,
    pub canaries: BTreeMap<String, Canary>,
}

impl Canary {
    pub fn is_for(&self, who: Person) -> bool {
        let Person(tenant, user, team, limits) = who;
        let Person(of_tenant, owner, of_team, _) = self.owner;
        let (is_own, is_whole) = (user == owner, limits == "whole");
        let is_mate = !team.is_empty() && team == of_team;
        tenant == of_tenant
            && match self.sight {
                CanarySight::Private => is_own || is_whole,
                CanarySight::Team => is_own || is_whole || is_mate,
                CanarySight::Tenant => true,
                CanarySight::Named => is_own || is_whole || user == "bob",
                CanarySight::Own => is_own,
                CanarySight::OfTeam => is_mate,
            }
    }
}

impl World {
    pub async fn new() -> Self {
        let packages = packages();
        let mut files = vec![ROLES, APP, MEMO];
        files.extend(MODELS);
        files.extend(AGENTS);
        files.extend(packages.iter().map(|(name, text)| (*name, text.as_str())));
        let mut world = Self {
            bed: Bed::of(&files).await,
            canaries: BTreeMap::new(),
        };
        for who in PEOPLE {
            for kind in KINDS {
                world.add_collection(who, kind).await;
            }
            world.add_chats(who).await;
            world.add_memories(who).await;
            world.add_row(who).await;
        }
        world
    }

    /// A text with a new word. Its letters are such that no other form of it is indexed.
    fn text(&mut self, owner: Person, sight: CanarySight) -> String {
        let letter = |number: usize| char::from(b"bcdfghjklmnpqrtvwz"[number % 18]);
        let number = self.canaries.len();
        let word = format!("canary{}{}x", letter(number / 18), letter(number));
        let text = format!("quarterly-report-{word}-trains-lamps");
        self.canaries.insert(word, Canary { owner, sight });
        text
    }

    async fn send(&self, who: Person, method: Method, path: &str, body: &Value) {
        let answer = self.bed.send(who, method, path, body).await;
        assert!(answer.status < 300, "{path}: {}", answer.text);
    }

    async fn add_collection(&mut self, who: Person, kind: &str) {
        let sight = match kind {
            "private" => CanarySight::Private,
            "team" => CanarySight::Team,
            _ => CanarySight::Tenant,
        };
        let id = format!("{kind}-{}", who.1);
        let share = if kind == "team" { "team" } else { "private" };
        let description = self.text(who, sight);
        let made = json!({"id": id, "description": description, "public": kind == "public", "share": share});
        self.send(who, Method::POST, "/kb/collections", &made).await;
        let path = format!("/kb/collections/{id}/documents/text");
        let text = self.text(who, sight);
        let document = json!({"doc_id": format!("doc-{id}"), "name": text, "text": text});
        self.send(who, Method::POST, &path, &document).await;
        if kind == "public" {
            let text = self.text(who, CanarySight::Named);
            let access = json!({"users": ["bob"]});
            let id = format!("named-{}", who.1);
            let document = json!({"doc_id": id, "name": text, "text": text, "access": access});
            self.send(who, Method::POST, &path, &document).await;
        }
    }

    async fn add_chats(&mut self, who: Person) {
        for (kind, sight) in [
            ("private", CanarySight::Private),
            ("team", CanarySight::Team),
        ] {
            let chat = format!("{kind}-{}", who.1);
            let text = self.text(who, sight);
            self.bed.talk(who, &chat, &text).await;
            if kind == "team" && !who.2.is_empty() {
                let path = format!("/chat/sessions/{chat}");
                let share = json!({"share": "team"});
                self.send(who, Method::PUT, &path, &share).await;
            }
        }
    }

    async fn add_memories(&mut self, who: Person) {
        let value = json!({"value": self.text(who, CanarySight::Own)});
        self.send(who, Method::PUT, "/memory/user/keys/note", &value)
            .await;
        if !who.2.is_empty() {
            let path = format!("/memory/team/keys/note-{}", who.1);
            let value = json!({"value": self.text(who, CanarySight::OfTeam)});
            self.send(who, Method::PUT, &path, &value).await;
        }
    }

    /// Where it is said, it is not remembered, so that nothing but the row has the word.
    async fn add_row(&mut self, who: Person) {
        let said = self.text(who, CanarySight::Team);
        let messages = json!([{"role": "user", "content": said}]);
        let body = json!({"model": "keeper", "messages": messages, "skip": {"history": true}});
        self.send(who, Method::POST, "/chat/completions", &body)
            .await;
    }
}

/// The packages of the agents, which search all collections that have a name, and the rows.
fn packages() -> [(&'static str, String); 2] {
    let collections = KINDS.iter().flat_map(|kind| {
        NAMES
            .iter()
            .map(move |name| Value::from(format!("{kind}-{name}")))
    });
    let collections: Vec<Value> = collections.collect();
    let package = |connector: &str, servers: Value, uses: Value| {
        json!({"name": "Finder", "public": true, "connector": connector, "mcp": {"servers": servers}, "uses": uses,
            "kb": {"collections": collections}, "db": {"models": ["memo"]}, "search": {"kb": {"threshold": 0, "max_results": 50}}})
        .to_string()
    };
    [
        (
            "assistants/finder/package.yao",
            package("calling", json!(["find"]), json!({})),
        ),
        (
            "assistants/reader/package.yao",
            package("mirror", json!([]), json!({"querydsl": "maker"})),
        ),
    ]
}
