//! Finding rows with a query that an agent or a tool makes. It reads the given tables and columns only, as the caller may, and the
//! conditions of the call narrow it.

use super::record::item;
use super::{FoundRows, TableSearchCall, plain_columns};
use crate::error::{ErrorCode, Result};
use crate::model::TableModel;
use crate::model::query::{QueryDsl, QueryFault, QueryRequest, ReadContext, SourceRows};
use crate::search::searcher::SearchNode;
use crate::search::{Searcher, answers};
use crate::uses::{UsesFailure, UsesRequest, UsesTarget};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// How often a query is asked for.
const TRIES: usize = 3;
const INSTRUCTIONS: &str =
    "The last query cannot be run. Answer with the whole query, without these faults.";

const RIGHT_JOIN: &str = "a right join keeps rows that the conditions of the search would leave out: begin with the other table";

/// A query that can be run.
struct CheckedQuery {
    dsl: QueryDsl,
    /// As it was made.
    shown: Value,
    warnings: Vec<String>,
}

impl Searcher {
    /// The rows of a query that whoever is meant makes; the inner error is that nobody has made one that can be run.
    pub(super) async fn find_by_query(
        &self,
        target: &UsesTarget,
        call: &TableSearchCall<'_>,
    ) -> Result<Result<FoundRows, String>, String> {
        let node = SearchNode::begin(&self.node, "querydsl", json!({"query": call.query}));
        let mut faults = String::new();
        for attempt in 1..=TRIES {
            let asked = self.ask_for_query(target, call, attempt, &faults).await;
            let checked = match asked {
                Ok(answer) => self.checked(call, &answer),
                Err(UsesFailure::Unknown(why)) => {
                    node.fail(&why);
                    return Ok(Err(format!("querydsl: {why}")));
                }
                Err(failure) => Err(fault_line("failed", "", &failure.to_string())),
            };
            faults = match checked {
                Err(told) => told,
                Ok(query) => {
                    query.warnings.iter().for_each(|warning| node.warn(warning));
                    let output = json!({"dsl": query.shown, "attempts": attempt});
                    match self.run_query(query, call).await {
                        Ok(found) => {
                            node.complete(output);
                            return Ok(Ok(found));
                        }
                        Err(error) if error.code == ErrorCode::Unavailable => {
                            return Err(self.told(error));
                        }
                        Err(error) => fault_line("failed", "", &self.told(error)),
                    }
                }
            };
        }
        let why = format!(
            "querydsl: {TRIES} attempts failed: {}",
            faults.replace('\n', "; ")
        );
        node.fail(&why);
        Ok(Err(why))
    }

    async fn ask_for_query(
        &self,
        target: &UsesTarget,
        call: &TableSearchCall<'_>,
        attempt: usize,
        faults: &str,
    ) -> Result<Value, UsesFailure> {
        let ids: Vec<&str> = call.models.iter().map(|model| model.id.as_str()).collect();
        let mut request = json!({"query": call.query, "models": ids, "schema": schemas(&call.models), "limit": call.limit});
        if let Some(scenario) = &call.target.scenario {
            request["scenario"] = scenario.as_str().into();
        }
        if !call.target.select.is_empty() {
            request["allowed_fields"] = json!(call.target.select);
        }
        if attempt > 1 {
            request["retry"] =
                json!({"attempt": attempt, "lint_errors": faults, "instructions": INSTRUCTIONS});
        }
        let wanted = UsesRequest::of("querydsl", request);
        self.asker.ask(target, wanted).await
    }

    /// The query of an answer, completed by what the call says; or what is wrong with it, a line each.
    fn checked(&self, call: &TableSearchCall<'_>, answer: &Value) -> Result<CheckedQuery, String> {
        let unreadable = |why: String| fault_line("unreadable", "", &why);
        let answer = answers::query_dsl(answer).map_err(|error| unreadable(error.to_string()))?;
        let (mut shown, mut warnings) = (answer.dsl, answer.warnings);
        bound(&mut shown, call);
        let own = self.lint(&shown)?;
        complete(&own, &mut shown, call, &mut warnings);
        let whole = self.lint(&shown)?;
        leave_out(&whole, &mut shown, call, &mut warnings);
        let mut dsl = self.lint(&shown)?;
        let faults = outside(&dsl, call);
        if !faults.is_empty() {
            return Err(lines(&faults));
        }
        if !call.target.wheres.is_empty() {
            if dsl.has_right_join() {
                return Err(fault_line("right_join", "joins", RIGHT_JOIN));
            }
            let wheres = json!({"wheres": call.target.wheres});
            let narrowed = dsl.narrow(&self.models, &wheres);
            narrowed.map_err(|error| fault_line("wheres", "", &error.message))?;
        }
        Ok(CheckedQuery {
            dsl,
            shown: shown.into(),
            warnings,
        })
    }

