//! What is counted.

use super::{BYTES, DEPTH, check_cost};
use crate::schema::{SchemaError, check};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const STEPS: &str = "a check would take more than 500000 steps";

/// Forty definitions, each of which names the next one twice.
fn doubling(keyword: &str, refer: impl Fn(usize) -> Value) -> Value {
    let mut parts = json!({"a40": {"$anchor": "n40", "type": "object"}});
    for at in 0..40 {
        let next = refer(at + 1);
        parts[format!("a{at}")] = json!({"$anchor": format!("n{at}"), keyword: [next, next]});
    }
    json!({"$ref": "#/$defs/a0", "$defs": parts})
}

#[test]
fn schemas_that_take_years_are_refused_at_once() {
    let by_pointer = |at: usize| json!({"$ref": format!("#/$defs/a{at}")});
    let by_code = |at: usize| json!({"$ref": format!("#/%24defs/%61{at}")});
    let by_name = |at: usize| json!({"$ref": format!("#n{at}")});
    let by_late_name = |at: usize| json!({"$dynamicRef": format!("#n{at}")});
    let mut addressed = doubling("allOf", |at| json!({"$ref": format!("t:x#/$defs/a{at}")}));
    addressed["$id"] = "t:x".into();
    for schema in [
        doubling("allOf", by_pointer),
        doubling("oneOf", by_pointer),
        doubling("allOf", by_code),
        doubling("allOf", by_name),
        doubling("allOf", by_late_name),
        json!({"allOf": [addressed, addressed]}),
        addressed,
    ] {
        let began = Instant::now();
        let found = check(&schema, &json!({}));
        assert_eq!(
            found,
            Err(SchemaError::Schema(STEPS.to_owned())),
            "{schema}"
        );
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn a_schema_that_doubles_with_each_level_of_a_value_is_refused_for_deep_values_alone() {
    let next = json!({"properties": {"next": {"$ref": "#"}}});
    let schema = json!({"allOf": [next, next]});
    let mut value = json!({});
    for depth in 0..40 {
        let found = check_cost(&schema, &value);
        assert_eq!(found.is_ok(), depth < 15, "{depth}: {found:?}");
        value = json!({"next": value});
    }
}

/// So many of what a schema or a value may have any number of.
const MANY: usize = 2_000;

fn many(part: &Value) -> Value {
    let fields = (0..MANY).map(|at| (format!("x{at}"), part.clone()));
    Value::Object(fields.collect())
}

/// A schema that applies another one 1024 times.
fn often(leaf: &Value) -> Value {
    let mut parts = json!({"a10": leaf});
    for at in 0..10 {
        let next = json!({"$ref": format!("#/$defs/a{}", at + 1)});
        parts[format!("a{at}")] = json!({"allOf": [next, next]});
    }
    json!({"$ref": "#/$defs/a0", "$defs": parts})
}

/// That the schema is affordable once, and not 1024 times.
fn assert_counted(leaf: &Value, value: &Value) {
    assert_eq!(check_cost(&often(&json!({})), &json!({})), Ok(()));
    let what = leaf.as_object().and_then(|leaf| leaf.keys().next());
    assert_eq!(check_cost(leaf, value), Ok(()), "{what:?}");
    let found = check_cost(&often(leaf), value);
    assert_eq!(found, Err(STEPS.to_owned()), "{what:?}");
}

#[test]
fn what_of_a_schema_is_looked_at_is_counted() {
    let list = vec!["x"; MANY];
    let mut wholes = json!({"$defs": {}});
    for at in 0..MANY {
        wholes["$defs"][format!("x{at}")] = json!({"$id": format!("t:{at}")});
    }
    for leaf in [
        many(&json!(0)),
        wholes,
        json!({"dependentSchemas": many(&json!(true))}),
        json!({"dependencies": many(&json!({}))}),
        json!({"dependencies": many(&json!([]))}),
        json!({"dependencies": {"a": list}}),
        json!({"dependentRequired": many(&json!([]))}),
        json!({"dependentRequired": {"a": list}}),
        json!({"enum": list}),
        json!({"enum": [[list]]}),
        json!({"enum": ["x".repeat(MANY * BYTES)]}),
        json!({"const": list}),
        json!({"required": list}),
    ] {
        assert_counted(&leaf, &json!({}));
    }
}

#[test]
fn what_of_a_value_is_looked_at_is_counted() {
    let (fields, items) = (many(&json!(0)), json!(vec![0; MANY]));
    let text = "x".repeat(MANY * BYTES);
    for (leaf, value) in [
        (json!({}), &fields),
        (json!({"properties": {}}), &fields),
        (json!({"additionalProperties": false}), &fields),
        (json!({"unevaluatedProperties": false}), &fields),
        (json!({"propertyNames": true}), &fields),
        (json!({}), &items),
        (json!({"prefixItems": vec![true; MANY]}), &items),
        (json!({"additionalItems": true}), &items),
        (json!({"contains": true}), &items),
        (json!({"unevaluatedItems": true}), &items),
        (json!({"uniqueItems": true}), &json!([items, []])),
        (json!({"maxLength": 1}), &text.as_str().into()),
        (json!({"pattern": "a"}), &"x".repeat(MANY).into()),
        (json!({"format": "regex"}), &r"\d".repeat(20).into()),
        (
            json!({"patternProperties": {"a": true, "b": true}}),
            &json!({"x".repeat(MANY): 0}),
        ),
        (json!({}), &json!({text: 0})),
        (
            json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
            &json!([items]),
        ),
    ] {
        assert_counted(&leaf, value);
    }
}

#[test]
fn first_items_are_counted_for_drafts_without_prefixes() {
    let draft = "http://json-schema.org/draft-07/schema#";
    let (prefix, items) = (vec![true; MANY], json!({"enum": vec![0; MANY]}));
    let schema = json!({"$schema": draft, "prefixItems": prefix, "items": items});
    let found = check_cost(&schema, &vec![0; MANY].into());
    assert_eq!(found, Err(STEPS.to_owned()));
}

#[test]
fn names_of_fields_are_counted_as_the_values_that_they_are_checked_as() {
    let schema =
        json!({"propertyNames": {"$ref": "#/$defs/a0"}, "$defs": often(&json!({}))["$defs"]});
    for (length, is_affordable) in [(1, true), (BYTES, true), (MANY * BYTES, false)] {
        let found = check_cost(&schema, &json!({"x".repeat(length): 0}));
        assert_eq!(found.is_ok(), is_affordable, "{length}: {found:?}");
    }
}

#[test]
fn schemas_of_too_many_parts_are_refused() {
    let inner = json!({"properties": many(&json!({}))});
    for schema in [
        json!({"allOf": vec![true; 10_000]}),
        json!({"properties": {"x".repeat(MANY): inner}}),
    ] {
        let why = "it has more than 10000 parts";
        let found = check(&schema, &json!({}));
        assert_eq!(found, Err(SchemaError::Schema(why.to_owned())));
    }
}

#[test]
fn patterns_that_would_take_too_much_are_refused() {
    let names = (0..9_000).map(|at| (format!(r"a{at}\w{{60}}"), json!(true)));
    let large = |start: &str| {
        format!(
            "its pattern \"{start}\" may take more than 10240 KiB: repeat less in it, and write \\x01 for \\cA"
        )
    };
    for (schema, why) in [
        (
            json!({"patternProperties": Value::Object(names.collect())}),
            "it has more than 100 patterns".to_owned(),
        ),
        (
            json!({"properties": {"a": {"pattern": "ä".repeat(1_001)}}}),
            format!(
                "its pattern \"{}\" has more than 1000 characters",
                "ä".repeat(60)
            ),
        ),
        (
            json!({"pattern": r"\w".repeat(500)}),
            "its patterns have too many escapes: shorten those with the most".to_owned(),
        ),
        (
            json!({"patternProperties": {r"\p{L}{900}": true}}),
            large(r"\p{L}{900}"),
        ),
        (
            json!({"default": {"pattern": "(a{1000}){900}"}}),
            large("(a{1000}){900}"),
        ),
        (
            json!({"pattern": "(?x)#\\cJ[\n\\p{L}{900}]"}),
            large("(?x)#\\cJ[\n\\p{L}{900}]"),
        ),
    ] {
        let found = check(&schema, &json!({}));
        assert_eq!(found, Err(SchemaError::Schema(why)));
    }
}

#[test]
fn ordinary_patterns_are_affordable() {
    let patterns = vec![json!({"pattern": r"^\w{1,64}$"}); 96];
    let schema = json!({"allOf": patterns, "patternProperties": {r"^\S.{1,99}\D$": {"pattern": r"\\cite\{\d+\}"}}});
    assert_eq!(check(&schema, &"ok".into()), Ok(()));
    let long = json!({"pattern": "^.{1,1000}$"});
    assert_eq!(check(&long, &"ok".into()), Ok(()));
    for text in ["*.rs", "(?=a)b", r"\p{Nothing}"] {
        let schema = json!({"examples": [{"pattern": text}]});
        assert_eq!(check(&schema, &json!({})), Ok(()), "{text}");
    }
}

#[test]
fn texts_that_a_schema_of_schemas_reads_as_patterns_are_counted() {
    for draft in [
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        let schema = json!({"$ref": draft});
        let found = check_cost(&schema, &json!({"pattern": r"\w".repeat(MANY)}));
        assert_eq!(found, Err(STEPS.to_owned()), "{draft}");
    }
}

#[test]
fn large_ordinary_schemas_are_checked() {
    let mut properties = json!({"city": {"enum": (0..2_000).collect::<Vec<_>>()}});
    for at in 0..300 {
        properties[format!("p{at}")] =
            json!({"type": "string", "description": "A text.", "maxLength": 9});
    }
    let schema = json!({"type": "object", "required": ["city"], "additionalProperties": false, "properties": properties});
    let mut value = json!({"city": 1_999});
    for at in 0..300 {
        value[format!("p{at}")] = "text".into();
    }
    assert_eq!(check(&schema, &value), Ok(()));
    let rows = vec![value; 50];
    assert_eq!(check(&json!({"items": schema}), &rows.into()), Ok(()));
}

#[test]
fn what_refers_to_itself_for_ever_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"$ref": "#"}}}),
    ] {
        let why = format!("it is nested deeper than {DEPTH} levels");
        assert_eq!(check(&schema, &json!({})), Err(SchemaError::Schema(why)));
    }
}

