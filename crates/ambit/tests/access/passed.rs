//! What a scope leaves of the data is passed on as it is, and nothing in a script changes it.

use crate::bed::{Bed, Person};
use crate::site::Site;
use reqwest::Method;
use serde_json::{Value, json};

const FILES: &[(&str, &str)] = &[
    (
        "openapi/roles.yml",
        r#"
seller: {scopes: ["chat:sell:own", "memory:use:all"]}
manager: {scopes: ["chat:sell:own", "chat:manage:team"]}
eu: {scopes: ["chat:region:eu"]}
both: {scopes: ["chat:region:eu", "chat:region:us"]}
boss: {scopes: ["*:*:*"]}
"#,
    ),
    (
        "openapi/scopes/chat.yml",
        r#"
chat:sell:own: {endpoints: ["POST /chat/completions"]}
chat:manage:team: {endpoints: ["POST /chat/completions"]}
chat:region:eu: {editor: true, extra: {region: eu}, endpoints: ["POST /chat/completions"]}
chat:region:us: {editor: true, extra: {region: us}, endpoints: ["POST /chat/completions"]}
chat:any:all: {endpoints: ["POST /chat/completions"]}
memory:use:all: {endpoints: ["GET /memory/*"]}
"#,
    ),
    (
        "assistants/mirror/package.yao",
        "{\"name\": \"Mirror\", \"public\": true, \"mcp\": {\"servers\": [\"tools\"]}, \"connector\": \"calls\"}",
    ),
    (
        "assistants/mirror/prompts.yml",
        "- {role: system, content: x}\n",
    ),
    (
        "connectors/calls.conn.yao",
        r#"{"label": "c", "type": "scripted", "options": {"model": "m", "rules": [
            {"match": {"has_tool_result": false}, "tool_calls": [{"name": "tools__who", "arguments": {}}]},
            {"reply": "done"}]}}"#,
    ),
    (
        "assistants/mirror/src/index.ts",
        r#"
function widen(ctx) {
    ctx.authorized.constraints = {};
    ctx.authorized.user_id = "chief";
    ctx.authorized.tenant_id = "t2";
    Object.assign(Authorized(), { constraints: {}, user_id: "chief" });
}
export function Create(ctx) {
    widen(ctx);
    return { authorized: { constraints: {} }, metadata: { authorized: { constraints: {} }, user_id: "chief" } };
}
export function Next(ctx, payload) {
    const next = Authorized();
    widen(ctx);
    ctx.memory.user.Set("written", true);
    const data = {
        next,
        process: Process("scripts.who.Am", {}),
        nested: Process("scripts.who.Nested"),
        all: All([{ process: "scripts.who.Am", args: [{}] }])[0].data,
        fork: ctx.agent.Call("fork", [{ role: "user", content: "x" }]).response.next,
        detached: new Context({ assistant_id: "mirror" }).authorized,
        tool: payload.tools[0].result,
    };
    return { data };
}
"#,
    ),
    ("assistants/fork/package.yao", "name: Fork"),
    (
        "assistants/fork/src/index.ts",
        "export function Next(ctx) { return { data: Authorized() }; }",
    ),
    (
        "scripts/who.ts",
        r#"
export function Am(given, ctx) { return Authorized(); }
export function Nested() { Object.assign(Authorized(), { constraints: {} }); return Process("scripts.who.Am", {}); }
"#,
    ),
    (
        "mcps/tools.mcp.yao",
        r#"{"label": "Tools", "transport": "process", "tools": {"who": "scripts.who.Am"}}"#,
    ),
    (
        "mcps/mapping/tools/schemes/who.in.yao",
        r#"{"description": "Who", "type": "object", "properties": {}}"#,
    ),
];

async fn seen(bed: &Bed, who: Person) -> Value {
    let body = json!({"model": "mirror", "metadata": {"constraints": {}}, "messages": [{"role": "user", "content": "x"}]});
    let answer = bed
        .send(who, Method::POST, "/chat/completions", &body)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["ambit"]["next"].take()
}

#[tokio::test]
async fn g063_limits_reach_every_script_of_a_turn_and_no_script_changes_them() {
    let bed = Bed::of(FILES).await;
    for (role, team, limits) in [
        ("seller", "red", json!({"owner_only": true})),
        ("manager", "red", json!({"team_only": true})),
        (
            "eu",
            "red",
            json!({"editor_only": true, "extra": {"region": "eu"}}),
        ),
        (
            "both",
            "red",
            json!({"editor_only": true, "extra": {"region": ["eu", "us"]}}),
        ),
        ("boss", "", Value::Null),
    ] {
        let who = Person("t1", "ann", team, role);
        let found = seen(&bed, who).await;
        for place in [
            "next", "process", "nested", "all", "fork", "detached", "tool",
        ] {
            let authorized = &found[place];
            assert_eq!(
                authorized["constraints"], limits,
                "{place} of {role}: {found:#}"
            );
            assert_eq!(
                (&authorized["user_id"], &authorized["tenant_id"]),
                (&json!("ann"), &json!("t1")),
                "{place}"
            );
        }
    }
    // What scripts made of themselves, the host never read.
    let memory = bed
        .get(Person("t1", "ann", "red", "seller"), "/memory/user")
        .await
        .json();
    assert_eq!(memory["data"][0]["key"], "written");
    for other in [
        Person("t1", "chief", "", "boss"),
        Person("t2", "ann", "red", "boss"),
    ] {
        let memory = bed.get(other, "/memory/user").await.json();
        assert_eq!(memory["total"], 0, "{other:?}");
    }
}

#[tokio::test]
async fn a_developer_has_the_limits_that_the_file_says_or_the_usual_ones() {
    let mirror: Vec<(&str, &str)> = FILES[2..].to_vec();
    for (person, limits) in [
        (json!({}), json!({"owner_only": true})),
        (
            json!({"user_id": "ann", "team_id": "red"}),
            json!({"team_only": true}),
        ),
        (
            json!({"user_id": "ann", "team_id": "red", "constraints": {"editor_only": true}}),
            json!({"editor_only": true}),
        ),
        (json!({"user_id": "ann", "constraints": {}}), Value::Null),
        (
            json!({"user_id": "ann", "roles": ["admin"], "scope": "x"}),
            json!({"owner_only": true}),
        ),
    ] {
        let file = json!({"auth": {"dev_identity": person}}).to_string();
        let access = ("openapi/openapi.yao", file.as_str());
        let site = Site::of(&[mirror.as_slice(), &[access]].concat()).await;
        let body = json!({"model": "mirror", "messages": [{"role": "user", "content": "x"}]});
        let answer = site.post("/v1/chat/completions", &body).await.json();
        assert_eq!(
            answer["ambit"]["next"]["next"]["constraints"], limits,
            "{person}: {answer}"
        );
        let who = &answer["ambit"]["next"]["next"];
        assert_eq!(who["scope"], person["scope"], "{person}: {answer}");
        // Rules are read in development too, and not followed.
        assert_eq!(site.get("/metrics").await.status, 200);
    }
}
