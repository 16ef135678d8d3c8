//! The keys of a model's file.

use crate::app::read::{Field, Kind};

const WHAT: &str = " in Ambit";

const RELATION_KINDS: Kind = Kind::OneOf(&[
    "hasOne",
    "hasMany",
    "hasOneThrough",
    "hasManyThrough",
    "belongsTo",
]);

/// Keys of a file.
pub const TABLE: Kind = Kind::Object(&[
    Field::new("name", Kind::Text),
    Field::new("label", Kind::Text),
    Field::new("description", Kind::Text),
    Field::new(
        "table",
        Kind::Object(&[
            Field::new("name", Kind::Text),
            Field::new("prefix", Kind::Text),
            Field::new("comment", Kind::Text),
            Field::unused("engine", WHAT),
            Field::unused("charset", WHAT),
            Field::unused("collation", WHAT),
            Field::unused("primarykeys", "; set \"primary\" of the column"),
        ]),
    ),
    Field::required("columns", Kind::List(&COLUMN)),
    Field::new("relations", Kind::Map(&RELATION)),
    Field::new("indexes", Kind::List(&INDEX)),
    Field::new("values", Kind::List(&Kind::Map(&Kind::Any))),
    Field::new("option", OPTION),
    Field::unused("tags", WHAT),
    Field::unused("sort", WHAT),
    Field::unused("builtin", WHAT),
    Field::unused("readonly", "; use \"option.read_only\""),
    Field::unused("uid", WHAT),
]);

const COLUMN: Kind = Kind::Object(&[
    Field::required("name", Kind::Text),
    Field::required("type", Kind::Text),
    Field::new("label", Kind::Text),
    Field::new("title", Kind::Text),
    Field::new("description", Kind::Text),
    Field::new("comment", Kind::Text),
    Field::new("example", Kind::Any),
    Field::new("length", Kind::Count),
    Field::new("precision", Kind::Count),
    Field::new("scale", Kind::Count),
    Field::new("nullable", Kind::Boolean),
    Field::new("default", Kind::Any),
    Field::new("default_raw", Kind::Text),
    Field::new("option", Kind::TEXTS),
    Field::new("index", Kind::Boolean),
    Field::new("unique", Kind::Boolean),
    Field::new("primary", Kind::Boolean),
    Field::new("generate", Kind::Text),
    Field::new("crypt", Kind::Text),
    Field::new(
        "validations",
        Kind::List(&Kind::Object(&[
            Field::required("method", Kind::Text),
            Field::new("args", Kind::Any),
            Field::new("message", Kind::Text),
        ])),
    ),
]);

const RELATION: Kind = Kind::Object(&[
    Field::required("type", RELATION_KINDS),
    Field::new("model", Kind::Text),
    Field::new("key", Kind::Text),
    Field::new("foreign", Kind::Text),
    Field::new("query", Kind::Map(&Kind::Any)),
    Field::new("links", Kind::List(&LINK)),
]);

const LINK: Kind = Kind::Object(&[
    Field::new("type", RELATION_KINDS),
    Field::required("model", Kind::Text),
    Field::required("key", Kind::Text),
    Field::required("foreign", Kind::Text),
    Field::new("query", Kind::Map(&Kind::Any)),
]);

const INDEX: Kind = Kind::Object(&[
    Field::new("name", Kind::Text),
    Field::required("columns", Kind::TEXTS),
    Field::new("type", Kind::OneOf(&["index", "unique"])),
    Field::new("comment", Kind::Text),
]);

const OPTION: Kind = Kind::Object(&[
    Field::new("timestamps", Kind::Boolean),
    Field::new("soft_deletes", Kind::Boolean),
    Field::new(
        "permission",
        Kind::Either(&[
            Kind::Boolean,
            Kind::Object(&[Field::new(
                "extra",
                Kind::Map(&Kind::Either(&[Kind::Text, Kind::Boolean])),
            )]),
        ]),
    ),
    Field::new("trackings", Kind::Boolean),
    Field::new("read_only", Kind::Boolean),
    Field::unused("logging", WHAT),
    Field::unused("constraints", WHAT),
]);
