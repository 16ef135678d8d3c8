//! Who sees what, of every route there is: two tenants, two teams, and each kind of limits.

use crate::bed::{Bed, Person};
use crate::cases::{Case, For, cases};
use crate::site::Answer;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Roles for each kind of limits, and one that nothing is granted to; the scopes are the usual ones.
const ROLES: (&str, &str) = (
    "openapi/roles.yml",
    r#"
own: {scopes: ["*:*:own"]}
team: {scopes: ["*:*:team"]}
whole: {scopes: ["*:*:all"]}
guest: {scopes: []}
"#,
);
const AGENT: (&str, &str) = (
    "assistants/anns/package.yao",
    "name: canary\nconnector: script\n__yao_created_by: ann\n__yao_tenant_id: t1",
);
const PROMPTS: (&str, &str) = (
    "assistants/anns/prompts.yml",
    "- {role: system, content: x}\n",
);

const SERVED: (&str, &str) = ("app.yao", "ambit: {mcp_server: {enabled: true}}");

pub const ANN: Person = Person("t1", "ann", "red", "own");
const PEOPLE: [(&str, &str, &str); 4] = [
    ("t1", "ann", "red"),
    ("t1", "bob", "red"),
    ("t1", "cid", "blue"),
    ("t2", "ann", "red"),
];

/// Everybody with every kind of limits.
pub fn people() -> impl Iterator<Item = Person> {
    let limits = ["own", "team", "whole"];
    PEOPLE.into_iter().flat_map(move |(tenant, user, team)| {
        limits.map(|limits| Person(tenant, user, team, limits))
    })
}

/// A conversation of Ann's with her words everywhere.
pub struct Words {
    pub bed: Bed,
    is_shared: bool,
    /// What stands for names in paths.
    names: Vec<(&'static str, String)>,
}

impl Words {
    pub async fn new(is_shared: bool) -> Self {
        let bed = Bed::of(&[ROLES, AGENT, PROMPTS, SERVED]).await;
        bed.talk(ANN, "anns-chat", "canary").await;
        let turn = bed.turn(ANN, "anns-chat", "canary").await;
        assert_eq!(turn.status, 200, "{}", turn.text);
        let value = json!({"value": "canary"});
        for path in [
            "/memory/user/keys/key-canary",
            "/memory/team/keys/key-canary",
        ] {
            assert_eq!(bed.send(ANN, Method::PUT, path, &value).await.status, 204);
        }
        if is_shared {
            let share = json!({"share": "team"});
            let shared = bed.send(ANN, Method::PUT, "/chat/sessions/anns-chat", &share);
            assert_eq!(shared.await.status, 200);
        }
        let collection = json!({"id": "anns-kb", "name": "canary", "keep": "file"});
        let made = bed.send(ANN, Method::POST, "/kb/collections", &collection);
        assert_eq!(made.await.status, 201);
        let document = json!({"doc_id": "anns-doc", "name": "canary.md", "text": "a canary"});
        let path = "/kb/collections/anns-kb/documents/text";
        let added = bed.send(ANN, Method::POST, path, &document).await;
        assert_eq!(added.status, 200, "{}", added.text);
        let document = bed.get(ANN, "/kb/documents/anns-doc").await.json();
        let chunks = bed.get(ANN, "/kb/documents/anns-doc/segments").await.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let header = |name: &str| turn.header(name).unwrap().to_owned();
        let names = vec![
            ("{chat}", "anns-chat".to_owned()),
            ("{row}", bed.row(ANN, "anns-chat").await),
            ("{request}", header("x-ambit-request")),
            ("{context}", header("x-ambit-context")),
            ("{made}", "r-canary".to_owned()),
            ("{key}", "key-canary".to_owned()),
            ("{job}", text(&document["job_id"])),
            ("{chunk}", text(&chunks["segments"][0]["id"])),
        ];
        Self {
            bed,
            is_shared,
            names,
        }
    }

    pub fn filled(&self, text: &str) -> String {
        let names = self.names.iter();
        names.fold(text.to_owned(), |text, (name, value)| {
            text.replace(name, value)
        })
    }

    /// Whether somebody may use the conversation.
    pub fn is_open_to(&self, who: Person) -> bool {
        let Person(tenant, user, team, limits) = who;
        let is_shared = self.is_shared && team == "red" && limits == "team";
        tenant == "t1" && (user == "ann" || limits == "whole" || is_shared)
    }

    /// The status that somebody may expect, and whether Ann's words may be in the answer.
    fn expected(&self, case: &Case, who: Person) -> (u16, bool) {
        let Person(tenant, user, team, limits) = who;
        let is_open = self.is_open_to(who);
        let is_hers = tenant == "t1" && (user == "ann" || limits == "whole");
        let given = |is_given: bool, status: u16| if is_given { status } else { 404 };
        match case.whose {
            For::Anybody => (200, false),
            For::Known(status) => (status, false),
            For::Caller => (success(case), self.may_be_listed(case.path, who)),
            For::Guest(status) => (given(is_open, status), is_open),
            For::Namesake => (given(user == "ann" || limits == "whole", 200), is_hers),
            For::Owner(status) => (given(is_hers, status), is_hers),
            For::Team => {
                let is_given = team == "red" || limits == "whole";
                (given(is_given, 200), is_given && tenant == "t1")
            }
            For::Nobody => (404, false),
            For::Refused(status) => (status, false),
            For::Operator(status) => (if limits == "whole" { status } else { 403 }, false),
        }
    }

