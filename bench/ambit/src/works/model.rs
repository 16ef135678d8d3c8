//! W12: a model's query from a hook, against the same query by the bare driver on the same rows.

use super::Bench;
use crate::Result;
use crate::measure::{Row, median};
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::model::{self, ModelStore};
use ambit_runtime::{Authorized, TurnRequest};
use ambit_runtime::{Runtime, RuntimeSettings};
use ambit_storage::Stores;
use ambit_storage::driver::DriverOptions;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;

/// Rows that one query finds.
const FOUND: usize = 20;
/// Shelves, each with as many rows.
const SHELVES: usize = 500;
/// Queries of a hook, which a script's clock can tell from none.
const QUERIES: usize = 400;
/// Hooks, and rounds of the bare driver between them.
const ROUNDS: usize = 9;

const SQL: &str = r#"SELECT "id", "title", "shelf", "amount", "note", "at" FROM "item" WHERE "shelf" = $1 ORDER BY "id" DESC LIMIT 20"#;

const HOOK: &str = r#"
function fill(shelves, found) {
  const columns = ["title", "shelf", "amount", "note", "at"];
  for (let shelf = 0; shelf < shelves; shelf++) {
    const rows = [];
    for (let n = 0; n < found; n++)
      rows.push([`item ${n} of ${shelf}`, shelf, n * 3, "a note about this item ".repeat(3), "2026-01-31 13:05:00"]);
    Process("models.item.Insert", columns, rows);
  }
  return 0;
}
function ask(times, shelves) {
  const start = Date.now();
  let rows = 0;
  for (let n = 0; n < times; n++) rows += Process("models.item.Get", {
    select: ["id", "title", "shelf", "amount", "note", "at"],
    wheres: [{ column: "shelf", value: n * 7 % shelves }], orders: [{ column: "id", option: "desc" }], limit: 20,
  }).length;
  return { spent: Date.now() - start, rows };
}
export function Next(ctx) {
  const { fill: isEmpty, times, shelves, found } = ctx.metadata;
  return { data: isEmpty ? fill(shelves, found) : ask(times, shelves) };
}
"#;

pub async fn run(bench: &Bench) -> Result<()> {
    if bench.store.contexts || bench.store.normal {
        return Ok(());
    }
    let file = bench.store.url.strip_prefix("sqlite:");
    let store = match bench.scheme() {
        "sqlite" => ModelStore::Sqlite(format!("{}-w12", file.unwrap_or_default()).into()),
        "postgres" => ModelStore::Postgres(bench.store.url.clone()),
        _ => return Ok(()),
    };
    let app = write()?;
    let runtime = open(app.path(), store.clone()).await?;
    let shelves = json!({"shelves": SHELVES, "found": FOUND, "times": QUERIES});
    let mut fill = shelves.clone();
    fill["fill"] = json!(true);
    turn(&runtime, fill).await?;
    let bare = Bare::open(&store).await?;
    let (mut hooks, mut drivers) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let data = turn(&runtime, shelves.clone()).await?;
        if data["rows"] != json!(QUERIES * FOUND) {
            return Err(format!("the hook found {}", data["rows"]).into());
        }
        hooks.push(data["spent"].as_f64().unwrap_or_default() / QUERIES as f64);
        drivers.push(bare.ask().await? / QUERIES as f64);
    }
    let row = |work, note| Row {
        work,
        p: FOUND,
        unit: "ms",
        note,
    };
    let note = "Process(\"models.item.Get\", …), an index, an order, a limit";
    bench
        .output
        .row(row("W12 query from a hook", note), median(hooks));
    let note = "the same statement, prepared, its rows read as values";
    bench
        .output
        .row(row("W12 query by the bare driver", note), median(drivers));
    runtime.close(std::time::Duration::ZERO).await?;
    Ok(())
}

fn write() -> Result<TempDir> {
    let folder = TempDir::with_prefix("ambit-bench-model-")?;
    let model = json!({
        "name": "Item",
        "columns": [
            {"name": "id", "type": "ID"},
            {"name": "title", "type": "string"},
            {"name": "shelf", "type": "integer", "index": true},
            {"name": "amount", "type": "integer"},
            {"name": "note", "type": "text"},
            {"name": "at", "type": "datetime"},
        ],
    });
    for (file, text) in [
        ("app.yao", json!({"name": "Bench"}).to_string()),
        ("models/item.mod.yao", model.to_string()),
        (
            "assistants/clerk/package.yao",
            json!({"name": "clerk", "public": true}).to_string(),
        ),
        ("assistants/clerk/src/index.js", HOOK.to_owned()),
    ] {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        std::fs::write(path, text)?;
    }
    Ok(folder)
}