    fn lint(&self, dsl: &Map<String, Value>) -> Result<QueryDsl, String> {
        let read = QueryRequest {
            models: &self.models,
            near: &self.near(),
            dsl: &Value::Object(dsl.clone()),
            values: &Map::new(),
        };
        read.check().map_err(|faults| lines(&faults))
    }

    async fn run_query(
        &self,
        query: CheckedQuery,
        call: &TableSearchCall<'_>,
    ) -> Result<FoundRows> {
        let mut reading = ReadContext::new(&self.models, &self.authorized);
        let mut transaction = query.dsl.begin(&self.models).await?;
        let rows = query.dsl.get(&mut *transaction, &mut reading).await?;
        transaction.commit().await?;
        let mut found = FoundRows {
            notes: query.warnings,
            unmet: reading.unmet,
            dsl: Some(query.shown),
            ..FoundRows::default()
        };
        let Some(model) = query.dsl.main_model() else {
            return Ok(found);
        };
        let is_main = query.dsl.gives_main_rows();
        let rows = rows.into_iter().take(call.limit).enumerate();
        for (position, row) in rows {
            if let Value::Object(row) = row {
                // The first one 1, each further one 0.05 less, and none less than 0.1.
                let score = (20 - position.min(18)) as f64 / 20.0;
                let mut item = item(model, row, score);
                // Another row's key under its name would make the item that row.
                let record = item.record.as_mut().filter(|_| !is_main);
                if let Some(record) = record {
                    record.record_id = None;
                }
                found.items.push(item);
            }
        }
        Ok(found)
    }
}

/// Faults, a line each.
fn lines(faults: &[QueryFault]) -> String {
    let lines = faults.iter().map(|fault| {
        let told = fault.diagnostic();
        let text = |key: &str| told[key].as_str().unwrap_or_default();
        fault_line(text("code"), text("path"), text("message"))
    });
    lines.collect::<Vec<String>>().join("\n")
}

fn fault_line(code: &str, path: &str, message: &str) -> String {
    match path {
        "" => format!("[{code}] {message}"),
        path => format!("[{code}] {path}: {message}"),
    }
}

/// The schema of a model, or a list of those of several.
fn schemas(models: &[Arc<TableModel>]) -> Value {
    let mut schemas: Vec<Value> = models.iter().map(|model| schema(model)).collect();
    match schemas.len() {
        1 => schemas.remove(0),
        _ => schemas.into(),
    }
}

fn schema(model: &TableModel) -> Value {
    let columns = plain_columns(model).map(|column| {
        json!({"name": column.name, "type": column.kind.name, "label": column.label, "description": ""})
    });
    json!({"name": model.table, "columns": columns.collect::<Vec<Value>>()})
}

/// Takes the smaller limit. Pages have no meaning here.
fn bound(dsl: &mut Map<String, Value>, call: &TableSearchCall<'_>) {
    for key in ["page", "pagesize", "first"] {
        dsl.remove(key);
    }
    let limit = dsl.get("limit").and_then(Value::as_u64);
    let most = call.limit as u64;
    dsl.insert(
        "limit".to_owned(),
        limit.map_or(most, |limit| limit.min(most)).into(),
    );
    for key in ["select", "orders"] {
        put_in_front(dsl, key, Vec::new());
    }
}

