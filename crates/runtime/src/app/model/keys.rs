//! The keys of a model's file.

use crate::app::read::{FieldSpec, ValueKind};

const WHAT: &str = " in Ambit";

const RELATION_KINDS: ValueKind = ValueKind::OneOf(&[
    "hasOne",
    "hasMany",
    "hasOneThrough",
    "hasManyThrough",
    "belongsTo",
]);

/// Keys of a file.
pub const TABLE: ValueKind = ValueKind::Object(&[
    FieldSpec::new("name", ValueKind::Text),
    FieldSpec::new("label", ValueKind::Text),
    FieldSpec::new("description", ValueKind::Text),
    FieldSpec::new(
        "table",
        ValueKind::Object(&[
            FieldSpec::new("name", ValueKind::Text),
            FieldSpec::new("prefix", ValueKind::Text),
            FieldSpec::new("comment", ValueKind::Text),
            FieldSpec::unused("engine", WHAT),
            FieldSpec::unused("charset", WHAT),
            FieldSpec::unused("collation", WHAT),
            FieldSpec::unused("primarykeys", "; set \"primary\" of the column"),
        ]),
    ),
    FieldSpec::required("columns", ValueKind::List(&COLUMN)),
    FieldSpec::new("relations", ValueKind::Map(&RELATION)),
    FieldSpec::new("indexes", ValueKind::List(&INDEX)),
    FieldSpec::new("values", ValueKind::List(&ValueKind::Map(&ValueKind::Any))),
    FieldSpec::new("option", OPTION),
    FieldSpec::unused("tags", WHAT),
    FieldSpec::unused("sort", WHAT),
    FieldSpec::unused("builtin", WHAT),
    FieldSpec::unused("readonly", "; use \"option.read_only\""),
    FieldSpec::unused("uid", WHAT),
]);

const COLUMN: ValueKind = ValueKind::Object(&[
    FieldSpec::required("name", ValueKind::Text),
    FieldSpec::required("type", ValueKind::Text),
    FieldSpec::new("label", ValueKind::Text),
    FieldSpec::new("title", ValueKind::Text),
    FieldSpec::new("description", ValueKind::Text),
    FieldSpec::new("comment", ValueKind::Text),
    FieldSpec::new("example", ValueKind::Any),
    FieldSpec::new("length", ValueKind::Count),
    FieldSpec::new("precision", ValueKind::Count),
    FieldSpec::new("scale", ValueKind::Count),
    FieldSpec::new("nullable", ValueKind::Boolean),
    FieldSpec::new("default", ValueKind::Any),
    FieldSpec::new("default_raw", ValueKind::Text),
    FieldSpec::new("option", ValueKind::TEXTS),
    FieldSpec::new("index", ValueKind::Boolean),
    FieldSpec::new("unique", ValueKind::Boolean),
    FieldSpec::new("primary", ValueKind::Boolean),
    FieldSpec::new("generate", ValueKind::Text),
    FieldSpec::new("crypt", ValueKind::Text),
    FieldSpec::new(
        "validations",
        ValueKind::List(&ValueKind::Object(&[
            FieldSpec::required("method", ValueKind::Text),
            FieldSpec::new("args", ValueKind::Any),
            FieldSpec::new("message", ValueKind::Text),
        ])),
    ),
]);

const RELATION: ValueKind = ValueKind::Object(&[
    FieldSpec::required("type", RELATION_KINDS),
    FieldSpec::new("model", ValueKind::Text),
    FieldSpec::new("key", ValueKind::Text),
    FieldSpec::new("foreign", ValueKind::Text),
    FieldSpec::new("query", ValueKind::Map(&ValueKind::Any)),
    FieldSpec::new("links", ValueKind::List(&LINK)),
]);

const LINK: ValueKind = ValueKind::Object(&[
    FieldSpec::new("type", RELATION_KINDS),
    FieldSpec::required("model", ValueKind::Text),
    FieldSpec::required("key", ValueKind::Text),
    FieldSpec::required("foreign", ValueKind::Text),
    FieldSpec::new("query", ValueKind::Map(&ValueKind::Any)),
]);

const INDEX: ValueKind = ValueKind::Object(&[
    FieldSpec::new("name", ValueKind::Text),
    FieldSpec::required("columns", ValueKind::TEXTS),
    FieldSpec::new("type", ValueKind::OneOf(&["index", "unique"])),
    FieldSpec::new("comment", ValueKind::Text),
]);

const OPTION: ValueKind = ValueKind::Object(&[
    FieldSpec::new("timestamps", ValueKind::Boolean),
    FieldSpec::new("soft_deletes", ValueKind::Boolean),
    FieldSpec::new(
        "permission",
        ValueKind::Either(&[
            ValueKind::Boolean,
            ValueKind::Object(&[FieldSpec::new(
                "extra",
                ValueKind::Map(&ValueKind::Either(&[ValueKind::Text, ValueKind::Boolean])),
            )]),
        ]),
    ),
    FieldSpec::new("trackings", ValueKind::Boolean),
    FieldSpec::new("read_only", ValueKind::Boolean),
    FieldSpec::unused("logging", WHAT),
    FieldSpec::unused("constraints", WHAT),
]);
