//! Encrypted columns and passwords.

use crate::bed::{both, with};
use ambit_runtime::model::database::{AccessMode, SqlCell};
use serde_json::json;

const CARD: (&str, &str) = (
    "models/card.mod.yao",
    r#"{"columns": [
        {"name": "id", "type": "ID"},
        {"name": "number", "type": "string", "crypt": "AES", "unique": true},
        {"name": "more", "type": "json", "crypt": "AES", "nullable": true},
        {"name": "pin", "type": "string", "length": 8, "crypt": "PASSWORD", "nullable": true},
    ]}"#,
);

#[tokio::test]
async fn what_is_encrypted_is_read_and_found_by_equality_and_stands_nowhere() {
    with(&[CARD], async |bed| {
        let row = json!({"number": "4111-1111", "more": {"a": 1}, "pin": "1234"});
        assert_eq!(bed.call("card.Create", json!([row])).await, json!(1));
        let read = json!({"id": 1, "number": "4111-1111", "more": {"a": 1}});
        assert_eq!(bed.call("card.Find", json!([1])).await, read);
        let is = |value: &str| json!([{"wheres": [{"column": "number", "value": value}]}]);
        assert_eq!(bed.call("card.Get", is("4111-1111")).await, json!([read]));
        assert_eq!(bed.call("card.Get", is("4111")).await, json!([]));
        let taken = json!([
            "conflict",
            "models.card: there is already a row with the same number"
        ]);
        let again = json!([{"number": "4111-1111"}]);
        assert_eq!(bed.call("card.Create", again).await, taken);
        let mut transaction = bed.models.database().begin(AccessMode::Read).await.unwrap();
        let sql = "SELECT \"number\", \"more\", \"pin\" FROM \"card\"".to_owned();
        let rows = transaction.rows(sql.into()).await.unwrap();
        for cell in &rows[0] {
            let SqlCell::Text(text) = cell else {
                panic!("{cell:?}")
            };
            assert!(!text.contains("4111") && !text.contains("1234"));
        }
        assert!(matches!(&rows[0][2], SqlCell::Text(hash) if hash.starts_with("$argon2id$")));
    })
    .await;
}

#[tokio::test]
async fn encrypted_columns_are_not_searched_and_passwords_are_not_read() {
    with(&[CARD], async |bed| {
        bed.call("card.Create", json!([{"number": "1", "pin": "1234"}]))
            .await;
        for query in [
            json!({"wheres": [{"column": "number", "op": "match", "value": "1"}]}),
            json!({"wheres": [{"column": "number", "op": "gt", "value": "1"}]}),
            json!({"wheres": [{"column": "pin", "value": "1234"}]}),
            json!({"select": ["pin"]}),
            json!({"orders": [{"column": "number"}]}),
            json!({"orders": [{"column": "pin"}]}),
        ] {
            let answer = bed.call("card.Get", json!([query])).await;
            assert_eq!(answer[0], json!("invalid_argument"), "{query}: {answer}");
        }
        let long = bed
            .call("card.Update", json!([1, {"pin": "123456789"}]))
            .await;
        assert_eq!(long[0], json!("invalid_argument"));
    })
    .await;
}

#[tokio::test]
async fn a_model_with_encryption_needs_a_key() {
    both(async |place| {
        let bed = place.without_key(&[CARD]);
        let message =
            "models.card: column \"number\" is encrypted, which needs a key: set AMBIT_MODEL_KEY";
        let answer = bed.call("card.Get", json!([])).await;
        assert_eq!(answer, json!(["config_error", message]));
    })
    .await;
}