    /// Whether a list may have Ann's words for somebody. A conversation that she shares is among the chats of her team, and
    /// among nothing else of theirs.
    fn may_be_listed(&self, path: &str, who: Person) -> bool {
        let Person(tenant, user, team, limits) = who;
        match path.split(['/', '?']).nth(1) {
            Some("memory") if path == "/memory/team" => tenant == "t1" && team == "red",
            Some("memory") => tenant == "t1" && user == "ann",
            Some("chat" | "trace") => self.is_open_to(who),
            _ => tenant == "t1" && (user == "ann" || limits == "whole"),
        }
    }

    async fn ask(&self, case: &Case, who: Option<Person>) -> Answer {
        let (method, _) = case.route.split_once(' ').unwrap();
        let (method, path) = (method.parse().unwrap(), self.filled(case.path));
        let base = match case.path.split(['?', '/']).nth(1) {
            Some("healthz" | "readyz" | "metrics" | "openapi.json" | ".well-known") => "",
            _ => "/v1",
        };
        let mut request = self.bed.site.request(method, &format!("{base}{path}"));
        if let Some(who) = who {
            request = request.bearer_auth(who.token());
        }
        if let Some(body) = &case.body {
            request = request.body(self.filled(&body.to_string()));
        }
        if !case.is_endless {
            return Answer::of(request).await;
        }
        let response = request.send().await.unwrap();
        Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: String::new(),
        }
    }
}

/// Of a call that changes something of the caller's own.
fn success(case: &Case) -> u16 {
    match (case.route.split(' ').next(), case.path.contains("/memory/")) {
        (Some("PUT" | "DELETE"), true) => 204,
        _ => 200,
    }
}

/// The answer without what was in the question.
fn words(answer: &Answer, path: &str) -> String {
    let parts = path
        .split(['/', '?', '=', '&'])
        .filter(|part| part.contains("canary"));
    parts.fold(answer.text.clone(), |text, part| text.replace(part, "…"))
}

#[test]
fn g059_every_route_has_a_case() {
    let routes = ambit::http::operations().into_iter();
    let routes: BTreeSet<String> = routes
        .map(|(method, path)| format!("{method} {path}"))
        .collect();
    let covered: BTreeSet<String> = cases().iter().map(|case| case.route.to_owned()).collect();
    assert_eq!(
        routes, covered,
        "a route has no row in tests/access/cases.rs, or a row has no route"
    );
}

async fn walk(is_shared: bool) {
    let mut words_of_ann = Words::new(is_shared).await;
    for case in cases() {
        for who in people() {
            let what = format!(
                "{} ({}) by {who:?}, shared: {is_shared}",
                case.route, case.path
            );
            let (status, may_see) = words_of_ann.expected(&case, who);
            let answer = words_of_ann.ask(&case, Some(who)).await;
            assert_eq!(answer.status, status, "{what}: {}", answer.text);
            let path = words_of_ann.filled(case.path);
            let is_seen = words(&answer, &path).contains("canary");
            assert!(may_see || !is_seen, "{what}: {}", answer.text);
            assert!(
                is_seen || !(case.shows && may_see),
                "{what}: {}",
                answer.text
            );
            let is_gone = case.route.starts_with("DELETE") || case.path.ends_with("/clear");
            if is_gone && matches!(answer.status, 200 | 204) {
                words_of_ann = Words::new(is_shared).await;
            }
        }
        for (who, expected) in [
            (None, 401),
            (Some(Person("t1", "ann", "red", "guest")), 403),
        ] {
            let expected = match (case.whose, who) {
                (For::Anybody, _) => 200,
                (For::Known(status), Some(_)) => status,
                _ => expected,
            };
            let answer = words_of_ann.ask(&case, who).await;
            assert_eq!(answer.status, expected, "{} by {who:?}", case.route);
            let path = words_of_ann.filled(case.path);
            let is_seen = words(&answer, &path).contains("canary");
            assert!(!is_seen, "{}", answer.text);
        }
        if !case.route.starts_with("GET") {
            words_of_ann = Words::new(is_shared).await;
        }
    }
}

#[tokio::test]
async fn g059_no_route_tells_anybody_of_a_private_conversation_who_may_not_see_it() {
    walk(false).await;
}

#[tokio::test]
async fn g059_no_route_tells_anybody_but_the_team_of_a_shared_conversation() {
    walk(true).await;
}

#[tokio::test]
async fn g061_a_limit_whose_value_is_missing_leaves_nothing() {
    let words_of_ann = Words::new(true).await;
    let lacking = Person("t1", "ann", "", "team");
    for case in cases()
        .iter()
        .filter(|case| matches!(case.whose, For::Guest(_)))
    {
        let answer = words_of_ann.ask(case, Some(lacking)).await;
        assert_eq!(answer.status, 404, "{}: {}", case.route, answer.text);
    }
    for path in [
        "/chat/sessions",
        "/contexts",
        "/memory/user",
        "/memory/team",
        "/trace/traces",
    ] {
        let answer = words_of_ann.bed.get(lacking, path).await.json();
        let list = answer.get("data").or(answer.get("items")).unwrap();
        assert_eq!(*list, Value::Array(Vec::new()), "{path}");
    }
}
