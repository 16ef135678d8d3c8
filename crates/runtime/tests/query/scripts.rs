//! Queries of scripts: the patterns of the reference as they are printed, `undefined`, and `Query`.

use crate::place::caller;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::{Authorized, TurnRequest};
use ambit_runtime::{Runtime, RuntimeSettings};
use ambit_storage::Stores;
use ambit_storage::driver::DriverOptions;
use serde_json::{Value, json};
use tempfile::TempDir;

/// From the reference, as it is printed there.
const REFERENCE: &str = r"
// Apply permission filter based on constraints
function applyPermissionFilter(ctx) {
  const authorized = ctx.authorized;
  const constraints = authorized?.constraints || {};
  const wheres = [];

  if (constraints.owner_only || constraints.creator_only) {
    wheres.push({ column: '__yao_created_by', value: authorized.user_id });
  }

  if (constraints.team_only && authorized.team_id) {
    wheres.push({ column: '__yao_team_id', value: authorized.team_id });
  }

  return wheres;
}

function createRecord(ctx, data) {
  const authorized = ctx.authorized;
  return Process('models.agents.expense.voucher.Create', {
    ...data,
    __yao_created_by: authorized.user_id,
    __yao_updated_by: authorized.user_id,
    __yao_team_id: authorized.team_id || null,
    __yao_tenant_id: authorized.tenant_id || null
  });
}

function getRecords(ctx) {
  const authorized = ctx.authorized;
  const constraints = authorized?.constraints || {};

  const wheres = [];

  // Team-based access: user's own records OR team records
  if (constraints.team_only && authorized.team_id) {
    wheres.push({
      wheres: [
        { column: '__yao_created_by', value: authorized.user_id },
        {
          column: '__yao_team_id',
          value: authorized.team_id,
          method: 'orwhere'
        }
      ]
    });
  }
  // Owner-only access
  else if (constraints.owner_only) {
    wheres.push({ column: '__yao_created_by', value: authorized.user_id });
  }

  return Process('models.agents.expense.voucher.Get', {
    select: ['id', 'title', 'amount'],
    wheres: wheres
  });
}
";

const NEXT: &str = r"
export function Next(ctx, payload) {
  try { return { data: { value: answer(ctx) ?? null } }; }
  catch (error) { return { data: { error: [error.code, error.message] } }; }
}
";

