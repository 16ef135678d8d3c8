//! What looking at rows may take: time, rows that are there many times, and bytes.

use crate::bed::{Bed, both, person, with};
use ambit_runtime::inspect::data::{DataPage, DataView};
use ambit_runtime::model::database::{AccessMode, SqlCell, SqlDialect, SqlStatement, Transaction};
use ambit_runtime::model::query::AnswerSize;
use ambit_runtime::{Error, ErrorCode};
use serde_json::{Map, Value, json};
use std::time::Duration;

const CUSTOMER: (&str, &str) = (
    "models/customer.mod.yao",
    r#"{
        "columns": [{"name": "id", "type": "ID"}, {"name": "name", "type": "string"}],
        "relations": {"orders": {"type": "hasMany", "model": "purchase", "key": "customer_id", "foreign": "id"}},
    }"#,
);
const PURCHASE: (&str, &str) = (
    "models/purchase.mod.yao",
    r#"{
        "columns": [{"name": "id", "type": "ID"}, {"name": "customer_id", "type": "integer"}, {"name": "note", "type": "text"}],
        "relations": {"customer": {"type": "belongsTo", "model": "customer", "key": "id", "foreign": "customer_id"}},
    }"#,
);
/// The leader of each row is found by looking at all of them.
const PEER: (&str, &str) = (
    "models/peer.mod.yao",
    r#"{
        "columns": [{"name": "id", "type": "ID"}, {"name": "team", "type": "integer"}, {"name": "size", "type": "integer"}],
        "relations": {"leader": {
            "type": "hasOne", "model": "peer", "key": "team", "foreign": "team",
            "query": {"orders": [{"column": "size", "option": "desc"}]},
        }},
    }"#,
);

/// Orders of one customer, each with a note.
async fn orders(bed: &Bed, count: usize, note: &str) {
    bed.call("customer.Create", json!([{"name": "Ann"}])).await;
    let rows: Vec<Value> = (0..count).map(|_| json!([1, note])).collect();
    let columns = json!(["customer_id", "note"]);
    bed.call("purchase.Insert", json!([columns, rows])).await;
}

/// Each order with its customer, with all orders of that customer.
fn nested(pagesize: u64) -> Value {
    let customer = json!({"query": {"withs": {"orders": {}}}});
    json!({"pagesize": pagesize, "select": ["id"], "withs": {"customer": customer}})
}

async fn page(view: &DataView<'_>, id: &str, asked: &Value) -> Result<DataPage, Error> {
    let asked: Map<String, Value> = asked.as_object().unwrap().clone();
    view.query(id, asked).await
}

#[tokio::test]
async fn rows_that_are_there_many_times_are_counted_each_time() {
    with(&[CUSTOMER, PURCHASE], async |bed| {
        orders(bed, 320, "").await;
        let root = person("root");
        let mut view = DataView::new(&bed.models, &root);
        view.size.bytes = u64::MAX;
        let some = page(&view, "purchase", &nested(20)).await.unwrap();
        assert_eq!(some.data.len(), 20);
        let customer = &some.data[19]["customer"];
        assert_eq!(customer["orders"].as_array().unwrap().len(), 320);
        // 320 orders, each with a customer and 320 orders.
        let error = page(&view, "purchase", &nested(320)).await.unwrap_err();
        let expected =
            "models.purchase: withs.customer: the answer would hold too much; ask for fewer rows or columns, or load less with them";
        assert_eq!(
            (error.code, error.message.as_str()),
            (ErrorCode::LimitExceeded, expected)
        );
        // Scripts have limits of their own.
        let all = bed.call("purchase.Get", json!([nested(320)])).await;
        assert_eq!(all.as_array().unwrap().len(), 320);
    })
    .await;
}

