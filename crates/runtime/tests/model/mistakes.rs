//! Wrong files and what is said about them, word for word.

use crate::bed::app;
use serde_json::json;

const ID: &str = r#"{"name": "id", "type": "ID"}"#;

fn columns(more: &str) -> String {
    format!("{{\"columns\": [{ID},\n{more}]}}")
}

fn with(more: &str) -> String {
    format!("{{\"columns\": [{ID}],\n{more}}}")
}

/// What is said about a file `models/it.mod.yao`, without its name.
fn said(text: &str) -> Vec<String> {
    let app = app(&[("models/it.mod.yao", text)]);
    let problems = app.problems.iter().map(|problem| {
        let text = problem.to_string();
        let text = text.strip_prefix("models/it.mod.yao:").unwrap_or(&text);
        format!("{:?} {text}", problem.severity)
    });
    problems.collect()
}

/// A column, and what is said of it.
const COLUMNS: &[(&str, &str)] = &[
    (
        r#"{"name": "a", "type": "strin"}"#,
        "2:23: there is no column type \"strin\"; did you mean \"string\"?",
    ),
    (
        r#"{"name": "a", "type": "string", "cryp": "AES"}"#,
        "2:33: unknown key \"columns[1].cryp\"; did you mean \"crypt\"?",
    ),
    (
        r#"{"type": "string"}"#,
        "2:1: \"columns[1].name\" is missing",
    ),
    (
        r#"{"name": "a b", "type": "string"}"#,
        "2:10: column name \"a b\" must be of letters, digits and _, and not begin with a digit",
    ),
    (
        r#"{"name": "ID", "type": "string"}"#,
        "2:1: there is a column \"id\" already",
    ),
    (
        r#"{"name": "a", "type": "string", "primary": true}"#,
        "2:1: column \"id\" is the primary key already; a model has one",
    ),
    (
        r#"{"name": "a", "type": "string", "length": 0}"#,
        "2:1: column \"a\" must have a \"length\" from 1 to 65535",
    ),
    (
        r#"{"name": "a", "type": "decimal", "precision": 2, "scale": 3}"#,
        "2:1: column \"a\" must have a \"scale\" of at most its \"precision\"",
    ),
    (
        r#"{"name": "a", "type": "enum"}"#,
        "2:1: column \"a\" needs \"option\", a list of its values",
    ),
    (
        r#"{"name": "a", "type": "string", "crypt": "AEZ"}"#,
        "2:42: \"crypt\" must be \"AES\" or \"PASSWORD\"; did you mean \"AES\"?",
    ),
    (
        r#"{"name": "a", "type": "integer", "crypt": "AES"}"#,
        "2:43: \"crypt\" AES is for columns with a text, such as \"string\", that are no primary key",
    ),
    (
        r#"{"name": "a", "type": "integer", "default": "x"}"#,
        "2:45: \"default\" must be a whole number, not this string",
    ),
    (
        r#"{"name": "a", "type": "integer", "default_raw": "now()"}"#,
        "2:49: \"default_raw\" is a moment, which the column cannot hold",
    ),
    (
        r#"{"name": "a", "type": "integer", "default_raw": "f(x)"}"#,
        "2:49: \"default_raw\" must be NOW(), CURRENT_TIMESTAMP, NULL, TRUE, FALSE, a number or a text in ''",
    ),
    (
        r#"{"name": "a", "type": "integer", "generate": "UUID"}"#,
        "2:46: \"generate\" must be \"UUID\", for a column with a text",
    ),
    (
        r#"{"name": "a", "type": "string", "validations": [{"method": "mim"}]}"#,
        "2:49: there is no validation \"mim\"; did you mean \"min\"?",
    ),
    (
        r#"{"name": "a", "type": "string", "validations": [{"method": "min", "args": ["x"]}]}"#,
        "2:49: \"min\" needs a number in \"args\"",
    ),
    (
        r#"{"name": "a", "type": "string", "validations": [{"method": "pattern", "args": "("}]}"#,
        "2:49: \"pattern\" is no regular expression: error: unclosed group",
    ),
    (
        r#"{"name": "a", "type": "string", "validations": [{"method": "typeof", "args": ["text"]}]}"#,
        "2:49: \"typeof\" knows string, integer, float, number, boolean, datetime, object, array",
    ),
];

