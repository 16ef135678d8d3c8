//! Encrypted columns and passwords.

use crate::bed::{Place, SECRET, both, person, with};
use ambit_runtime::model::ColumnCipher;
use ambit_runtime::model::database::{AccessMode, SqlCell};
use ambit_runtime::model::rekey::{RekeyReport, rekey};
use serde_json::json;
use std::collections::BTreeMap;

pub const CARD: (&str, &str) = (
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

#[tokio::test]
async fn another_key_than_the_rows_one_is_named_with_what_would_make_it_work() {
    both(async |place| {
        let bed = place.open(&[CARD]);
        bed.call("card.Create", json!([{"number": "1"}])).await;
        bed.models.database().close().await.unwrap();
        let bed = place.open_with(OTHER_SECRET, &[CARD]);
        let failed = bed.result(&person("ann"), "card.Find", json!([1])).await;
        let error = failed.unwrap_err();
        let told = "models.card: column \"number\" cannot be decrypted; the server's log says why";
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("corrupt", told)
        );
        let logged = error.to_string();
        for words in [
            "column \"number\"",
            "another key",
            "AMBIT_MODEL_KEY",
            "`ambit models rekey`",
        ] {
            assert!(logged.contains(words) && !told.contains("key"), "{logged}");
        }
        bed.models.database().close().await.unwrap();
    })
    .await;
}

/// Another secret of encrypted columns.
pub const NEW_SECRET: &str = "another key that has thirty-two letters or more";
/// One that has encrypted nothing.
const OTHER_SECRET: &str = "a third key that has thirty-two letters or more";

async fn run(place: &Place, sql: &str) {
    let bed = place.open(&[CARD]);
    let mut writing = bed
        .models
        .database()
        .begin(AccessMode::Write)
        .await
        .unwrap();
    writing.run(sql.to_owned().into()).await.unwrap();
    writing.commit().await.unwrap();
    bed.models.database().close().await.unwrap();
}

#[tokio::test]
async fn another_key_takes_the_place_of_the_first_and_a_run_can_be_repeated() {
    both(async |place| {
        let new = ColumnCipher::new(NEW_SECRET).unwrap();
        let old = place.open(&[CARD]);
        // A table that nobody has made has nothing to be encrypted.
        let none = RekeyReport::default();
        assert_eq!(rekey(&old.models, &new).await.unwrap(), none);
        // Two batches, and values that stand in two rows.
        let rows: Vec<_> = (0..501)
            .map(|at| json!({"number": at.to_string(), "more": {"half": at / 2}}))
            .collect();
        let columns = json!(["number", "more"]);
        let cells = rows.iter().map(|row| json!([row["number"], row["more"]]));
        let cells = cells.collect::<serde_json::Value>();
        let saved = old.call("card.Insert", json!([columns, cells])).await;
        assert_eq!(saved, json!(null));
        let report = rekey(&old.models, &new).await.unwrap();
        assert_eq!(report.changed, 2 * 501);
        assert!(report.unreadable.is_empty(), "{report:?}");
        assert_eq!(rekey(&old.models, &new).await.unwrap(), none);
        let unread = old.call("card.Find", json!([1])).await;
        assert_eq!(unread[0], "corrupt", "{unread}");
        old.models.database().close().await.unwrap();

        let is = json!([{"wheres": [{"column": "number", "value": "500"}]}]);
        let bed = place.open_with(NEW_SECRET, &[CARD]);
        let found = bed.call("card.Get", is).await;
        assert_eq!(found[0]["more"], json!({"half": 250}), "{found}");
        bed.models.database().close().await.unwrap();

        run(
            place,
            "UPDATE \"card\" SET \"more\" = 'damaged' WHERE \"id\" = 1",
        )
        .await;
        let again = place.open(&[CARD]);
        let report = rekey(&again.models, &new).await.unwrap();
        assert_eq!(report.changed, 0);
        let unreadable = BTreeMap::from([("models.card: more".to_owned(), 1)]);
        assert_eq!(report.unreadable, unreadable);
        again.models.database().close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn encrypted_models_are_not_used_until_a_change_of_the_key_has_come_to_its_end() {
    both(async |place| {
        let bed = place.open(&[CARD]);
        bed.call("card.Create", json!([{"number": "1"}])).await;
        bed.models.database().close().await.unwrap();
        // What a run leaves that was killed.
        run(
            place,
            "CREATE TABLE ambit_database (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
        )
        .await;
        let [old, new] = [SECRET, NEW_SECRET].map(|key| ColumnCipher::new(key).unwrap());
        let sealed = |key: &ColumnCipher| key.seal("ambit_database.rekey", "").unwrap();
        let note = format!("{} {}", sealed(&old), sealed(&new));
        let begun = format!("INSERT INTO ambit_database VALUES ('rekey', '{note}')");
        run(place, &begun).await;
        let bed = place.open(&[CARD]);
        let refused = bed.call("card.Find", json!([1])).await;
        assert_eq!(refused[0], "config_error");
        let message = refused[1].as_str().unwrap();
        assert!(
            message.contains("run `ambit models rekey` to its end"),
            "{message}"
        );
        let other = ColumnCipher::new(OTHER_SECRET).unwrap();
        let refused = rekey(&bed.models, &other).await.unwrap_err();
        assert!(
            refused.message.contains("a run with other keys"),
            "{refused}"
        );
        assert_eq!(rekey(&bed.models, &new).await.unwrap().changed, 1);
        bed.models.database().close().await.unwrap();
        // Keys that open nothing change nothing.
        let wrong = place.open_with(OTHER_SECRET, &[CARD]);
        let refused = rekey(&wrong.models, &old).await.unwrap_err();
        assert!(
            refused.message.contains("no value can be read"),
            "{refused}"
        );
        wrong.models.database().close().await.unwrap();
        let bed = place.open_with(NEW_SECRET, &[CARD]);
        assert_eq!(bed.call("card.Find", json!([1])).await["number"], "1");
        bed.models.database().close().await.unwrap();
    })
    .await;
}
