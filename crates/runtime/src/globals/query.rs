//! `Query`: queries over the app's data.

use crate::ctx::{ScriptCall, ScriptClass, ScriptMethod, rows};
use crate::error::{Error, Result};
use crate::hook::failure;
use crate::model::database::Transaction;
use crate::model::query::{QueryDsl, QueryRequest, ReadContext};
use crate::optional::optional;
use ambit_script::{HostObject, HostValue};
use serde_json::{Map, Value};

/// What a query gives.
#[derive(Clone, Copy)]
enum QueryMethod {
    Rows,
    First,
    Page,
    AsItSays,
}

const GIVEN: Option<(usize, &str)> = Some((1, "a query argument"));

/// The queries of an app.
pub const QUERY: ScriptClass = ScriptClass {
    name: "Query",
    place: "Query(engine)",
    doc: "Queries over the tables of loaded models, as objects. Each table is cut down to the rows that the caller may see.",
    members: &[],
    methods: &[rows! {
        "Get(query: QueryDSL, values?: Record<string, any>): any[]", GIVEN, run(QueryMethod::Rows):
            "The rows; `values` stand for `?:name` in the query. Without a limit at most 10 000, more throws.",
        "First(query: QueryDSL, values?: Record<string, any>): any", GIVEN, run(QueryMethod::First):
            "The first row; null if there is none.",
        "Paginate(query: QueryDSL, values?: Record<string, any>): any", GIVEN, run(QueryMethod::Page):
            "A page of rows: `{data, page, pagesize, pagecnt, next, prev, total}`.",
        "Run(query: QueryDSL, values?: Record<string, any>): any", GIVEN, run(QueryMethod::AsItSays):
            "A page where the query has `page` or `pagesize`, the first row where it says `first`, else the rows.",
        "Lint(query: QueryDSL, values?: Record<string, any>): QueryLint", GIVEN, lint:
            "What is wrong with a query, without running it.",
    }],
    is_lenient: false,
};

/// `Query(engine?)`.
pub const QUERIES: &[ScriptMethod] = rows! {
    "Query(engine?: string): Query", None, open: "Queries over the app's data; the engine is always `default`.",
};

async fn open(call: &ScriptCall<'_>) -> Result<HostValue> {
    match call.given(0) {
        None | Some(Value::Null) => {}
        Some(Value::String(engine)) if engine == "default" => {}
        Some(engine) => {
            let text = format!("unknown query engine {engine}: there is only \"default\"");
            return Err(Error::invalid("engine", text));
        }
    }
    Ok(HostValue::Object(HostObject {
        class: QUERY.name.to_owned(),
        handle: Value::Null,
        members: Vec::new(),
    }))
}

async fn run(call: &ScriptCall<'_>, ask: QueryMethod) -> Result<HostValue> {
    let scope = &call.reach.scope;
    let models = &scope.processes.models;
    let dsl = read(call, |given| given.read())??;
    let mut reading = ReadContext::new(models, &scope.properties.authorized);
    let answered = async {
        let mut transaction = dsl.begin(models).await?;
        let rows = answer(&dsl, ask, &mut *transaction, &mut reading).await?;
        transaction.commit().await?;
        Ok::<_, Error>(rows)
    };
    let rows = answered.await;
    let rows = rows.map_err(|error| failure::of_call(error, scope, &call.place()))?;
    for why in &reading.unmet {
        call.reach
            .cursor
            .warn(&format!("Query found nothing: {why}"));
    }
    Ok(rows.into())
}

async fn answer(
    dsl: &QueryDsl,
    ask: QueryMethod,
    transaction: &mut dyn Transaction,
    reading: &mut ReadContext<'_>,
) -> Result<Value> {
    match ask {
        QueryMethod::Rows => Ok(Value::Array(dsl.get(transaction, reading).await?)),
        QueryMethod::First => dsl.first(transaction, reading).await,
        QueryMethod::Page => dsl.paginate(transaction, reading).await,
        QueryMethod::AsItSays => dsl.run(transaction, reading).await,
    }
}

async fn lint(call: &ScriptCall<'_>) -> Result<HostValue> {
    Ok(read(call, |given| given.lint())?.into())
}

/// Does something with the query that was given.
fn read<T>(call: &ScriptCall<'_>, with: impl FnOnce(&QueryRequest<'_>) -> T) -> Result<T> {
    let scope = &call.reach.scope;
    let none = Map::new();
    let is_no_object = || Error::invalid("values", "values must be an object");
    let values = optional(call.given(1), Value::as_object, is_no_object)?.unwrap_or(&none);
    // Models of the agent are found by their last name.
    let near = format!("agents.{}._", scope.agent.id);
    Ok(with(&QueryRequest {
        models: &scope.processes.models,
        near: &near,
        dsl: &call.value(0),
        values,
    }))
}
