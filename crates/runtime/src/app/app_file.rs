//! `app.yao`: the app's name and Ambit's settings.

use super::limits;
use super::read::{Field, Fields, Kind};
use super::{App, Settings, Share};

/// Hosts that scripts may reach.
pub const HOST: Kind = Kind::Either(&[
    Kind::Text,
    Kind::Object(&[
        Field::required("host", Kind::Text),
        Field::new("private", Kind::Boolean),
        Field::new("messages", Kind::Boolean),
    ]),
]);

const TTL: Kind = Kind::Object(&[
    Field::new("user", Kind::Duration),
    Field::new("team", Kind::Duration),
    Field::new("chat", Kind::Duration),
    Field::new("context", Kind::Duration),
]);

/// Its keys. Those that are not here belong to Yao and are not looked at.
pub const TABLE: Kind = Kind::Open(&[
    Field::new("name", Kind::Text),
    Field::new("version", Kind::Text),
    Field::new("description", Kind::Text),
    Field::new(
        "ambit",
        Kind::Object(&[
            Field::new("limits", Kind::Object(limits::TABLE)),
            Field::new(
                "capabilities",
                Kind::Object(&[
                    Field::new("http", Kind::List(&HOST)),
                    Field::new("process", Kind::TEXTS),
                    Field::new("prompt_env", Kind::TEXTS),
                ]),
            ),
            Field::new(
                "stream",
                Kind::Object(&[Field::new("retention", Kind::Duration)]),
            ),
            Field::new(
                "events",
                Kind::Object(&[Field::new("content", Kind::Boolean)]),
            ),
            Field::new("memory", Kind::Object(&[Field::new("default_ttl", TTL)])),
            Field::new(
                "trace",
                Kind::Object(&[
                    Field::new("enabled", Kind::Boolean),
                    Field::new("retention", Kind::Duration),
                ]),
            ),
            Field::new("visibility", Kind::OneOf(&["private", "public"])),
        ]),
    ),
]);

/// Puts the values in their places.
pub fn fill(app: &mut App, fields: &Fields) {
    app.name = fields.text("name");
    app.version = fields.text("version");
    app.description = fields.text("description");
    let ambit = fields.object("ambit");
    let capabilities = ambit.object("capabilities");
    let trace = ambit.object("trace");
    let ttl = ambit.object("memory").object("default_ttl");
    let has_processes = capabilities.0.contains_key("process");
    app.settings = Settings {
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
                "public" => Share::Public,
                _ => Share::Private,
            }),
    };
}
