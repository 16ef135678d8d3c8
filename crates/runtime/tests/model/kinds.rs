//! Types of columns: what goes in comes out, and what does not fit is refused.

use crate::bed::with;
use ambit_runtime::model::kind::KINDS;
use serde_json::{Value, json};

/// What is written, and what is read then.
type Case = (&'static str, &'static str, Value, Value);

fn cases() -> Vec<Case> {
    let same = |kind, more, value: Value| (kind, more, value.clone(), value);
    vec![
        same("string", "", json!("Grüße 🐾 'quoted' \"too\" \\ %_")),
        same("string", "", json!("")),
        same("char", r#""length": 3,"#, json!("abc")),
        same("text", "", json!("x".repeat(70_000))),
        same("mediumText", "", json!("two\nlines")),
        same("longText", "", json!("long")),
        (
            "uuid",
            "",
            json!("6BA7B810-9DAD-11D1-80B4-00C04FD430C8"),
            json!("6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        ),
        ("ipAddress", "", json!("2001:DB8::1"), json!("2001:db8::1")),
        same("ipAddress", "", json!("10.0.0.1")),
        same("macAddress", "", json!("00:1b:44:11:3a:b7")),
        same("enum", r#""option": ["open", "done"],"#, json!("done")),
        same("tinyInteger", "", json!(-128)),
        same("smallInteger", "", json!(32_767)),
        same("integer", "", json!(-2_147_483_648_i64)),
        same("bigInteger", "", json!(9_007_199_254_740_992_i64)),
        (
            "bigInteger",
            "",
            json!("9223372036854775807"),
            json!("9223372036854775807"),
        ),
        ("integer", "", json!(5.0), json!(5)),
        same("unsignedTinyInteger", "", json!(255)),
        same("unsignedSmallInteger", "", json!(65_535)),
        same("unsignedInteger", "", json!(4_294_967_295_u32)),
        (
            "unsignedBigInteger",
            "",
            json!("9223372036854775807"),
            json!("9223372036854775807"),
        ),
        same("year", "", json!(2026)),
        same("float", "", json!(0.1)),
        same("double", "", json!(-1.5e300)),
        ("double", "", json!(5.0), json!(5)),
        same("unsignedFloat", "", json!(0)),
        same("unsignedDouble", "", json!(2.25)),
        ("decimal", "", json!(12.345), json!(12.35)),
        same("decimal", "", json!(-99_999_999.99)),
        (
            "decimal",
            r#""precision": 15, "scale": 0,"#,
            json!("123456789012345"),
            json!(123_456_789_012_345_u64),
        ),
        (
            "decimal",
            r#""precision": 30, "scale": 4,"#,
            json!("-12345678901234567890.5"),
            json!("-12345678901234567890.5000"),
        ),
        (
            "decimal",
            r#""precision": 30, "scale": 4,"#,
            json!(7),
            json!("7.0000"),
        ),
        same("unsignedDecimal", "", json!(0.5)),
        same("boolean", "", json!(true)),
        ("boolean", "", json!(0), json!(false)),
        same("date", "", json!("2026-01-31")),
        (
            "date",
            "",
            json!("2026-01-31T23:30:00-02:00"),
            json!("2026-02-01"),
        ),
        same("time", "", json!("23:59:59")),
        ("timeTz", "", json!("08:30"), json!("08:30:00")),
        same("datetime", "", json!("2026-01-31 13:05:09")),
        (
            "datetime",
            "",
            json!("2026-01-31T13:05:09.999Z"),
            json!("2026-01-31 13:05:09"),
        ),
        (
            "datetimeTz",
            "",
            json!("2026-01-31T13:05:09+02:00"),
            json!("2026-01-31 11:05:09"),
        ),
        (
            "timestamp",
            "",
            json!("2026-01-31"),
            json!("2026-01-31 00:00:00"),
        ),
        same("timestampTz", "", json!("1969-12-31 23:59:59")),
        same(
            "json",
            "",
            json!({"a": [1, 2.5, null, "x"], "b": {"c": true}}),
        ),
        same("json", "", json!("12")),
        same("json", "", json!(12)),
        same("jsonb", "", json!([{"a": 1}, []])),
        same("binary", "", json!("AAECA/8=")),
    ]
}

fn model(kind: &str, more: &str) -> String {
    format!(
        r#"{{"columns": [{{"name": "id", "type": "ID"}}, {{"name": "it", {more} "type": "{kind}", "nullable": true}}]}}"#
    )
}

#[tokio::test]
async fn what_goes_into_a_column_comes_out_of_it() {
    for (kind, more, given, read) in cases() {
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

#[test]
fn every_type_has_a_case() {
    let tried: Vec<&str> = cases().iter().map(|case| case.0).collect();
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
    for (kind, more, given, fault) in [
        (
            "string",
            "",
            json!(7),
            "it must be a string, not this number",
        ),
        (
            "string",
            r#""length": 3,"#,
            json!("abcd"),
            "it must have at most 3 characters, not 4",
        ),
        (
            "string",
            "",
            json!("a\0b"),
            "it must not contain the character U+0000",
        ),
        (
            "json",
            "",
            json!({"a": "\u{0}"}),
            "it must not contain the character U+0000",
        ),
        (
            "uuid",
            "",
            json!("no"),
            "it must be a UUID, not this string",
        ),
        (
            "ipAddress",
            "",
            json!("10.0.0"),
            "it must be an IP address, not this string",
        ),
        (
            "enum",
            r#""option": ["open", "done"],"#,
            json!("lost"),
            "it must be one of open, done",
        ),
        (
            "tinyInteger",
            "",
            json!(128),
            "it must be between -128 and 127",
        ),
        (
            "unsignedInteger",
            "",
            json!(-1),
            "it must be between 0 and 4294967295",
        ),
        (
            "integer",
            "",
            json!(1.5),
            "it must be a whole number, not this number",
        ),
        (
            "bigInteger",
            "",
            json!("9223372036854775808"),
            "it must be a whole number, not this string",
        ),
        (
            "double",
            "",
            json!("1"),
            "it must be a number, not this string",
        ),
        ("unsignedDouble", "", json!(-0.5), "it must not be below 0"),
        (
            "decimal",
            r#""precision": 4, "scale": 2,"#,
            json!(100),
            "it must have at most 2 digits in front of the point",
        ),
        (
            "decimal",
            r#""precision": 20, "scale": 2,"#,
            json!("1.005"),
            "it must have at most 2 digits behind the point",
        ),
        ("unsignedDecimal", "", json!("-1"), "it must not be below 0"),
        (
            "boolean",
            "",
            json!("true"),
            "it must be true or false, not this string",
        ),
        (
            "date",
            "",
            json!("31.1.2026"),
            "it must be a date such as \"2026-01-31\", not this string",
        ),
        (
            "time",
            "",
            json!("25:00"),
            "it must be a time such as \"13:05:00\", not this string",
        ),
        (
            "datetime",
            "",
            json!(0),
            "it must be a moment such as \"2026-01-31 13:05:00\", not this number",
        ),
        (
            "binary",
            "",
            json!("*"),
            "it must be bytes as base64, not this string",
        ),
    ] {
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
