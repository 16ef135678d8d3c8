//! The keys of search settings, in `agent/search.yml` and in packages.

use super::read::{FieldSpec, ValueKind};

/// `search`.
pub const TABLE: &[FieldSpec] = &[
    FieldSpec::new(
        "web",
        ValueKind::Object(&[
            FieldSpec::new(
                "provider",
                ValueKind::OneOf(&["tavily", "serper", "serpapi", "scripted"]),
            ),
            FieldSpec::new("api_key_env", ValueKind::Text),
            FieldSpec::new("max_results", ValueKind::Count),
            FieldSpec::new("engine", ValueKind::Text),
            FieldSpec::new("results", ValueKind::List(&ValueKind::Any)),
        ]),
    ),
    FieldSpec::new(
        "kb",
        ValueKind::Object(&[
            FieldSpec::new("collections", ValueKind::TEXTS),
            FieldSpec::new("threshold", ValueKind::Number),
            FieldSpec::unused("graph", ": Ambit has no graph search"),
            FieldSpec::new("max_results", ValueKind::Count),
        ]),
    ),
    FieldSpec::new(
        "db",
        ValueKind::Object(&[
            FieldSpec::new("models", ValueKind::TEXTS),
            FieldSpec::new("max_results", ValueKind::Count),
        ]),
    ),
    FieldSpec::new(
        "keyword",
        ValueKind::Object(&[
            FieldSpec::new("max_keywords", ValueKind::Count),
            FieldSpec::new("language", ValueKind::Text),
        ]),
    ),
    FieldSpec::new(
        "querydsl",
        ValueKind::Object(&[FieldSpec::new("strict", ValueKind::Boolean)]),
    ),
    FieldSpec::new(
        "rerank",
        ValueKind::Object(&[FieldSpec::new("top_n", ValueKind::Count)]),
    ),
    FieldSpec::new(
        "citation",
        ValueKind::Object(&[
            FieldSpec::new("format", ValueKind::Text),
            FieldSpec::new("auto_inject_prompt", ValueKind::Boolean),
            FieldSpec::new("custom_prompt", ValueKind::Text),
        ]),
    ),
    FieldSpec::new(
        "weights",
        ValueKind::Object(&[
            FieldSpec::new("user", ValueKind::Number),
            FieldSpec::new("hook", ValueKind::Number),
            FieldSpec::new("auto", ValueKind::Number),
        ]),
    ),
    FieldSpec::new(
        "options",
        ValueKind::Object(&[
            FieldSpec::new("skip_threshold", ValueKind::Count),
            FieldSpec::new("progress", ValueKind::Boolean),
            FieldSpec::new("timeout", ValueKind::Duration),
        ]),
    ),
];
