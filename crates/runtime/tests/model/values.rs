//! What rows have that nobody gives, and rules for what they are given.

use crate::bed::with;
use serde_json::json;

#[tokio::test]
async fn new_rows_have_the_values_that_columns_say() {
    let model = r#"{"columns": [
        {"name": "id", "type": "uuid", "primary": true, "generate": "UUID"},
        {"name": "count", "type": "integer", "default": 7},
        {"name": "open", "type": "boolean", "default_raw": "TRUE"},
        {"name": "word", "type": "string", "default_raw": "'it''s'"},
        {"name": "list", "type": "json", "default": [1]},
        {"name": "at", "type": "datetime", "default_raw": "NOW()"},
        {"name": "none", "type": "string", "nullable": true},
    ]}"#;
    with(&[("models/it.mod.yao", model)], async |bed| {
        let id = bed.call("it.Create", json!([{}])).await;
        assert_eq!(id.as_str().map(str::len), Some(36));
        let mut row = bed.call("it.Find", json!([id])).await;
        let at = row["at"].take();
        assert_eq!(at.as_str().map(str::len), Some(19), "{at}");
        let expected = json!({
            "id": id, "count": 7, "open": true, "word": "it's", "list": [1], "at": null, "none": null,
        });
        assert_eq!(row, expected);
        let id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
        assert_eq!(bed.call("it.Save", json!([{"id": id, "count": 1}])).await, json!(id));
    })
    .await;
}

#[tokio::test]
async fn first_rows_are_put_into_an_empty_table_only() {
    let model = |values: &str| {
        format!(
            r#"{{"columns": [{{"name": "id", "type": "ID"}}, {{"name": "name", "type": "string"}},
                {{"name": "open", "type": "boolean", "default": true}}], "values": {values}}}"#
        )
    };
    crate::bed::both(async |place| {
        let first = model(r#"[{"id": 5, "name": "a"}, {"name": "b", "open": false}]"#);
        let bed = place.open(&[("models/it.mod.yao", &first)]);
        let rows = json!([
            {"id": 5, "name": "a", "open": true},
            {"id": 6, "name": "b", "open": false},
        ]);
        assert_eq!(bed.call("it.Get", json!([])).await, rows);
        let other = model(r#"[{"name": "c"}]"#);
        let bed = place.open(&[("models/it.mod.yao", &other)]);
        assert_eq!(bed.call("it.Get", json!([])).await, rows);
    })
    .await;
}

#[tokio::test]
async fn rules_say_which_column_breaks_them() {
    let rule = |name: &str, kind: &str, rule: &str| {
        format!(
            r#"{{"name": "{name}", "type": "{kind}", "nullable": true, "validations": [{rule}]}}"#
        )
    };
    let columns = [
        r#"{"name": "id", "type": "ID"}"#.to_owned(),
        rule(
            "low",
            "integer",
            r#"{"method": "min", "args": [1]}, {"method": "max", "args": [9]}"#,
        ),
        rule(
            "word",
            "string",
            r#"{"method": "minLength", "args": [2]}, {"method": "maxLength", "args": [3]}"#,
        ),
        rule(
            "code",
            "string",
            r#"{"method": "pattern", "args": ["^[A-Z]+$"], "message": "{{input}} is no code"}"#,
        ),
        rule(
            "size",
            "string",
            r#"{"method": "enum", "args": ["S", "M"]}"#,
        ),
        rule("mail", "string", r#"{"method": "email"}"#),
        rule("phone", "string", r#"{"method": "mobile"}"#),
        rule("any", "json", r#"{"method": "typeof", "args": ["object"]}"#),
    ];
    let model = format!(r#"{{"columns": [{}]}}"#, columns.join(","));
    with(&[("models/it.mod.yao", &model)], async |bed| {
        let right = json!({
            "low": 1, "word": "ab", "code": "AB", "size": "S", "mail": "a@b.cd", "phone": "+49 171 1234567", "any": {},
        });
        assert_eq!(bed.call("it.Create", json!([right])).await, json!(1));
        assert_eq!(bed.call("it.Update", json!([1, {"low": null}])).await, json!(null));
        let wrong = json!({
            "low": 10, "word": "a", "code": "x", "size": "L", "mail": "a@b", "phone": "12", "any": [],
        });
        let faults = [
            "low must be at most 9",
            "word must have a length of at least 2",
            "code x is no code",
            "size must be one of S, M",
            "mail must be an e-mail address",
            "phone must be a mobile number",
            "any must be of type object",
        ];
        let message = format!("models.it: {}", faults.join("; "));
        assert_eq!(bed.call("it.Create", json!([wrong])).await, json!(["invalid_argument", message]));
        let error = bed.result(&crate::bed::person("ann"), "it.Update", json!([1, {"low": 0}])).await;
        let error = error.expect_err("0 is too low");
        let details = json!({"columns": [{"column": "low", "message": "must be at least 1"}]});
        assert_eq!(error.details.as_deref(), Some(&details));
        assert_eq!(error.param.as_deref(), Some("low"));
    })
    .await;
}
