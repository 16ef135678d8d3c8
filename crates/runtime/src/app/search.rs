//! The keys of search settings, in `agent/search.yml` and in packages.

use super::read::{Field, Kind};

/// `search`.
pub const TABLE: &[Field] = &[
    Field::new(
        "web",
        Kind::Object(&[
            Field::new(
                "provider",
                Kind::OneOf(&["tavily", "serper", "serpapi", "scripted"]),
            ),
            Field::new("api_key_env", Kind::Text),
            Field::new("max_results", Kind::Count),
            Field::new("engine", Kind::Text),
            Field::new("results", Kind::List(&Kind::Any)),
        ]),
    ),
    Field::new(
        "kb",
        Kind::Object(&[
            Field::new("collections", Kind::TEXTS),
            Field::new("threshold", Kind::Number),
            Field::unused("graph", ": Ambit has no graph search"),
            Field::new("max_results", Kind::Count),
        ]),
    ),
    Field::new(
        "db",
        Kind::Object(&[
            Field::new("models", Kind::TEXTS),
            Field::new("max_results", Kind::Count),
        ]),
    ),
    Field::new(
        "keyword",
        Kind::Object(&[
            Field::new("max_keywords", Kind::Count),
            Field::new("language", Kind::Text),
        ]),
    ),
    Field::new(
        "querydsl",
        Kind::Object(&[Field::new("strict", Kind::Boolean)]),
    ),
    Field::new("rerank", Kind::Object(&[Field::new("top_n", Kind::Count)])),
    Field::new(
        "citation",
        Kind::Object(&[
            Field::new("format", Kind::Text),
            Field::new("auto_inject_prompt", Kind::Boolean),
            Field::new("custom_prompt", Kind::Text),
        ]),
    ),
    Field::new(
        "weights",
        Kind::Object(&[
            Field::new("user", Kind::Number),
            Field::new("hook", Kind::Number),
            Field::new("auto", Kind::Number),
        ]),
    ),
    Field::new(
        "options",
        Kind::Object(&[
            Field::new("skip_threshold", Kind::Count),
            Field::new("progress", Kind::Boolean),
            Field::new("timeout", Kind::Duration),
        ]),
    ),
];
