//! The keys of `package.yao`.

use crate::app::app_file::HOST;
use crate::app::defaults::USES;
use crate::app::prompts::read::LIST;
use crate::app::read::{Field, Kind};
use crate::app::{limits, search};
use crate::llm::capabilities;

const ANY: Kind = Kind::Map(&Kind::Any);

/// A tool server of an agent: `"id"`, `{server_id, tools?, resources?}`, `{"id": ["tool"]}` or `{"id": {tools, resources}}`.
const SERVER: Kind = Kind::Either(&[
    Kind::Text,
    Kind::With(
        "server_id",
        &Kind::Object(&[
            Field::required("server_id", Kind::Text),
            Field::new("tools", Kind::TEXTS),
            Field::new("resources", Kind::TEXTS),
        ]),
        &Kind::Map(&Kind::Either(&[
            Kind::TEXTS,
            Kind::Object(&[
                Field::new("tools", Kind::TEXTS),
                Field::new("resources", Kind::TEXTS),
            ]),
        ])),
    ),
]);

/// A tool that the client runs.
const CLIENT_TOOL: Kind = Kind::Object(&[
    Field::required("type", Kind::OneOf(&["function"])),
    Field::required(
        "function",
        Kind::Object(&[
            Field::required("name", Kind::Text),
            Field::new("description", Kind::Text),
            Field::new("parameters", ANY),
            Field::new("strict", Kind::Boolean),
        ]),
    ),
]);

const OPTIONS: Kind = Kind::Object(&[
    Field::new("temperature", Kind::Number),
    Field::new("max_tokens", Kind::Count),
    Field::new("max_completion_tokens", Kind::Count),
    Field::new("top_p", Kind::Number),
    Field::new("stop", Kind::Either(&[Kind::Text, Kind::TEXTS])),
    Field::new("presence_penalty", Kind::Number),
    Field::new("frequency_penalty", Kind::Number),
    Field::new("logit_bias", Kind::Map(&Kind::Number)),
    Field::new("user", Kind::Text),
    Field::new("seed", Kind::Whole),
    Field::new("response_format", Kind::Either(&[Kind::Text, ANY])),
    Field::new("tools", Kind::List(&CLIENT_TOOL)),
    Field::new("tool_choice", Kind::Either(&[Kind::Text, ANY])),
    Field::new("reasoning_effort", Kind::Text),
    Field::new("history_size", Kind::Count),
]);

const MCP: Kind = Kind::Object(&[
    Field::new("servers", Kind::List(&SERVER)),
    Field::new(
        "options",
        Kind::Object(&[
            Field::new("tool_loop", Kind::Boolean),
            Field::new("max_turn", Kind::Count),
            Field::new("parallel", Kind::Boolean),
            Field::new("tool_error", Kind::OneOf(&["model", "fail"])),
            Field::new("timeout", Kind::Duration),
            Field::new("max_tools", Kind::Count),
            Field::new("samples", Kind::Count),
        ]),
    ),
]);

const CONTEXT: Kind = Kind::Object(&[
    Field::new("group", Kind::Text),
    Field::new(
        "history",
        Kind::Object(&[
            Field::new("chat", Kind::Text),
            Field::new("user", Kind::Text),
            Field::new("group", Kind::Text),
            Field::new("drivers", Kind::TEXTS),
            Field::new("store_meta", Kind::Boolean),
        ]),
    ),
    Field::new(
        "usage",
        Kind::Object(&[
            Field::new("chat", Kind::Text),
            Field::new("user", Kind::Text),
            Field::new("group", Kind::Text),
            Field::new("drivers", Kind::TEXTS),
        ]),
    ),
    Field::new(
        "truncation",
        Kind::Object(&[
            Field::new(
                "strategy",
                Kind::OneOf(&["simple", "summarise", "symbolise"]),
            ),
            Field::new("threshold", Kind::Count),
            Field::new("buffer", Kind::Number),
            Field::new("keep_messages", Kind::Count),
            Field::new("preserve_system", Kind::Boolean),
        ]),
    ),
]);

