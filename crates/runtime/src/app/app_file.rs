//! `app.yao`: the app's name and Ambit's settings.

use super::limits;
use super::read::{FieldMap, FieldSpec, ValueKind};
use super::{App, AppSettings, Visibility};

/// Hosts that scripts may reach.
pub const HOST: ValueKind = ValueKind::Either(&[
    ValueKind::Text,
    ValueKind::Object(&[
        FieldSpec::required("host", ValueKind::Text),
        FieldSpec::new("private", ValueKind::Boolean),
        FieldSpec::new("messages", ValueKind::Boolean),
    ]),
]);

const TTL: ValueKind = ValueKind::Object(&[
    FieldSpec::new("user", ValueKind::Duration),
    FieldSpec::new("team", ValueKind::Duration),
    FieldSpec::new("chat", ValueKind::Duration),
    FieldSpec::new("context", ValueKind::Duration),
]);

/// Its keys. Those that are not here belong to Yao and are not looked at.
pub const TABLE: ValueKind = ValueKind::Open(&[
    FieldSpec::new("name", ValueKind::Text),
    FieldSpec::new("version", ValueKind::Text),
    FieldSpec::new("description", ValueKind::Text),
    FieldSpec::new(
        "ambit",
        ValueKind::Object(&[
            FieldSpec::new("limits", ValueKind::Object(limits::TABLE)),
            FieldSpec::new(
                "capabilities",
                ValueKind::Object(&[
                    FieldSpec::new("http", ValueKind::List(&HOST)),
                    FieldSpec::new("process", ValueKind::TEXTS),
                    FieldSpec::new("prompt_env", ValueKind::TEXTS),
                ]),
            ),
            FieldSpec::new(
                "stream",
                ValueKind::Object(&[FieldSpec::new("retention", ValueKind::Duration)]),
            ),
            FieldSpec::new(
                "events",
                ValueKind::Object(&[FieldSpec::new("content", ValueKind::Boolean)]),
            ),
            FieldSpec::new(
                "memory",
                ValueKind::Object(&[FieldSpec::new("default_ttl", TTL)]),
            ),
            FieldSpec::new(
                "trace",
                ValueKind::Object(&[
                    FieldSpec::new("enabled", ValueKind::Boolean),
                    FieldSpec::new("retention", ValueKind::Duration),
                ]),
            ),
            FieldSpec::new("visibility", ValueKind::OneOf(&["private", "public"])),
        ]),
    ),
]);

/// Puts the values in their places.
pub fn fill(app: &mut App, fields: &FieldMap) {
    app.name = fields.text("name");
    app.version = fields.text("version");
    app.description = fields.text("description");
    let ambit = fields.object("ambit");
    let capabilities = ambit.object("capabilities");
    let trace = ambit.object("trace");
    let ttl = ambit.object("memory").object("default_ttl");
    let has_processes = capabilities.0.contains_key("process");
    app.settings = AppSettings {
        limits: ambit.object("limits").0,
        http: capabilities.list("http"),
        processes: has_processes.then(|| capabilities.texts("process")),
        prompt_env: capabilities.texts("prompt_env"),
        stream_retention: ambit.object("stream").seconds("retention"),
        has_content_in_events: ambit.object("events").boolean("content") == Some(true),
        memory_ttl: ttl
            .0
            .keys()
            .filter_map(|name| Some((name.clone(), ttl.seconds(name)?)))
            .collect(),
        is_trace_off: trace.boolean("enabled") == Some(false),
        trace_retention: trace.seconds("retention"),
        visibility: ambit
            .optional("visibility")
            .map(|visibility| match visibility.as_str() {
                "public" => Visibility::Public,
                _ => Visibility::Private,
            }),
    };
}