#[test]
fn wrong_columns_are_named_with_their_place() {
    for (column, expected) in COLUMNS {
        assert_eq!(
            said(&columns(column)),
            [format!("Error {expected}")],
            "{column}"
        );
    }
}

/// Another key, and what is said of it.
const KEYS: &[(&str, &str)] = &[
    (
        r#""relations": {"owner": {"type": "hasOne", "model": "ownr", "key": "id", "foreign": "id"}}"#,
        "2:52: relation \"owner\": there is no model \"ownr\"",
    ),
    (
        r#""relations": {"me": {"type": "hasOne", "model": "it", "key": "idd", "foreign": "id"}}"#,
        "2:62: relation \"me\": model \"it\" has no column \"idd\"; did you mean \"id\"?",
    ),
    (
        r#""relations": {"me": {"type": "hasOne", "model": "it", "key": "id", "foreign": "x"}}"#,
        "2:79: relation \"me\": model \"it\" has no column \"x\"",
    ),
    (
        r#""relations": {"me": {"type": "hasOne", "model": "it", "key": "id"}}"#,
        "2:21: relation \"me\": \"foreign\" is missing",
    ),
    (
        r#""relations": {"id": {"type": "hasOne", "model": "it", "key": "id", "foreign": "id"}}"#,
        "2:21: relation \"id\" has the name of a column",
    ),
    (
        r#""relations": {"me": {"type": "hasManyThrough"}}"#,
        "2:21: relation \"me\": \"links\" is missing: the steps to the other model",
    ),
    (
        r#""relations": {"me": {"type": "hasSome"}}"#,
        "2:30: \"relations.me.type\" must be \"hasOne\", \"hasMany\", \"hasOneThrough\", \"hasManyThrough\" or \"belongsTo\"; did you mean \"hasOne\"?",
    ),
    (
        r#""indexes": [{"columns": ["x"]}]"#,
        "2:13: index \"x\": there is no column \"x\"",
    ),
    (
        r#""indexes": [{"columns": []}]"#,
        "2:13: index \"\" has no columns",
    ),
    (r#""values": [{"x": 1}]"#, "2:18: \"x\" is no column"),
    (
        r#""values": [{"id": "x"}]"#,
        "2:19: \"id\" must be a whole number, not this string",
    ),
    (
        r#""table": {"name": "__yao_it"}"#,
        "2:10: table \"__yao_it\": such names are not the app's",
    ),
    (
        r#""table": {"name": "a-b"}"#,
        "2:10: the table's name \"a-b\" must be of letters, digits and _, and not begin with a digit",
    ),
    (
        r#""option": {"permision": true}"#,
        "2:12: unknown key \"option.permision\"; did you mean \"permission\"?",
    ),
    (
        r#""options": {"permission": true}"#,
        "2:1: unknown key \"options\"; did you mean \"option\"?",
    ),
    (
        r#""option": {"readOnly": true}"#,
        "2:12: unknown key \"option.readOnly\"; did you mean \"read_only\"?",
    ),
    (
        r#""option": {"permission": {"extra": {"a": "b"}}}"#,
        "2:11: \"permission.extra\": there is no column \"b\"",
    ),
];

#[test]
fn other_wrong_keys_are_named_with_their_place() {
    for (more, expected) in KEYS {
        assert_eq!(said(&with(more)), [format!("Error {expected}")], "{more}");
    }
    assert_eq!(
        said("{}"),
        [
            "Error 1:1: \"columns\" is missing",
            "Error 1:1: \"columns\" must not be empty"
        ][..1]
    );
}

#[test]
fn an_index_that_was_meant_to_be_unique_is_not_just_left_out() {
    let text = with(r#""indexes": [{"columns": ["id"], "type": "uniqe"}]"#);
    assert_eq!(
        said(&text),
        [
            "Error 2:13: index \"id\" is left out: Ambit has no index of its type",
            "Warning 2:41: \"indexes[0].type\" must be \"index\" or \"unique\": it is left out; did you mean \"unique\"?",
        ]
    );
}

#[test]
fn keys_without_effect_give_a_notice() {
    let text = with(r#""tags": ["a"], "option": {"logging": true}, "table": {"engine": "InnoDB"}"#);
    assert_eq!(
        said(&text),
        [
            "Notice 2:1: \"tags\" has no effect in Ambit",
            "Notice 2:27: \"option.logging\" has no effect in Ambit",
            "Notice 2:55: \"table.engine\" has no effect in Ambit",
        ]
    );
    assert!(app(&[("models/it.mod.yao", &text)]).models["it"].is_ok());
}

#[test]
fn a_broken_model_takes_those_with_it_that_need_it() {
    let pet = format!(
        r#"{{"columns": [{ID}, {{"name": "owner_id", "type": "integer"}}],
        "relations": {{"owner": {{"type": "belongsTo", "model": "owner", "key": "id", "foreign": "owner_id"}}}}}}"#
    );
    let visit = format!(
        r#"{{"columns": [{ID}, {{"name": "pet_id", "type": "integer"}}],
        "relations": {{"pet": {{"type": "belongsTo", "model": "pet", "key": "id", "foreign": "pet_id"}}}}}}"#
    );
    let app = app(&[
        (
            "models/owner.mod.yao",
            r#"{"columns": [{"name": "id", "type": "IDD"}]}"#,
        ),
        ("models/pet.mod.yao", &pet),
        ("models/visit.mod.yao", &visit),
        ("models/alone.mod.yao", &with(r#""name": "Alone""#)),
    ]);
    let states: Vec<(&str, bool)> = app
        .models
        .iter()
        .map(|(id, it)| (id.as_str(), it.is_ok()))
        .collect();
    assert_eq!(
        states,
        [
            ("__yao.role", true),
            ("alone", true),
            ("owner", false),
            ("pet", false),
            ("visit", false)
        ]
    );
    let problems: Vec<String> = app.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "models/owner.mod.yao:1:37: there is no column type \"IDD\"; did you mean \"ID\"?",
            "models/pet.mod.yao: its related model \"owner\" cannot be used; see models/owner.mod.yao",
            "models/visit.mod.yao: its related model \"pet\" cannot be used; see models/pet.mod.yao",
        ]
    );
}

