//! Types of columns: what goes in comes out, and what does not fit is refused.

use crate::bed::with;
use ambit_runtime::model::column_kind::KINDS;
use serde_json::{Value, json};

/// A type, more about its column, what is written, and what is read then.
const CASES: &[[&str; 4]] = &[
    [
        "string",
        "",
        r#""Grüße 🐾 'quoted' \"too\" \\ %_""#,
        r#""Grüße 🐾 'quoted' \"too\" \\ %_""#,
    ],
    ["string", "", r#""""#, r#""""#],
    ["char", r#""length": 3,"#, r#""abc""#, r#""abc""#],
    ["text", "", r#""plain""#, r#""plain""#],
    ["mediumText", "", r#""two\nlines""#, r#""two\nlines""#],
    ["longText", "", r#""long""#, r#""long""#],
    [
        "uuid",
        "",
        r#""6BA7B810-9DAD-11D1-80B4-00C04FD430C8""#,
        r#""6ba7b810-9dad-11d1-80b4-00c04fd430c8""#,
    ],
    ["ipAddress", "", r#""2001:DB8::1""#, r#""2001:db8::1""#],
    ["ipAddress", "", r#""10.0.0.1""#, r#""10.0.0.1""#],
    [
        "macAddress",
        "",
        r#""00:1b:44:11:3a:b7""#,
        r#""00:1b:44:11:3a:b7""#,
    ],
    [
        "enum",
        r#""option": ["open", "done"],"#,
        r#""done""#,
        r#""done""#,
    ],
    ["tinyInteger", "", "-128", "-128"],
    ["smallInteger", "", "32767", "32767"],
    ["integer", "", "-2147483648", "-2147483648"],
    ["bigInteger", "", "9007199254740992", "9007199254740992"],
    [
        "bigInteger",
        "",
        r#""9223372036854775807""#,
        r#""9223372036854775807""#,
    ],
    ["integer", "", "5.0", "5"],
    ["unsignedTinyInteger", "", "255", "255"],
    ["unsignedSmallInteger", "", "65535", "65535"],
    ["unsignedInteger", "", "4294967295", "4294967295"],
    [
        "unsignedBigInteger",
        "",
        r#""9223372036854775807""#,
        r#""9223372036854775807""#,
    ],
    ["year", "", "2026", "2026"],
    ["float", "", "0.1", "0.1"],
    ["double", "", "-1.5e300", "-1.5e300"],
    ["double", "", "5.0", "5"],
    ["unsignedFloat", "", "0", "0"],
    ["unsignedDouble", "", "2.25", "2.25"],
    ["decimal", "", "12.345", "12.35"],
    ["decimal", "", "-99999999.99", "-99999999.99"],
    [
        "decimal",
        r#""precision": 15, "scale": 0,"#,
        r#""123456789012345""#,
        "123456789012345",
    ],
    [
        "decimal",
        r#""precision": 30, "scale": 4,"#,
        r#""-12345678901234567890.5""#,
        r#""-12345678901234567890.5000""#,
    ],
    [
        "decimal",
        r#""precision": 30, "scale": 4,"#,
        "7",
        r#""7.0000""#,
    ],
    ["unsignedDecimal", "", "0.5", "0.5"],
    ["boolean", "", "true", "true"],
    ["boolean", "", "0", "false"],
    ["date", "", r#""2026-01-31""#, r#""2026-01-31""#],
    [
        "date",
        "",
        r#""2026-01-31T23:30:00-02:00""#,
        r#""2026-02-01""#,
    ],
    ["time", "", r#""23:59:59""#, r#""23:59:59""#],
    ["timeTz", "", r#""08:30""#, r#""08:30:00""#],
    [
        "datetime",
        "",
        r#""2026-01-31 13:05:09""#,
        r#""2026-01-31 13:05:09""#,
    ],
    [
        "datetime",
        "",
        r#""2026-01-31T13:05:09.999Z""#,
        r#""2026-01-31 13:05:09""#,
    ],
    [
        "datetimeTz",
        "",
        r#""2026-01-31T13:05:09+02:00""#,
        r#""2026-01-31 11:05:09""#,
    ],
    [
        "timestamp",
        "",
        r#""2026-01-31""#,
        r#""2026-01-31 00:00:00""#,
    ],
    [
        "timestampTz",
        "",
        r#""1969-12-31 23:59:59""#,
        r#""1969-12-31 23:59:59""#,
    ],
    [
        "json",
        "",
        r#"{"a": [1, 2.5, null, "x"], "b": {"c": true}}"#,
        r#"{"a": [1, 2.5, null, "x"], "b": {"c": true}}"#,
    ],
    ["json", "", r#""12""#, r#""12""#],
    ["json", "", "12", "12"],
    ["jsonb", "", r#"[{"a": 1}, []]"#, r#"[{"a": 1}, []]"#],
    ["binary", "", r#""AAECA/8=""#, r#""AAECA/8=""#],
];

/// A type, more about its column, what is written, and what is said of it.
const MISFITS: &[[&str; 4]] = &[
    ["string", "", "7", "it must be a string, not this number"],
    [
        "string",
        r#""length": 3,"#,
        r#""abcd""#,
        "it must have at most 3 characters, not 4",
    ],
    [
        "string",
        "",
        r#""a\u0000b""#,
        "it must not contain the character U+0000",
    ],
    [
        "json",
        "",
        r#"{"a": "\u0000"}"#,
        "it must not contain the character U+0000",
    ],
    ["uuid", "", r#""no""#, "it must be a UUID, not this string"],
    [
        "ipAddress",
        "",
        r#""10.0.0""#,
        "it must be an IP address, not this string",
    ],
    [
        "enum",
        r#""option": ["open", "done"],"#,
        r#""lost""#,
        "it must be one of open, done",
    ],
    ["tinyInteger", "", "128", "it must be between -128 and 127"],
    [
        "unsignedInteger",
        "",
        "-1",
        "it must be between 0 and 4294967295",
    ],
    [
        "integer",
        "",
        "1.5",
        "it must be a whole number, not this number",
    ],
    [
        "bigInteger",
        "",
        r#""9223372036854775808""#,
        "it must be a whole number, not this string",
    ],
    [
        "double",
        "",
        r#""1""#,
        "it must be a number, not this string",
    ],
    ["unsignedDouble", "", "-0.5", "it must not be below 0"],
    [
        "decimal",
        r#""precision": 4, "scale": 2,"#,
        "100",
        "it must have at most 2 digits in front of the point",
    ],
    [
        "decimal",
        r#""precision": 20, "scale": 2,"#,
        r#""1.005""#,
        "it must have at most 2 digits behind the point",
    ],
    ["unsignedDecimal", "", r#""-1""#, "it must not be below 0"],
    [
        "boolean",
        "",
        r#""true""#,
        "it must be true or false, not this string",
    ],
    [
        "date",
        "",
        r#""31.1.2026""#,
        r#"it must be a date such as "2026-01-31", not this string"#,
    ],
    [
        "time",
        "",
        r#""25:00""#,
        r#"it must be a time such as "13:05:00", not this string"#,
    ],
    [
        "datetime",
        "",
        "0",
        r#"it must be a moment such as "2026-01-31 13:05:00", not this number"#,
    ],
    [
        "binary",
        "",
        r#""*""#,
        "it must be bytes as base64, not this string",
    ],
];

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn model(kind: &str, more: &str) -> String {
    format!(
        r#"{{"columns": [{{"name": "id", "type": "ID"}}, {{"name": "it", {more} "type": "{kind}", "nullable": true}}]}}"#
    )
}

#[tokio::test]
async fn what_goes_into_a_column_comes_out_of_it() {
    for [kind, more, given, read] in CASES {
        let (given, read) = (json_of(given), json_of(read));
        with(&[("models/it.mod.yao", &model(kind, more))], async |bed| {
            let id = bed.call("it.Create", json!([{"it": given}])).await;
            let row = bed.call("it.Find", json!([id])).await;
            assert_eq!(row, json!({"id": 1, "it": read}), "{kind}");
            let none = bed.call("it.Create", json!([{"it": null}])).await;
            let row = bed.call("it.Find", json!([none])).await;
            assert_eq!(row, json!({"id": 2, "it": null}), "{kind}");
        })
        .await;
    }
}

#[tokio::test]
async fn texts_are_as_long_as_they_like() {
    with(&[("models/it.mod.yao", &model("text", ""))], async |bed| {
        let long = "x".repeat(70_000);
        bed.call("it.Create", json!([{"it": long}])).await;
        let row = bed.call("it.Find", json!([1])).await;
        assert_eq!(row, json!({"id": 1, "it": long}));
    })
    .await;
}

#[test]
fn every_type_has_a_case() {
    let tried: Vec<&str> = CASES.iter().map(|case| case[0]).collect();
    let counted = ["ID", "increments", "bigIncrements"];
    let untried = KINDS.iter().map(|kind| kind.name);
    let untried: Vec<&str> = untried
        .filter(|name| !tried.contains(name) && !counted.contains(name))
        .collect();
    assert_eq!(untried, Vec::<&str>::new());
}

#[tokio::test]
async fn rows_are_numbered_by_the_store() {
    for kind in ["ID", "increments", "bigIncrements"] {
        let model = format!(
            r#"{{"columns": [{{"name": "no", "type": "{kind}"}}, {{"name": "it", "type": "string"}}]}}"#
        );
        with(&[("models/it.mod.yao", &model)], async |bed| {
            let first = bed.call("it.Create", json!([{"it": "a"}])).await;
            let given = bed.call("it.Create", json!([{"it": "b", "no": 41}])).await;
            let next = bed
                .call("it.Create", json!([{"it": "c", "no": null}]))
                .await;
            assert_eq!(json!([first, given, next]), json!([1, 41, 42]), "{kind}");
        })
        .await;
    }
}

#[tokio::test]
async fn what_does_not_fit_a_column_is_refused() {
    for [kind, more, given, fault] in MISFITS {
        let given = json_of(given);
        with(&[("models/it.mod.yao", &model(kind, more))], async |bed| {
            let answer = bed.call("it.Create", json!([{"it": given}])).await;
            assert_eq!(
                answer,
                json!(["invalid_argument", format!("models.it: {fault}")]),
                "{kind}"
            );
        })
        .await;
    }
}

#[tokio::test]
async fn columns_are_ordered_as_their_values_are() {
    for (kind, more, values) in [
        (
            "decimal",
            r#""precision": 30, "scale": 2,"#,
            json!([
                "-100.00",
                "-20.50",
                "0.00",
                "9.99",
                "10.00",
                "100000000000000000000.01"
            ]),
        ),
        ("string", "", json!(["", "A", "B", "a", "b", "ä"])),
        (
            "datetime",
            "",
            json!([
                "1970-01-01 00:00:00",
                "2026-01-31 13:05:09",
                "2026-02-01 00:00:00"
            ]),
        ),
        ("boolean", "", json!([false, true])),
    ] {
        with(&[("models/it.mod.yao", &model(kind, more))], async |bed| {
            for value in values.as_array().unwrap().iter().rev() {
                bed.call("it.Create", json!([{"it": value}])).await;
            }
            let query = json!({"select": ["it"], "orders": [{"column": "it"}]});
            let rows = bed.call("it.Get", json!([query])).await;
            let read: Vec<&Value> = rows
                .as_array()
                .unwrap()
                .iter()
                .map(|row| &row["it"])
                .collect();
            assert_eq!(json!(read), values, "{kind}");
        })
        .await;
    }
}
