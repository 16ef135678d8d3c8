//! Models as processes of scripts and as tools of models.

use crate::bed::{Place as Store, both, short_names};
use crate::place::{Place, person, place_over};
use ambit_runtime::model;
use serde_json::{Value, json};

const PET: (&str, &str) = (
    "models/pet.mod.yao",
    r#"{"name": "Pet", "columns": [{"name": "id", "type": "ID"}, {"name": "name", "type": "string"}],
        "option": {"permission": true}}"#,
);

/// What the agent's hook answers Ann.
async fn value(store: &Store, files: &[(&str, &str)], expression: &str) -> Value {
    let place = over(store, files, expression).await;
    let answer = place.answer(&person("ann")).await;
    place
        .runtime
        .close(std::time::Duration::ZERO)
        .await
        .unwrap();
    answer
}

async fn over(store: &Store, files: &[(&str, &str)], expression: &str) -> Place {
    let models = model::ModelSettings {
        store: store.store.clone(),
        key: None,
    };
    place_over(files, expression, models).await
}

#[tokio::test]
async fn scripts_call_models_under_the_callers_name() {
    both(async |store| {
        let expression = "[
            Process('models.pet.Create', { name: 'Rex' }),
            Process('models.pet.find', 1, { select: ['name', '__yao_created_by'] }),
            Process('models.pet.Count', { wheres: [{ column: 'name', value: 'Tom' }] }),
        ]";
        let found = value(store, &[PET], expression).await;
        let row = json!({"name": "Rex", "__yao_created_by": "ann"});
        assert_eq!(found, json!([1, row, 0]));
    })
    .await;
}

#[tokio::test]
async fn what_a_database_states_of_a_refusal_is_told_where_all_is_told() {
    both(async |store| {
        let bed = store.open(&[PET]);
        bed.change_tables(short_names).await;
        bed.models.database().close().await.unwrap();
        let create = "Process('models.pet.Create', { name: 'canary4711' })";
        let told = value(store, &[PET], create).await;
        assert_eq!(told[0], "invalid_argument");
        let why = told[1].as_str().unwrap();
        assert!(
            why.contains("does not allow the row: the row is refused with "),
            "{why}"
        );
        assert!(!why.contains("canary4711"), "{why}");
    })
    .await;
}

#[tokio::test]
async fn what_is_undefined_is_missing_and_not_everything() {
    both(async |store| {
        let nobody = "Process('models.pet.Get', { wheres: [{ column: '__yao_created_by', value: ctx.authorized.nobody }] })";
        let message = "models.pet: value is missing in wheres[0] (__yao_created_by)";
        assert_eq!(value(store, &[PET], nobody).await, json!(["invalid_argument", message]));
        let id = "Process('models.pet.Delete', ctx.authorized.nobody)";
        assert_eq!(value(store, &[PET], id).await[0], json!("invalid_argument"));
    })
    .await;
}

#[tokio::test]
async fn unknown_models_and_methods_are_processes_that_are_not_there() {
    both(async |store| {
        for (name, error) in [
            (
                "models.pet.Gett",
                json!([
                    "not_found",
                    "process not found: models.pet.Gett (did you mean \"models.pet.Get\"?)"
                ]),
            ),
            (
                "models.nothing.Frobnicate",
                json!(["not_found", "process not found: models.nothing.Frobnicate"]),
            ),
            (
                "models.pet.Migrate",
                json!([
                    "permission_denied",
                    "permission_denied: process models.pet.Migrate is for the operator"
                ]),
            ),
            (
                "model.list",
                json!(["permission_denied", "permission_denied: process model.list"]),
            ),
            (
                "models.bad.Get",
                json!([
                    "config_error",
                    "model \"bad\" cannot be used: models/bad.mod.yao:1:1: \"columns\" is missing"
                ]),
            ),
        ] {
            let expression = format!("Process('{name}')");
            let files = [PET, ("models/bad.mod.yao", "{}")];
            assert_eq!(value(store, &files, &expression).await, error);
        }
    })
    .await;
}

#[tokio::test]
async fn scripts_learn_what_models_there_are() {
    let app = (
        "app.yao",
        r#"{"name": "Test", "ambit": {"capabilities": {"process": ["*"]}}}"#,
    );
    both(async |store| {
        let expression = "[
            Process('model.list').map((it: any) => it.id), Process('model.exists', 'pet'), Process('model.exists', 'pets'),
            Process('model.dsl', 'pet').name, Process('models.bad.Exists'), Process('models.pet.Metadata').id,
        ]";
        let files = [app, PET, ("models/bad.mod.yao", "{}")];
        let found = value(store, &files, expression).await;
        assert_eq!(found, json!([["__yao.role", "pet"], true, false, "Pet", false, "pet"]));
    })
    .await;
}