fn write(folder: &TempDir, file: &str, text: &str) {
    let path = folder.path().join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// An app whose one agent answers with the value of an expression, for whoever asks.
struct Shop {
    runtime: Runtime,
    folder: TempDir,
}

impl Shop {
    async fn open() -> Self {
        let folder = TempDir::new().unwrap();
        let voucher = json!({
            "name": "Voucher",
            "columns": [
                {"name": "id", "type": "ID"},
                {"name": "title", "type": "string"},
                {"name": "amount", "type": "integer"},
            ],
            "option": {"permission": true},
        });
        let write = |file: &str, text: &str| write(&folder, file, text);
        write("app.yao", r#"{"name": "Test"}"#);
        write("assistants/expense/package.yao", r#"{"name": "Expense"}"#);
        write(
            "assistants/expense/models/voucher.mod.yao",
            &voucher.to_string(),
        );
        Self {
            runtime: Runtime::open(RuntimeSettings::new(
                folder.path(),
                Stores::builder(DriverOptions::default()).build().unwrap(),
            ))
            .await
            .unwrap(),
            folder,
        }
    }

    /// What a script says to somebody: the value of an expression, or what it throws.
    async fn say(&self, who: &Authorized, expression: &str) -> Value {
        let script = format!("{REFERENCE}\nconst answer = (ctx) => ({expression});\n{NEXT}");
        write(&self.folder, "assistants/expense/src/index.js", &script);
        self.runtime.reload().await.unwrap();
        let request = TurnRequest {
            authorized: who.clone(),
            agent: "expense".to_owned(),
            messages: vec![ChatMessage::user("hi")],
            ..TurnRequest::default()
        };
        let mut started = self.runtime.start(request).await.unwrap();
        let mut last = Value::Null;
        while let Some(entries) = started.stream.next().await.unwrap() {
            for entry in entries {
                last = serde_json::from_str(&entry.text).unwrap();
            }
        }
        let next = &last["props"]["data"]["next"];
        let said = next.get("value").or(next.get("error"));
        said.cloned()
            .unwrap_or_else(|| panic!("the hook failed: {last}"))
    }
}

#[tokio::test]
async fn the_references_patterns_run_as_printed_and_only_narrow() {
    let shop = Shop::open().await;
    let of_team = |user: &str, team: &str| {
        caller(json!({"user_id": user, "team_id": team, "constraints": {"team_only": true}}))
    };
    let own = |user: &str| caller(json!({"user_id": user, "constraints": {"owner_only": true}}));
    let stranger =
        caller(json!({"user_id": "ann", "tenant_id": "acme", "constraints": {"owner_only": true}}));
    let make = |title: &str| format!("createRecord(ctx, {{ title: \"{title}\", amount: 1 }})");
    for (id, who, title) in [
        (1, of_team("ann", "red"), "red of ann"),
        (2, of_team("bob", "red"), "red of bob"),
        (3, of_team("eve", "blue"), "blue of eve"),
        (4, own("ann"), "ann's"),
        (5, stranger.clone(), "elsewhere"),
    ] {
        assert_eq!(shop.say(&who, &make(title)).await, json!(id));
    }
    let row = |id: i64, title: &str| json!({"id": id, "title": title, "amount": 1});
    let (red_ann, red_bob) = (row(1, "red of ann"), row(2, "red of bob"));
    let (blue, anns) = (row(3, "blue of eve"), row(4, "ann's"));
    for (who, rows) in [
        (of_team("ann", "red"), json!([red_ann, red_bob, anns])),
        (of_team("bob", "red"), json!([red_ann, red_bob])),
        (of_team("eve", "blue"), json!([blue])),
        (own("ann"), json!([red_ann, anns])),
        (own("nobody"), json!([])),
        (stranger, json!([row(5, "elsewhere")])),
        (caller(json!({})), json!([])),
        (
            caller(json!({"user_id": "root"})),
            json!([red_ann, red_bob, blue, anns]),
        ),
    ] {
        assert_eq!(shop.say(&who, "getRecords(ctx)").await, rows, "{who:?}");
    }
    let filter =
        "Process('models.agents.expense.voucher.Count', { wheres: applyPermissionFilter(ctx) })";
    assert_eq!(shop.say(&of_team("ann", "red"), filter).await, json!(2));
    assert_eq!(shop.say(&own("ann"), filter).await, json!(2));
}

#[tokio::test]
async fn undefined_is_a_missing_value_and_never_no_condition() {
    let shop = Shop::open().await;
    let who = caller(json!({"user_id": "ann"}));
    let get = |wheres: &str| {
        format!("Process('models.agents.expense.voucher.Get', {{ wheres: {wheres} }})")
    };
    let of = "models.agents.expense.voucher: ";
    for (wheres, message) in [
        (
            "[{ column: '__yao_created_by', value: ctx.authorized.nothing }]",
            "value is missing in wheres[0] (__yao_created_by)",
        ),
        (
            "[{ column: 'id', op: 'in', value: [undefined] }]",
            "value must not be null for \"in\" in wheres[0] (id)",
        ),
        ("[undefined]", "a condition must be an object in wheres[0]"),
        (
            "[{ column: undefined, value: 1 }]",
            "column is missing in wheres[0]",
        ),
    ] {
        let said = shop.say(&who, &get(wheres)).await;
        assert_eq!(
            said,
            json!(["invalid_argument", format!("{of}{message}")]),
            "{wheres}"
        );
    }
}

#[tokio::test]
async fn query_answers_scripts_and_finds_the_agents_models_by_their_last_name() {
    let shop = Shop::open().await;
    let ann = caller(json!({"user_id": "ann", "constraints": {"owner_only": true}}));
    let bob = caller(json!({"user_id": "bob", "constraints": {"owner_only": true}}));
    for (who, title) in [(&ann, "one"), (&bob, "two"), (&ann, "three")] {
        let make = format!("createRecord(ctx, {{ title: '{title}', amount: 1 }})");
        shop.say(who, &make).await;
    }
    let query = |rest: &str| format!("Query().{rest}");
    for (expression, expected) in [
        (
            query("Get({ select: ['title'], from: 'voucher' })"),
            json!([{"title": "one"}, {"title": "three"}]),
        ),
        (
            query("Get({ select: [':COUNT(*) as n'], from: '$agents.expense.voucher' })"),
            json!([{"n": 2}]),
        ),
        (
            query("First({ select: 'title', from: 'agents_expense_voucher', orders: 'id desc' })"),
            json!({"title": "three"}),
        ),
        (
            query("First({ select: 'title', from: 'voucher', wheres: [{ field: 'id', '=': 2 }] })"),
            Value::Null,
        ),
        (
            query("Run({ select: 'title', from: 'voucher', first: true })"),
            json!({"title": "one"}),
        ),
        (
            query("Paginate({ select: 'title', from: 'voucher', pagesize: 1 })"),
            json!({"data": [{"title": "one"}], "page": 1, "pagesize": 1, "pagecnt": 2, "next": 2, "prev": -1, "total": 2}),
        ),
        (
            query(
                "Get({ select: 'title', from: 'voucher', wheres: [{ field: 'title', '=': '?:t' }] }, { t: 'one' })",
            ),
            json!([{"title": "one"}]),
        ),
        (
            query("Lint({ select: 'title', from: 'voucher' })"),
            json!({"valid": true, "diagnostics": []}),
        ),
        (
            query("Lint({ select: 'titel', from: 'voucher', sql: {} })"),
            json!({"valid": false, "diagnostics": [
                {"code": "refused", "path": "sql", "message": "sql is refused: a query names models and fields"},
                {"code": "unknown_column", "path": "select[0]", "message": "unknown column \"titel\" (did you mean \"title\"?)"},
            ]}),
        ),
        (
            query("Get({ select: 'title', from: 'nothing' })"),
            json!([
                "invalid_argument",
                "Query: unknown table \"nothing\" in from"
            ]),
        ),
        (
            query("Get({ from: 'voucher', wheres: [{ field: 'id', op: '=', value: undefined }] })"),
            json!([
                "invalid_argument",
                "Query: value is missing in wheres[0] (id)"
            ]),
        ),
        (
            "Query('default').Get({ select: ['id'], from: 'voucher', limit: 1 })".to_owned(),
            json!([{"id": 1}]),
        ),
        (
            "Query('other')".to_owned(),
            json!([
                "invalid_argument",
                "unknown query engine \"other\": there is only \"default\""
            ]),
        ),
    ] {
        assert_eq!(shop.say(&ann, &expression).await, expected, "{expression}");
    }
}