#[test]
fn the_deepest_schema_that_is_taken_is_checked_on_the_stack_of_a_worker() {
    let mut parts = json!({"p0": {"type": "string"}});
    for at in 1..DEPTH {
        parts[format!("p{at}")] = json!({"$ref": format!("#/$defs/p{}", at - 1)});
    }
    let last = format!("#/$defs/p{}", DEPTH - 1);
    let schema = json!({"$ref": last, "$defs": parts});
    let found = check(&schema, &json!(7));
    let wrong = "at '': want string, but got number";
    assert_eq!(found, Err(SchemaError::Value(wrong.to_owned())));
}

#[test]
fn large_values_of_ordinary_schemas_are_checked() {
    let tree = json!({"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
        "name": {"type": "string"}, "left": {"$ref": "#"}, "right": {"$ref": "#"}, "rows": {"type": "array", "items": {"$ref": "#/$defs/row%3C1%3E"}}},
        "$defs": {"row<1>": {"type": "object", "properties": {"id": {"type": "integer"}}}}});
    let mut value = json!({"name": "leaf"});
    for _ in 0..12 {
        value = json!({"name": "branch", "left": value, "right": {"name": "leaf"}});
    }
    let row = json!({"id": 1});
    value["rows"] = vec![row; 20_000].into();
    assert_eq!(check(&tree, &value), Ok(()));
    let schema = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
    assert_eq!(check(&schema, &json!({"type": "object"})), Ok(()));
}