#[tokio::test]
async fn roles_are_read_and_never_written() {
    let roles = "user: {name: User, scopes: ['chat:all'], default: true}\nadmin: {name: Admin, scopes: ['*:*:*'], restricted: ['x:y:z']}\n";
    both(async |store| {
        let files = [("openapi/roles.yml", roles)];
        let query = "{ select: ['role_id', 'name', 'permissions', 'restricted_permissions', 'is_default'] }";
        let expression = format!("Process('models.__yao.role.Get', {query})");
        let expected = json!([
            {"role_id": "admin", "name": "Admin", "permissions": ["*:*:*"], "restricted_permissions": ["x:y:z"], "is_default": false},
            {"role_id": "user", "name": "User", "permissions": ["chat:all"], "restricted_permissions": [], "is_default": true},
        ]);
        assert_eq!(value(store, &files, &expression).await, expected);
        for call in ["Create', { role_id: 'x' }", "DestroyWhere', { all: true }", "Update', 1, { name: 'x' }"] {
            let expression = format!("Process('models.__yao.role.{call})");
            let message = "permission_denied: models.__yao.role can be read only";
            assert_eq!(value(store, &files, &expression).await, json!(["permission_denied", message]));
        }
    })
    .await;
}

#[tokio::test]
async fn a_reload_reads_the_models_again() {
    both(async |store| {
        let expression = "[Process('models.pet.Create', { name: 'Rex', ...ctx.metadata }), Process('models.pet.Get', { select: ['*'].slice(1) })]";
        let place = over(store, &[PET], expression).await;
        let row = |id: u32| json!({"id": id, "name": "Rex", "__yao_created_by": "ann", "__yao_updated_by": "ann",
            "__yao_team_id": null, "__yao_tenant_id": null});
        assert_eq!(place.answer(&person("ann")).await, json!([1, [row(1)]]));
        let more = PET.1.replace(
            r#""type": "string"}"#,
            r#""type": "string"}, {"name": "age", "type": "integer", "default": 3}"#,
        );
        let file = place.app.path().join(PET.0);
        std::fs::write(&file, more).unwrap();
        place.runtime.reload().await.unwrap();
        let aged = |id: u32| {
            let mut row = row(id);
            row["age"] = json!(3);
            row
        };
        assert_eq!(place.answer(&person("ann")).await, json!([2, [aged(1), aged(2)]]));
        // What would narrow a table changes nothing.
        std::fs::write(&file, PET.1.replace("\"string\"", "\"integer\"")).unwrap();
        let error = place.runtime.reload().await.expect_err("a text is no number");
        assert!(error.message.contains("models/pet.mod.yao: models.pet: column \"name\""), "{}", error.message);
        assert_eq!(place.answer(&person("bob")).await[0], json!(3));
        place.runtime.close(std::time::Duration::ZERO).await.unwrap();
    })
    .await;
}

const TOOLS: [(&str, &str); 6] = [
    (
        "assistants/hello/package.yao",
        r#"{"name": "Hello", "connector": "model", "mcp": {"servers": ["own"]}}"#,
    ),
    (
        "assistants/hello/prompts.yml",
        "- role: system\n  content: Be kind.\n",
    ),
    (
        "connectors/model.conn.yao",
        r#"{"type": "scripted", "options": {"model": "m", "capabilities": {"tool_calls": true}, "rules": [
            {"match": {"has_tool_result": true}, "reply": "done"},
            {"tool_calls": [{"name": "own__add", "arguments": {"name": "Rex"}}, {"name": "own__list", "arguments": {}},
                {"name": "own__get", "arguments": {"id": 1}}]}]}}"#,
    ),
    (
        "mcps/own.mcp.yao",
        r#"{"transport": "process", "tools": {"add": "models.pet.Create", "list": "models.pet.Get", "get": "models.pet.Find"}}"#,
    ),
    (
        "mcps/mapping/own/schemes/add.in.yao",
        r#"{"type": "object", "description": "Adds.", "properties": {"name": {"type": "string"}}}"#,
    ),
    (
        "mcps/mapping/own/schemes/list.in.yao",
        r#"{"type": "object", "description": "Lists.", "x-process-args": [{"select": ["name"]}]}"#,
    ),
];

const GET: (&str, &str) = (
    "mcps/mapping/own/schemes/get.in.yao",
    r#"{"type": "object", "description": "Gets.", "properties": {"id": {"type": "integer"}},
        "x-process-args": ["$args.id", {"select": ["name"]}]}"#,
);

#[tokio::test]
async fn a_model_uses_models_as_tools_with_the_callers_rights() {
    let hooks = "export function Next(ctx: any, payload: any) {
        return { data: { value: payload.tools.map((it: any) => it.error ?? it.result) } }; }";
    both(async |store| {
        let files = [&TOOLS[..], &[PET, GET, ("assistants/hello/src/index.ts", hooks)]].concat();
        let one_by_one = files.iter().map(|(file, text)| {
            (*file, text.replace("\"mcp\": {", "\"mcp\": {\"options\": {\"parallel\": false}, "))
        });
        let files: Vec<(&str, String)> = one_by_one.collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (*file, text.as_str())).collect();
        let place = over(store, &files, "").await;
        let owner = |name: &str| crate::bed::who(json!({"user_id": name, "constraints": {"owner_only": true}}));
        let own = json!([{"name": "Rex"}]);
        let answer = place.answer(&owner("ann")).await;
        assert_eq!(answer, json!([1, own, {"name": "Rex"}]));
        let absent = "Error executing tool get: models.pet: there is no row 1";
        let answer = place.answer(&owner("bob")).await;
        assert_eq!(answer, json!([2, own, absent]));
        let answer = place.answer(&crate::bed::who(json!({}))).await;
        let refused = "Error executing tool add: permission_denied: models.pet: nobody in particular is calling";
        assert_eq!(answer, json!([refused, [], absent]));
        place.runtime.close(std::time::Duration::ZERO).await.unwrap();
    })
    .await;
}
