//! Methods that write.

use crate::bed::{person, short_names, with};
use ambit_runtime::ErrorCode;
use ambit_runtime::model::database::SqlDialect;
use serde_json::json;

const PET: (&str, &str) = (
    "models/pet.mod.yao",
    r#"{
        "name": "Pet",
        "columns": [
            {"name": "id", "type": "ID"},
            {"name": "name", "type": "string", "unique": true},
            {"name": "kind", "type": "enum", "option": ["cat", "dog"], "default": "cat"},
            {"name": "age", "type": "integer", "nullable": true},
        ],
        "indexes": [{"name": "place", "columns": ["kind", "age"], "type": "unique"}],
    }"#,
);

const SOFT: (&str, &str) = (
    "models/note.mod.yao",
    r#"{
        "columns": [{"name": "id", "type": "ID"}, {"name": "text", "type": "text"}],
        "option": {"soft_deletes": true},
    }"#,
);

#[tokio::test]
async fn a_row_is_made_changed_and_deleted() {
    with(&[PET], async |bed| {
        assert_eq!(
            bed.call("pet.Create", json!([{"name": "Rex"}])).await,
            json!(1)
        );
        let row = json!({"id": 1, "name": "Rex", "kind": "cat", "age": null});
        assert_eq!(bed.call("pet.find", json!([1])).await, row);
        let changes = json!({"id": 1, "age": 3});
        assert_eq!(
            bed.call("pet.Update", json!(["1", changes])).await,
            json!(null)
        );
        let row = json!({"id": 1, "name": "Rex", "kind": "cat", "age": 3});
        assert_eq!(bed.call("pet.Find", json!([1])).await, row);
        assert_eq!(bed.call("pet.Delete", json!([1])).await, json!(null));
        let gone = json!(["not_found", "models.pet: there is no row 1"]);
        for (method, arguments) in [
            ("pet.Find", json!([1])),
            ("pet.Update", json!([1, {"age": 4}])),
            ("pet.Update", json!([1, {}])),
            ("pet.Delete", json!([1])),
            ("pet.Destroy", json!([1])),
        ] {
            assert_eq!(bed.call(method, arguments).await, gone, "{method}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_row_that_is_not_as_it_must_be_is_refused() {
    with(&[PET], async |bed| {
        bed.call("pet.Create", json!([{"name": "Rex", "age": 1}]))
            .await;
        for (method, arguments, message) in [
            (
                "pet.Create",
                json!([{"nmae": "Rex"}]),
                "models.pet: unknown column \"nmae\"; did you mean \"name\"?",
            ),
            (
                "pet.Update",
                json!([1, {"frobnicate": 1}]),
                "models.pet: unknown column \"frobnicate\"",
            ),
            (
                "pet.Create",
                json!([{"age": "x"}]),
                "models.pet: name is missing; age must be a whole number, not this string",
            ),
            (
                "pet.Update",
                json!([1, {"name": null}]),
                "models.pet: name must not be null",
            ),
            (
                "pet.Create",
                json!([[]]),
                "models.pet.Create: row must be an object",
            ),
            (
                "pet.Create",
                json!([]),
                "models.pet.Create: row must be an object",
            ),
            (
                "pet.Update",
                json!([1, {"id": 2}]),
                "models.pet.Update: id of a row cannot be changed",
            ),
        ] {
            let refused = json!(["invalid_argument", message]);
            assert_eq!(bed.call(method, arguments).await, refused, "{method}");
        }
        assert_eq!(bed.call("pet.Count", json!([])).await, json!(1));
    })
    .await;
}

#[tokio::test]
async fn a_row_that_is_there_already_is_not_made_again() {
    with(&[PET], async |bed| {
        bed.call("pet.Create", json!([{"name": "Rex", "age": 1}]))
            .await;
        for (method, arguments, columns) in [
            ("pet.Create", json!([{"name": "Rex"}]), "name"),
            (
                "pet.Create",
                json!([{"name": "Max", "age": 1}]),
                "kind, age",
            ),
            ("pet.Create", json!([{"id": 1, "name": "Max"}]), "id"),
        ] {
            let message = format!("models.pet: there is already a row with the same {columns}");
            assert_eq!(
                bed.call(method, arguments).await,
                json!(["conflict", message])
            );
        }
        assert_eq!(bed.call("pet.Count", json!([])).await, json!(1));
    })
    .await;
}

#[tokio::test]
async fn words_of_a_database_are_told_to_nobody() {
    with(&[PET], async |bed| {
        let refused = async || {
            let row = json!([{"name": "canary4711"}]);
            let refused = bed.result(&person("ann"), "pet.Create", row).await;
            let refused = refused.unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument);
            // The log has what has caused it.
            let logged = refused.to_string();
            assert!(logged.contains("the row is refused with "), "{logged}");
            assert!(!logged.contains("canary4711"), "{logged}");
            refused.message
        };
        bed.change_tables(short_names).await;
        let rule = "models.pet: a rule of the table, which the model does not have, does not allow the row";
        assert_eq!(refused().await, rule);
        let changed = |dialect| match dialect {
            SqlDialect::Sqlite => "CREATE INDEX another ON \"pet\" (\"name\")",
            SqlDialect::Postgres => "ALTER TABLE \"pet\" ALTER COLUMN \"name\" TYPE varchar(8)",
        };
        let expected = match bed.change_tables(changed).await {
            SqlDialect::Sqlite => rule,
            SqlDialect::Postgres => "models.pet: a value is too long for its column",
        };
        assert_eq!(refused().await, expected);
        let computed = |_| "CREATE UNIQUE INDEX computed ON \"pet\" (lower(\"name\"))";
        bed.change_tables(computed).await;
        bed.call("pet.Create", json!([{"name": "Rex"}])).await;
        let taken = "models.pet: there is already a row with the same key";
        let again = bed.call("pet.Create", json!([{"name": "rex"}])).await;
        assert_eq!(again, json!(["conflict", taken]));
    })
    .await;
}

#[tokio::test]
async fn deleted_rows_stay_where_the_model_says_so() {
    with(&[SOFT], async |bed| {
        let rows = json!([["a"], ["b"], ["c"]]);
        assert_eq!(
            bed.call("note.Insert", json!([["text"], rows])).await,
            json!(null)
        );
        assert_eq!(bed.call("note.Delete", json!([1])).await, json!(null));
        assert_eq!(bed.call("note.Destroy", json!([2])).await, json!(null));
        let query = json!({"select": ["id", "text"]});
        let left = json!([{"id": 3, "text": "c"}]);
        assert_eq!(bed.call("note.Get", json!([query])).await, left);
        let gone = json!(["not_found", "models.note: there is no row 1"]);
        assert_eq!(bed.call("note.Destroy", json!([1])).await, gone);
        // The deleted row is still there, and keeps its id.
        let again = bed.call("note.Save", json!([{"id": 1, "text": "d"}])).await;
        let taken = "models.note: there is already a row with the same id";
        assert_eq!(again, json!(["conflict", taken]));
        assert_eq!(
            bed.call("note.Save", json!([{"id": 2, "text": "e"}])).await,
            json!(2)
        );
    })
    .await;
}

#[tokio::test]
async fn saving_changes_what_is_there_and_makes_what_is_not() {
    with(&[PET], async |bed| {
        assert_eq!(
            bed.call("pet.Save", json!([{"name": "Rex"}])).await,
            json!(1)
        );
        assert_eq!(
            bed.call("pet.Save", json!([{"id": 1, "age": 5}])).await,
            json!(1)
        );
        assert_eq!(
            bed.call("pet.Save", json!([{"id": 9, "name": "Tom"}]))
                .await,
            json!(9)
        );
        let rows = json!([{"id": 9, "age": 8}, {"name": "Kit"}]);
        let ids = bed
            .call("pet.EachSave", json!([rows, {"kind": "dog"}]))
            .await;
        assert_eq!(ids, json!([9, 10]));
        let rows = json!([{"name": "Ada"}]);
        let ids = bed
            .call("pet.EachSaveAfterDelete", json!([[1, 77], rows]))
            .await;
        assert_eq!(ids, json!([11]));
        assert_eq!(
            bed.call("pet.Get", json!([{"orders": [{"column": "id"}]}]))
                .await,
            json!([
                {"id": 9, "name": "Tom", "kind": "dog", "age": 8},
                {"id": 10, "name": "Kit", "kind": "dog", "age": null},
                {"id": 11, "name": "Ada", "kind": "cat", "age": null},
            ])
        );
    })
    .await;
}

#[tokio::test]
async fn several_rows_are_written_all_or_none() {
    with(&[PET], async |bed| {
        let taken = json!([
            "conflict",
            "models.pet: there is already a row with the same name"
        ]);
        let rows = json!([["Rex", 1], ["Tom", 2], ["Rex", 3]]);
        let answer = bed.call("pet.Insert", json!([["name", "age"], rows])).await;
        assert_eq!(answer, taken);
        let rows = json!([{"name": "Rex"}, {"name": "Rex"}]);
        assert_eq!(bed.call("pet.EachSave", json!([rows])).await, taken);
        assert_eq!(bed.call("pet.Count", json!([])).await, json!(0));
        let rows = json!([["Rex"], ["Tom", 2]]);
        let answer = bed.call("pet.Insert", json!([["name"], rows])).await;
        let message = "models.pet.Insert: rows[1] must be a list of 1 values";
        assert_eq!(answer, json!(["invalid_argument", message]));
    })
    .await;
}

#[tokio::test]
async fn many_rows_are_inserted_at_once() {
    with(&[SOFT], async |bed| {
        let rows: Vec<_> = (0..20_000)
            .map(|number| json!([format!("n{number}")]))
            .collect();
        assert_eq!(
            bed.call("note.Insert", json!([["text"], rows])).await,
            json!(null)
        );
        assert_eq!(bed.call("note.Count", json!([])).await, json!(20_000));
        let last = json!({"select": ["id", "text"]});
        let last = bed.call("note.Find", json!([20_000, last])).await;
        assert_eq!(last, json!({"id": 20_000, "text": "n19999"}));
    })
    .await;
}

#[tokio::test]
async fn upsert_changes_the_row_that_is_the_same() {
    with(&[PET], async |bed| {
        let upsert = async |row, rest: serde_json::Value| {
            let mut arguments = vec![row];
            arguments.extend(rest.as_array().unwrap().clone());
            bed.call("pet.Upsert", json!(arguments)).await
        };
        assert_eq!(
            upsert(json!({"name": "Rex", "age": 1}), json!([["name"]])).await,
            json!(1)
        );
        let row = json!({"name": "Rex", "age": 2, "kind": "dog"});
        assert_eq!(
            upsert(row.clone(), json!([["name"], ["age"]])).await,
            json!(1)
        );
        let stored = bed.call("pet.Find", json!([1])).await;
        assert_eq!(
            stored,
            json!({"id": 1, "name": "Rex", "kind": "cat", "age": 2})
        );
        assert_eq!(upsert(row, json!([["name"]])).await, json!(1));
        let stored = bed.call("pet.Find", json!([1])).await;
        assert_eq!(
            stored,
            json!({"id": 1, "name": "Rex", "kind": "dog", "age": 2})
        );
        let nothing = json!([["name"], []]);
        assert_eq!(upsert(json!({"name": "Rex"}), nothing).await, json!(1));
        for (row, rest, message) in [
            (
                json!({"name": "Rex"}),
                json!([["age"]]),
                "uniqueBy must be columns that the model makes unique together, which age are not",
            ),
            (
                json!({"age": 1}),
                json!([["name"]]),
                "name is one of uniqueBy and missing in the row",
            ),
            (
                json!({"name": "Rex"}),
                json!([["name"], ["age"]]),
                "columns names \"age\", which the row has not",
            ),
            (
                json!({"id": 7, "name": "Rex"}),
                json!([["name"], ["id"]]),
                "id of a row cannot be changed",
            ),
        ] {
            let message = format!("models.pet.Upsert: {message}");
            assert_eq!(
                upsert(row, rest).await,
                json!(["invalid_argument", message])
            );
        }
    })
    .await;
}

#[tokio::test]
async fn queries_choose_the_rows_that_are_changed() {
    with(&[PET, SOFT], async |bed| {
        let rows = json!([["a", 1], ["b", 2], ["c", 3]]);
        bed.call("pet.Insert", json!([["name", "age"], rows])).await;
        let old = json!({"wheres": [{"column": "age", "op": "ge", "value": 2}]});
        assert_eq!(bed.call("pet.UpdateWhere", json!([old, {"kind": "dog"}])).await, json!(2));
        assert_eq!(bed.call("pet.DeleteWhere", json!([old])).await, json!(2));
        assert_eq!(bed.call("pet.Get", json!([{"select": ["name"]}])).await, json!([{"name": "a"}]));
        for query in [json!(null), json!({}), json!({"wheres": []}), json!({"all": false})] {
            for method in ["UpdateWhere", "DeleteWhere", "DestroyWhere"] {
                let answer = bed.call(&format!("pet.{method}"), json!([query, {"age": 7}])).await;
                let message = format!(
                    "models.pet.{method}: query has no wheres; give some, or {{all: true}} for all rows"
                );
                assert_eq!(answer, json!(["invalid_argument", message]));
            }
        }
        let all = json!({"all": true});
        assert_eq!(bed.call("pet.DestroyWhere", json!([all])).await, json!(1));
        bed.call("note.Insert", json!([["text"], [["x"], ["y"]]])).await;
        assert_eq!(bed.call("note.DeleteWhere", json!([all])).await, json!(2));
        assert_eq!(bed.call("note.DeleteWhere", json!([all])).await, json!(0));
    })
    .await;
}
