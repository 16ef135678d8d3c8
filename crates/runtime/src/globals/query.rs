//! `Query`: queries over the app's data.

use crate::ctx::{Call, Class, Method, done};
use crate::error::{Error, Result};
use crate::model::query::{Dsl, Given, Reading};
use ambit_script::{Object, Value};
use serde_json::{Map, Value as Json};

/// What a query gives.
#[derive(Clone, Copy)]
enum Ask {
    Rows,
    First,
    Page,
    AsItSays,
}

macro_rules! row {
    ($signature:literal, $ask:expr, $doc:literal) => {
        Method {
            signature: $signature,
            doc: $doc,
            needs: Some((1, "a query argument")),
            call: |call| done(run(call, $ask)),
        }
    };
}

/// The queries of an app.
pub const QUERY: Class = Class {
    name: "Query",
    place: "Query(engine)",
    doc: "Queries over the tables of loaded models, as objects. Each table is cut down to the rows that the caller may see.",
    members: &[],
    methods: &[&[
        row!(
            "Get(query: QueryDSL, values?: Record<string, any>): any[]",
            Ask::Rows,
            "The rows; `values` stand for `?:name` in the query. Without a limit at most 10 000, more throws."
        ),
        row!(
            "First(query: QueryDSL, values?: Record<string, any>): any",
            Ask::First,
            "The first row; null if there is none."
        ),
        row!(
            "Paginate(query: QueryDSL, values?: Record<string, any>): any",
            Ask::Page,
            "A page of rows: `{data, page, pagesize, pagecnt, next, prev, total}`."
        ),
        row!(
            "Run(query: QueryDSL, values?: Record<string, any>): any",
            Ask::AsItSays,
            "A page where the query has `page` or `pagesize`, the first row where it says `first`, else the rows."
        ),
        Method {
            signature: "Lint(query: QueryDSL, values?: Record<string, any>): QueryLint",
            doc: "What is wrong with a query, without running it.",
            needs: Some((1, "a query argument")),
            call: |call| done(std::future::ready(lint(call))),
        },
    ]],
    is_lenient: false,
};

/// `Query(engine?)`.
pub const QUERIES: &[Method] = &[Method {
    signature: "Query(engine?: string): Query",
    doc: "Queries over the app's data; the engine is always `default`.",
    needs: None,
    call: |call| done(std::future::ready(open(call))),
}];

fn open(call: &Call<'_>) -> Result<Value> {
    match call.given(0) {
        None | Some(Json::Null) => {}
        Some(Json::String(engine)) if engine == "default" => {}
        Some(engine) => {
            let text = format!("unknown query engine {engine}: there is only \"default\"");
            return Err(Error::invalid("engine", text));
        }
    }
    Ok(Value::Object(Object {
        class: QUERY.name.to_owned(),
        handle: Json::Null,
        members: Vec::new(),
    }))
}

async fn run(call: &Call<'_>, ask: Ask) -> Result<Value> {
    let scope = &call.reach.scope;
    let models = &scope.processes.models;
    let dsl = read(call, |given| given.read())??;
    let mut reading = Reading::new(models, &scope.properties.authorized);
    let mut transaction = dsl.begin(models).await?;
    let rows = answer(&dsl, ask, (&mut *transaction, &mut reading)).await?;
    transaction.commit().await?;
    for why in &reading.unmet {
        call.reach
            .cursor
            .warn(&format!("Query found nothing: {why}"));
    }
    Ok(rows.into())
}

async fn answer(
    dsl: &Dsl,
    ask: Ask,
    (transaction, reading): (
        &mut dyn crate::model::database::Transaction,
        &mut Reading<'_>,
    ),
) -> Result<Json> {
    match ask {
        Ask::Rows => Ok(Json::Array(dsl.get(transaction, reading).await?)),
        Ask::First => dsl.first(transaction, reading).await,
        Ask::Page => dsl.paginate(transaction, reading).await,
        Ask::AsItSays => dsl.run(transaction, reading).await,
    }
}

fn lint(call: &Call<'_>) -> Result<Value> {
    Ok(read(call, |given| given.lint())?.into())
}

/// Does something with the query that was given.
fn read<T>(call: &Call<'_>, with: impl FnOnce(&Given<'_>) -> T) -> Result<T> {
    let scope = &call.reach.scope;
    let none = Map::new();
    let values = match call.given(1) {
        None | Some(Json::Null) => &none,
        Some(Json::Object(values)) => values,
        Some(_) => return Err(Error::invalid("values", "values must be an object")),
    };
    // Models of the agent are found by their last name.
    let near = format!("agents.{}._", scope.agent.id);
    Ok(with(&Given {
        models: &scope.processes.models,
        near: &near,
        dsl: &call.value(0),
        values,
    }))
}