#[tokio::test]
async fn an_answer_is_no_larger_than_its_bytes_may_be() {
    with(&[CUSTOMER, PURCHASE], async |bed| {
        orders(bed, 30, &"x".repeat(1_000)).await;
        let root = person("root");
        let size = AnswerSize {
            rows: u64::MAX,
            bytes: 50_000,
        };
        let view = DataView {
            size,
            ..DataView::new(&bed.models, &root)
        };
        let read = json!({"pagesize": 30});
        assert!(page(&view, "purchase", &read).await.is_ok());
        for (size, asked, place) in [
            (20_000, read, "models.purchase"),
            (200_000, nested(10), "models.purchase: withs.customer"),
            (20_000, nested(1), "models.purchase"),
        ] {
            let size = AnswerSize {
                rows: u64::MAX,
                bytes: size,
            };
            let view = DataView {
                size,
                ..DataView::new(&bed.models, &root)
            };
            let error = page(&view, "purchase", &asked).await.unwrap_err();
            let expected = format!("{place}: the answer would hold too much");
            assert!(error.message.starts_with(&expected), "{}", error.message);
            assert_eq!(error.code, ErrorCode::LimitExceeded);
        }
    })
    .await;
}

#[tokio::test]
async fn no_more_is_read_than_a_statement_may_answer() {
    with(&[CUSTOMER, PURCHASE], async |bed| {
        orders(bed, 30, &"x".repeat(1_000)).await;
        let sql = "SELECT \"note\" FROM \"purchase\"";
        for (most_bytes, count) in [(u64::MAX, 30), (3_000, 3), (0, 1)] {
            let statement = SqlStatement {
                most_bytes,
                ..sql.to_owned().into()
            };
            let mut reading = bed.models.database().begin(AccessMode::Read).await.unwrap();
            let rows = reading.rows(statement).await.unwrap();
            assert_eq!(rows.len(), count);
            reading.commit().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_ends_statements_of_models_after_a_minute() {
    with(&[CUSTOMER], async |bed| {
        // The table is made by a transaction that takes as long as it needs.
        bed.call("customer.Create", json!([{"name": "Ann"}])).await;
        for access in [AccessMode::Read, AccessMode::Write] {
            let mut transaction = bed.models.database().begin(access).await.unwrap();
            if transaction.dialect() == SqlDialect::Postgres {
                let asked = "SELECT current_setting('statement_timeout')".to_owned();
                let told = transaction.rows(asked.into()).await.unwrap();
                assert_eq!(told, [[SqlCell::Text("1min".to_owned())]]);
            }
        }
    })
    .await;
}

/// Ends when no query waits for the table that is held.
async fn nobody_waits(holding: &mut dyn Transaction) {
    let waiting =
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '\"peer\"'::regclass";
    let nobody = [[SqlCell::Integer(0)]];
    while holding.rows(waiting.to_owned().into()).await.unwrap() != nobody {}
}

#[tokio::test]
async fn a_query_that_takes_too_long_ends_at_the_database_too() {
    both(async |place| {
        let bed = place.open(&[PEER]);
        let rows: Vec<Value> = (0..1_000).map(|size| json!([1, size])).collect();
        bed.call("peer.Insert", json!([["team", "size"], rows]))
            .await;
        let mut holding = bed.models.database().begin(AccessMode::Write).await.unwrap();
        let is_server = holding.dialect() == SqlDialect::Postgres;
        if is_server {
            let lock = "LOCK TABLE \"peer\" IN ACCESS EXCLUSIVE MODE".to_owned();
            holding.run(lock.into()).await.unwrap();
        }
        let root = person("root");
        let view = DataView {
            time: Duration::from_millis(50),
            ..DataView::new(&bed.models, &root)
        };
        let asked = json!({"orders": [{"rel": "leader", "column": "size"}]});
        let error = page(&view, "peer", &asked).await.unwrap_err();
        let expected =
            "models.peer: the query was ended after 50ms; ask for less, or by columns that have an index";
        assert_eq!(
            (error.code, error.message.as_str()),
            (ErrorCode::Timeout, expected)
        );
        if is_server {
            // It would wait for the lock for half a minute.
            let ended = nobody_waits(&mut *holding);
            let ended = tokio::time::timeout(Duration::from_secs(25), ended).await;
            ended.expect("the server ends the query");
        }
        drop(holding);
        bed.models.database().close().await.unwrap();
    })
    .await;
}