/// Puts the call's columns and orders, which are those of the first table, in front. A query that selects nothing by itself gets the
/// columns that it was given. Where rows are made one there are no columns beside its own.
fn complete(
    own: &QueryDsl,
    dsl: &mut Map<String, Value>,
    call: &TableSearchCall<'_>,
    warnings: &mut Vec<String>,
) {
    let Some(table) = own.sources.first().filter(|_| !own.is_grouped()) else {
        return;
    };
    let columns: Vec<&str> = match &table.rows {
        SourceRows::Model(model) => plain_columns(model).map(|it| it.name.as_str()).collect(),
        SourceRows::Query(within) => within.outputs.iter().map(|it| it.name.as_str()).collect(),
    };
    let has_select = dsl.contains_key("select");
    let is_missing = |name: &&str| !has_select || own.outputs.iter().all(|it| it.name != *name);
    let wanted: Vec<&str> = match call.target.select.as_slice() {
        [] if has_select => Vec::new(),
        [] => columns,
        names => names
            .iter()
            .map(String::as_str)
            .filter(is_missing)
            .collect(),
    };
    let qualified = |name: &str| format!("{}.{name}", table.alias);
    let select = wanted.iter().map(|name| qualified(name).into());
    put_in_front(dsl, "select", select.collect());
    let mut orders = Vec::new();
    for (index, order) in call.target.orders.iter().enumerate() {
        let column = order["column"].as_str().unwrap_or_default();
        if order.get("rel").is_some_and(|rel| !rel.is_null()) {
            warnings.push(format!(
                "querydsl: orders[{index}] is left out: it is an order by a relation"
            ));
            continue;
        }
        let sort = order.get("option").and_then(Value::as_str).unwrap_or("asc");
        orders.push(json!({"field": qualified(column), "sort": sort}));
    }
    put_in_front(dsl, "orders", orders);
}

/// Puts fields in front of a list, which may be written as one text.
fn put_in_front(dsl: &mut Map<String, Value>, key: &str, mut first: Vec<Value>) {
    let own = match dsl.remove(key) {
        Some(Value::Array(own)) => own,
        Some(Value::String(text)) => text.split(',').map(|field| field.trim().into()).collect(),
        _ => Vec::new(),
    };
    let others: Vec<Value> = own
        .into_iter()
        .filter(|field| !first.contains(field))
        .collect();
    first.extend(others);
    if !first.is_empty() {
        dsl.insert(key.to_owned(), first.into());
    }
}

/// Removes from what is selected all that is made of columns that are not allowed.
fn leave_out(
    query: &QueryDsl,
    dsl: &mut Map<String, Value>,
    call: &TableSearchCall<'_>,
    warnings: &mut Vec<String>,
) {
    let allowed = &call.target.select;
    let Some(Value::Array(select)) = dsl.get_mut("select") else {
        return;
    };
    if allowed.is_empty() || select.len() != query.outputs.len() {
        return;
    }
    let mut outputs = query.outputs.iter();
    select.retain(|field| {
        let columns = outputs
            .next()
            .map(|output| output.field.columns(&query.sources));
        let columns = columns.unwrap_or_default();
        let is_allowed = columns.iter().all(|column| allowed.contains(&column.name));
        if !is_allowed {
            warnings.push(format!(
                "querydsl: {field} is left out: it is not one of the fields that are wanted"
            ));
        }
        is_allowed
    });
}

/// The faults of a query that reads more than it was given.
fn outside(query: &QueryDsl, call: &TableSearchCall<'_>) -> Vec<QueryFault> {
    let models = &call.models;
    let given: Vec<&str> = models.iter().map(|model| model.table.as_str()).collect();
    let read = query.models();
    let foreign = read
        .iter()
        .filter(|id| models.iter().all(|model| model.id != **id));
    let mut faults: Vec<QueryFault> = foreign
        .map(|id| QueryFault::unknown("table", id, "from", given.iter().copied()))
        .collect();
    let ordered = call.target.orders.iter();
    let ordered = ordered.filter_map(|order| order["column"].as_str());
    let selected = call.target.select.iter().map(String::as_str);
    let named: Vec<&str> = selected.chain(ordered).collect();
    for read in query.columns() {
        let (column, name) = (read.model.column(&read.name), read.name.as_str());
        let is_secret = column.is_some_and(|column| column.crypt.is_some());
        let is_own = name.starts_with("__") && !named.contains(&name);
        if is_secret || is_own {
            faults.push(QueryFault::unknown("column", name, "", []));
        }
    }
    faults
}