/// All of them.
pub const TABLE: &[Field] = &[
    Field::required("name", Kind::Text),
    Field::new("description", Kind::Text),
    Field::new("avatar", Kind::Text),
    Field::shown("tags", Kind::TEXTS),
    Field::shown("sort", Kind::Number),
    Field::shown(
        "placeholder",
        Kind::Object(&[
            Field::new("title", Kind::Text),
            Field::new("description", Kind::Text),
            Field::new("prompts", Kind::TEXTS),
        ]),
    ),
    Field::new("type", Kind::OneOf(&["assistant", "worker"])),
    Field::shown("capabilities", Kind::Text),
    Field::new("connector", Kind::Text),
    Field::new(
        "connector_options",
        Kind::Object(&[
            Field::new("optional", Kind::Boolean),
            Field::new("connectors", Kind::TEXTS),
            Field::new("filters", Kind::List(&Kind::OneOf(capabilities::NAMES))),
        ]),
    ),
    Field::new("options", OPTIONS),
    Field::new("modes", Kind::TEXTS),
    Field::new("default_mode", Kind::Text),
    Field::new("public", Kind::Boolean),
    Field::new("share", Kind::OneOf(&["private", "team"])),
    Field::shown("readonly", Kind::Boolean),
    Field::shown("built_in", Kind::Boolean),
    Field::shown("mentionable", Kind::Boolean),
    Field::shown("automated", Kind::Boolean),
    Field::new("disable_global_prompts", Kind::Boolean),
    Field::new("prompts", LIST),
    Field::new(
        "kb",
        Kind::Object(&[
            Field::new("collections", Kind::TEXTS),
            Field::new(
                "options",
                Kind::Object(&[
                    Field::new("top_k", Kind::Count),
                    Field::new("score_threshold", Kind::Number),
                ]),
            ),
        ]),
    ),
    Field::new(
        "db",
        Kind::Object(&[
            Field::new("models", Kind::TEXTS),
            Field::new(
                "options",
                Kind::Object(&[
                    Field::new("limit", Kind::Count),
                    Field::unused("offset", " in Ambit"),
                ]),
            ),
        ]),
    ),
    Field::new("mcp", MCP),
    Field::new("uses", Kind::Object(USES)),
    Field::new("force_uses", Kind::Boolean),
    Field::new("search", Kind::Object(search::TABLE)),
    Field::new("locales", Kind::Map(&ANY)),
    Field::shown("dependencies", Kind::Any),
    Field::shown("created_at", Kind::Either(&[Kind::Number, Kind::Text])),
    Field::shown("updated_at", Kind::Either(&[Kind::Number, Kind::Text])),
    Field::new("__yao_created_by", Kind::Text),
    Field::new("__yao_team_id", Kind::Text),
    Field::new("__yao_tenant_id", Kind::Text),
    Field::new(
        "runtime",
        Kind::Object(&[
            Field::new("limits", Kind::Object(limits::TABLE)),
            Field::new("http", Kind::List(&HOST)),
        ]),
    ),
    Field::new("context", CONTEXT),
    Field::new(
        "client",
        Kind::Object(&[Field::new(
            "roles",
            Kind::List(&Kind::OneOf(&["assistant", "tool", "system", "developer"])),
        )]),
    ),
    Field::unused("hooks", ": hooks are found in src/index.ts only"),
    Field::unused("script", ": hooks are found in src/index.ts only"),
    Field::unused("source", ": hooks are found in src/index.ts only"),
    Field::unused("option", ": options are \"options\""),
    Field::unused("version", " in Ambit"),
    Field::unused("workflow", " in Ambit"),
    Field::unused("sandbox", " in Ambit"),
    Field::unused("computer", " in Ambit"),
];