async fn open(app: &Path, store: ModelStore) -> Result<Runtime> {
    let settings = RuntimeSettings {
        models: model::ModelSettings { store, key: None },
        ..RuntimeSettings::new(app, Stores::builder(DriverOptions::default()).build()?)
    };
    Ok(Runtime::open(settings).await?)
}

/// What the hook of a turn gives.
async fn turn(runtime: &Runtime, metadata: Value) -> Result<Value> {
    let request = TurnRequest {
        authorized: Authorized {
            user_id: Some("u1".to_owned()),
            ..Authorized::default()
        },
        agent: "clerk".to_owned(),
        messages: vec![ChatMessage::user("go")],
        metadata: metadata.as_object().cloned().unwrap_or_default(),
        ..TurnRequest::default()
    };
    let mut started = runtime.start(request).await?;
    let mut last = Value::Null;
    while let Some(entries) = started.stream.next().await? {
        for entry in entries {
            last = serde_json::from_str(&entry.text)?;
        }
    }
    match last["props"]["data"].get("next") {
        Some(next) => Ok(next.clone()),
        None => Err(format!("the hook failed: {last}").into()),
    }
}

/// The driver, without anything of Ambit's.
enum Bare {
    Sqlite(rusqlite::Connection),
    Postgres(tokio_postgres::Client, tokio_postgres::Statement),
}

impl Bare {
    async fn open(store: &ModelStore) -> Result<Self> {
        match store {
            ModelStore::Postgres(url) => {
                let server = url.split('?').next().unwrap_or(url);
                let (client, connection) =
                    tokio_postgres::connect(server, tokio_postgres::NoTls).await?;
                tokio::spawn(connection);
                client.batch_execute("SET search_path TO models").await?;
                let prepared = client.prepare(SQL).await?;
                Ok(Self::Postgres(client, prepared))
            }
            ModelStore::Sqlite(path) => Ok(Self::Sqlite(rusqlite::Connection::open(path)?)),
            ModelStore::Memory => Err("there is no driver without a database".into()),
        }
    }

    /// Milliseconds of as many queries as a hook makes.
    async fn ask(&self) -> Result<f64> {
        let start = Instant::now();
        let mut found = 0;
        for number in 0..QUERIES {
            let shelf = i32::try_from(number * 7 % SHELVES)?;
            found += match self {
                Self::Sqlite(connection) => in_sqlite(connection, shelf)?,
                Self::Postgres(client, prepared) => in_postgres(client, prepared, shelf).await?,
            };
        }
        let spent = start.elapsed().as_secs_f64() * 1e3;
        match found == QUERIES * FOUND {
            true => Ok(spent),
            false => Err(format!("the driver found {found} rows").into()),
        }
    }
}

fn in_sqlite(connection: &rusqlite::Connection, shelf: i32) -> Result<usize> {
    let mut prepared = connection.prepare_cached(SQL)?;
    let rows = prepared.query_map([shelf], |row| {
        let cells = (0..6).map(|at| row.get::<_, rusqlite::types::Value>(at));
        cells.collect::<rusqlite::Result<Vec<_>>>()
    })?;
    let rows: Vec<_> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(std::hint::black_box(rows).len())
}

async fn in_postgres(
    client: &tokio_postgres::Client,
    prepared: &tokio_postgres::Statement,
    shelf: i32,
) -> Result<usize> {
    let rows = client.query(prepared, &[&shelf]).await?;
    let read = rows.iter().map(|row| {
        let texts = (row.get::<_, String>(1), row.get::<_, String>(4));
        let numbers = (
            row.get::<_, i64>(0),
            row.get::<_, i32>(2),
            row.get::<_, i32>(3),
        );
        (texts, numbers)
    });
    let read: Vec<_> = read.collect();
    Ok(std::hint::black_box(read).len())
}