#[test]
fn short_names_mean_what_is_beside_a_model_first() {
    let related = |file: &str| {
        let relation = r#""relations": {"other": {"type": "hasOne", "model": "other", "key": "id", "foreign": "id"}}"#;
        let text = with(relation);
        let plain = with(r#""name": "Plain""#);
        let app = app(&[
            ("assistants/desk/package.yao", "name: Desk"),
            ("assistants/desk/models/other.mod.yao", &plain),
            ("models/other.mod.yao", &plain),
            ("models/shop/other.mod.yao", &plain),
            (file, &text),
        ]);
        let mut models = app.models.values().flatten();
        let model = models.find(|model| model.file == file).unwrap();
        model.relations["other"].model.clone()
    };
    assert_eq!(related("models/it.mod.yao"), "other");
    assert_eq!(related("models/shop/it.mod.yao"), "shop.other");
    assert_eq!(related("models/market/it.mod.yao"), "other");
    assert_eq!(
        related("assistants/desk/models/it.mod.yao"),
        "agents.desk.other"
    );
}

#[test]
fn two_models_do_not_make_one_table() {
    let table = with(r#""table": {"name": "Both"}"#);
    let borrowed = with(r#""table": {"name": "both"}, "option": {"read_only": true}"#);
    let app = app(&[
        ("models/a.mod.yao", &table),
        ("models/b.mod.yao", &table),
        ("models/c.mod.yao", &borrowed),
    ]);
    let states: Vec<bool> = app.models.values().map(Result::is_ok).collect();
    assert_eq!(json!(states), json!([true, true, false, true]));
    assert_eq!(
        app.problems[0].to_string(),
        "models/b.mod.yao:1:1: table \"Both\" is that of models/a.mod.yao too; name another one, or set \"option.read_only\""
    );
}
