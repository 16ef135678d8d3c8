//! Tables are made and added to, and nothing is dropped or narrowed.

use crate::bed::{Place, both, with};
use ambit_runtime::ErrorCode;
use ambit_runtime::model::database::AccessMode;
use serde_json::{Value, json};

fn model(columns: &str) -> String {
    format!(r#"{{"columns": [{{"name": "id", "type": "ID"}}, {columns}]}}"#)
}

/// What `it` answers with this definition.
async fn call(place: &Place, model: &str, name: &str, arguments: Value) -> Value {
    let bed = place.open(&[("models/it.mod.yao", model)]);
    let answer = bed.call(name, arguments).await;
    bed.models.database().close().await.unwrap();
    answer
}

#[tokio::test]
async fn columns_and_indexes_are_added_to_tables_that_are_there() {
    both(async |place| {
        let first = model(r#"{"name": "a", "type": "string"}"#);
        call(place, &first, "it.Create", json!([{"a": "x"}])).await;
        let next = model(
            r#"{"name": "a", "type": "string", "unique": true},
            {"name": "b", "type": "integer", "default": 7},
            {"name": "c", "type": "string", "nullable": true, "index": true}"#,
        );
        let rows = call(place, &next, "it.Get", json!([])).await;
        assert_eq!(rows, json!([{"id": 1, "a": "x", "b": 7, "c": null}]));
        let taken = "models.it: there is already a row with the same a";
        let answer = call(place, &next, "it.Create", json!([{"a": "x"}])).await;
        assert_eq!(answer, json!(["conflict", taken]));
        // An older version still works with what there is more.
        let id = call(place, &first, "it.Create", json!([{"a": "y"}])).await;
        let rows = call(place, &first, "it.Get", json!([])).await;
        assert_eq!(rows, json!([{"id": 1, "a": "x"}, {"id": id, "a": "y"}]));
    })
    .await;
}

#[tokio::test]
async fn columns_are_made_to_hold_more() {
    for (before, after, value) in [
        (
            r#""string", "length": 5"#,
            r#""string", "length": 9"#,
            json!("123456789"),
        ),
        (r#""string""#, r#""text""#, json!("x".repeat(300))),
        (
            r#""smallInteger""#,
            r#""bigInteger""#,
            json!(1_000_000_000_000_i64),
        ),
        (
            r#""decimal", "precision": 5, "scale": 2"#,
            r#""decimal", "precision": 9, "scale": 3"#,
            json!(123_456.789),
        ),
    ] {
        both(async |place| {
            let column = |kind: &str| {
                model(&format!(
                    r#"{{"name": "it", "type": {kind}, "nullable": true}}"#
                ))
            };
            call(place, &column(before), "it.Create", json!([{}])).await;
            let id = call(place, &column(after), "it.Create", json!([{"it": value}])).await;
            assert_eq!(id, json!(2), "{after}");
            let row = call(place, &column(after), "it.Find", json!([2])).await;
            assert_eq!(row, json!({"id": 2, "it": value}));
        })
        .await;
    }
}

#[tokio::test]
async fn what_would_narrow_a_column_is_refused() {
    for (before, after) in [
        (r#""string", "length": 9"#, r#""string", "length": 5"#),
        (r#""text""#, r#""string""#),
        (r#""bigInteger""#, r#""integer""#),
        (r#""integer""#, r#""string""#),
        (r#""string""#, r#""integer""#),
        (r#""datetime""#, r#""date""#),
        (r#""json""#, r#""text""#),
        (
            r#""decimal", "precision": 9, "scale": 2"#,
            r#""decimal", "precision": 9, "scale": 4"#,
        ),
        (r#""double""#, r#""decimal""#),
    ] {
        both(async |place| {
            let column = |kind: &str| {
                model(&format!(
                    r#"{{"name": "it", "type": {kind}, "nullable": true}}"#
                ))
            };
            assert_eq!(
                call(place, &column(before), "it.Create", json!([{}])).await,
                json!(1)
            );
            let answer = call(place, &column(after), "it.Get", json!([])).await;
            let message = answer[1].as_str().unwrap_or_default();
            assert_eq!(
                answer[0],
                json!("config_error"),
                "{before} {after} {answer}"
            );
            assert!(
                message.starts_with("models.it: column \"it\" of table \"it\" is "),
                "{message}"
            );
            assert!(message.contains("nothing is narrowed"), "{message}");
            assert_eq!(
                call(place, &column(before), "it.Count", json!([])).await,
                json!(1)
            );
        })
        .await;
    }
}

#[tokio::test]
async fn a_model_whose_table_is_unfit_takes_those_with_it_that_need_it() {
    both(async |place| {
        let old = place.open(&[("models/owner.mod.yao", &model(r#"{"name": "it", "type": "text"}"#))]);
        assert_eq!(old.call("owner.Count", json!([])).await, json!(0));
        let pet = r#"{"columns": [{"name": "id", "type": "ID"}, {"name": "owner_id", "type": "integer"}],
            "relations": {"owner": {"type": "belongsTo", "model": "owner", "key": "id", "foreign": "owner_id"}}}"#;
        let owner = model(r#"{"name": "it", "type": "integer"}"#);
        let alone = model(r#"{"name": "it", "type": "integer"}"#);
        let bed = place.open(&[
            ("models/owner.mod.yao", &owner),
            ("models/pet.mod.yao", pet),
            ("models/alone.mod.yao", &alone),
        ]);
        let unfit = bed.unfit().await;
        let ids: Vec<&str> = unfit.keys().map(String::as_str).collect();
        assert_eq!(ids, ["owner", "pet"]);
        assert!(unfit.values().all(|(code, _)| *code == ErrorCode::ConfigError));
        assert_eq!(unfit["owner"], unfit["pet"]);
        assert_eq!(bed.call("alone.Count", json!([])).await, json!(0));
    })
    .await;
}

#[tokio::test]
async fn an_index_that_rows_contradict_is_not_made() {
    both(async |place| {
        let first = model(r#"{"name": "a", "type": "string"}"#);
        call(place, &first, "it.Insert", json!([["a"], [["x"], ["x"]]])).await;
        let next = model(r#"{"name": "a", "type": "string", "unique": true}, {"name": "b", "type": "string", "nullable": true}"#);
        let answer = call(place, &next, "it.Get", json!([])).await;
        assert_eq!(answer[0], json!("config_error"));
        let message = answer[1].as_str().unwrap_or_default();
        assert!(message.starts_with("models.it: a unique index cannot be made: "), "{message}");
        // Nothing of it has happened.
        let bed = place.open(&[("models/it.mod.yao", &first)]);
        assert_eq!(bed.call("it.Count", json!([])).await, json!(2));
        let mut transaction = bed.models.database().begin(AccessMode::Read).await.unwrap();
        let sql = "SELECT b FROM it".to_owned();
        assert!(transaction.rows(sql.into()).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn a_table_that_is_not_ours_is_used_as_it_is() {
    let own = r#"{"columns": [{"name": "id", "type": "ID"}, {"name": "a", "type": "text"}],
        "table": {"name": "theirs"}, "option": {"read_only": true}}"#;
    let more = r#"{"columns": [{"name": "id", "type": "ID"}, {"name": "b", "type": "text"}],
        "table": {"name": "theirs"}, "option": {"read_only": true}}"#;
    both(async |place| {
        let files = [("models/own.mod.yao", own), ("models/more.mod.yao", more)];
        let bed = place.open(&files);
        let message = "models.own: there is no table \"theirs\"";
        let answer = bed.call("own.Get", json!([])).await;
        assert_eq!(answer, json!(["config_error", message]));
        let mut transaction = bed
            .models
            .database()
            .begin(AccessMode::Write)
            .await
            .unwrap();
        let sql = "CREATE TABLE theirs (id integer PRIMARY KEY, a text, c text)";
        transaction.run(sql.to_owned().into()).await.unwrap();
        let sql = "INSERT INTO theirs (id, a, c) VALUES (3, 'x', 'y')";
        transaction.run(sql.to_owned().into()).await.unwrap();
        transaction.commit().await.unwrap();
        let bed = place.open(&files);
        assert_eq!(
            bed.call("own.Get", json!([])).await,
            json!([{"id": 3, "a": "x"}])
        );
        let message = "models.more: table \"theirs\" has no column \"b\"";
        let answer = bed.call("more.Get", json!([])).await;
        assert_eq!(answer, json!(["config_error", message]));
    })
    .await;
}

#[tokio::test]
async fn models_of_agents_have_tables_of_their_own() {
    let files = [
        ("assistants/shop/desk/package.yao", r#"{"name": "Desk"}"#),
        (
            "assistants/shop/desk/models/order.mod.yao",
            &model(r#"{"name": "a", "type": "string"}"#) as &str,
        ),
        (
            "models/shop/order.mod.yao",
            &model(r#"{"name": "b", "type": "string"}"#),
        ),
        (
            "models/named.mod.yao",
            r#"{"columns": [{"name": "id", "type": "ID"}], "table": {"name": "it", "prefix": "my_"}}"#,
        ),
    ];
    with(&files, async |bed| {
        let tables = bed
            .models
            .all()
            .map(|model| (model.id.clone(), model.table.clone()));
        let tables: Vec<_> = tables.collect();
        let expected = [
            ("__yao.role", "__yao_role"),
            ("agents.shop.desk.order", "agents_shop_desk_order"),
            ("named", "my_it"),
            ("shop.order", "shop_order"),
        ];
        assert_eq!(
            tables,
            expected.map(|(id, table)| (id.to_owned(), table.to_owned()))
        );
        assert_eq!(
            bed.call("agents.shop.desk.order.Create", json!([{"a": "x"}]))
                .await,
            json!(1)
        );
        assert_eq!(
            bed.call("shop.order.Create", json!([{"b": "x"}])).await,
            json!(1)
        );
    })
    .await;
}
