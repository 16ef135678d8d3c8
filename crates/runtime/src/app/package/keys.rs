//! The keys of `package.yao`.

use crate::app::app_file::HOST;
use crate::app::defaults::USES;
use crate::app::prompts::read::LIST;
use crate::app::read::{FieldSpec, ValueKind};
use crate::app::{limits, search};
use crate::llm::capabilities;

const ANY: ValueKind = ValueKind::Map(&ValueKind::Any);

/// A tool server of an agent: `"id"`, `{server_id, tools?, resources?}`, `{"id": ["tool"]}` or `{"id": {tools, resources}}`.
const SERVER: ValueKind = ValueKind::Either(&[
    ValueKind::Text,
    ValueKind::With(
        "server_id",
        &ValueKind::Object(&[
            FieldSpec::required("server_id", ValueKind::Text),
            FieldSpec::new("tools", ValueKind::TEXTS),
            FieldSpec::new("resources", ValueKind::TEXTS),
        ]),
        &ValueKind::Map(&ValueKind::Either(&[
            ValueKind::TEXTS,
            ValueKind::Object(&[
                FieldSpec::new("tools", ValueKind::TEXTS),
                FieldSpec::new("resources", ValueKind::TEXTS),
            ]),
        ])),
    ),
]);

/// A tool that the client runs.
const CLIENT_TOOL: ValueKind = ValueKind::Object(&[
    FieldSpec::required("type", ValueKind::OneOf(&["function"])),
    FieldSpec::required(
        "function",
        ValueKind::Object(&[
            FieldSpec::required("name", ValueKind::Text),
            FieldSpec::new("description", ValueKind::Text),
            FieldSpec::new("parameters", ANY),
            FieldSpec::new("strict", ValueKind::Boolean),
        ]),
    ),
]);

const OPTIONS: ValueKind = ValueKind::Object(&[
    FieldSpec::new("temperature", ValueKind::Number),
    FieldSpec::new("max_tokens", ValueKind::Count),
    FieldSpec::new("max_completion_tokens", ValueKind::Count),
    FieldSpec::new("top_p", ValueKind::Number),
    FieldSpec::new(
        "stop",
        ValueKind::Either(&[ValueKind::Text, ValueKind::TEXTS]),
    ),
    FieldSpec::new("presence_penalty", ValueKind::Number),
    FieldSpec::new("frequency_penalty", ValueKind::Number),
    FieldSpec::new("logit_bias", ValueKind::Map(&ValueKind::Number)),
    FieldSpec::new("user", ValueKind::Text),
    FieldSpec::new("seed", ValueKind::Whole),
    FieldSpec::new(
        "response_format",
        ValueKind::Either(&[ValueKind::Text, ANY]),
    ),
    FieldSpec::new("tools", ValueKind::List(&CLIENT_TOOL)),
    FieldSpec::new("tool_choice", ValueKind::Either(&[ValueKind::Text, ANY])),
    FieldSpec::new("reasoning_effort", ValueKind::Text),
    FieldSpec::new("history_size", ValueKind::Count),
]);

const MCP: ValueKind = ValueKind::Object(&[
    FieldSpec::new("servers", ValueKind::List(&SERVER)),
    FieldSpec::new(
        "options",
        ValueKind::Object(&[
            FieldSpec::new("tool_loop", ValueKind::Boolean),
            FieldSpec::new("max_turn", ValueKind::Count),
            FieldSpec::new("parallel", ValueKind::Boolean),
            FieldSpec::new("tool_error", ValueKind::OneOf(&["model", "fail"])),
            FieldSpec::new("timeout", ValueKind::Duration),
            FieldSpec::new("max_tools", ValueKind::Count),
            FieldSpec::new("samples", ValueKind::Count),
        ]),
    ),
]);

const CONTEXT: ValueKind = ValueKind::Object(&[
    FieldSpec::new("group", ValueKind::Text),
    FieldSpec::new(
        "history",
        ValueKind::Object(&[
            FieldSpec::new("chat", ValueKind::Text),
            FieldSpec::new("user", ValueKind::Text),
            FieldSpec::new("group", ValueKind::Text),
            FieldSpec::new("drivers", ValueKind::TEXTS),
            FieldSpec::new("store_meta", ValueKind::Boolean),
        ]),
    ),
    FieldSpec::new(
        "usage",
        ValueKind::Object(&[
            FieldSpec::new("chat", ValueKind::Text),
            FieldSpec::new("user", ValueKind::Text),
            FieldSpec::new("group", ValueKind::Text),
            FieldSpec::new("drivers", ValueKind::TEXTS),
        ]),
    ),
    FieldSpec::new(
        "truncation",
        ValueKind::Object(&[
            FieldSpec::new(
                "strategy",
                ValueKind::OneOf(&["simple", "summarise", "symbolise"]),
            ),
            FieldSpec::new("threshold", ValueKind::Count),
            FieldSpec::new("buffer", ValueKind::Number),
            FieldSpec::new("keep_messages", ValueKind::Count),
            FieldSpec::new("preserve_system", ValueKind::Boolean),
        ]),
    ),
]);

/// All of them.
pub const TABLE: &[FieldSpec] = &[
    FieldSpec::required("name", ValueKind::Text),
    FieldSpec::new("description", ValueKind::Text),
    FieldSpec::new("avatar", ValueKind::Text),
    FieldSpec::display_only("tags", ValueKind::TEXTS),
    FieldSpec::display_only("sort", ValueKind::Number),
    FieldSpec::display_only(
        "placeholder",
        ValueKind::Object(&[
            FieldSpec::new("title", ValueKind::Text),
            FieldSpec::new("description", ValueKind::Text),
            FieldSpec::new("prompts", ValueKind::TEXTS),
        ]),
    ),
    FieldSpec::new("type", ValueKind::OneOf(&["assistant", "worker"])),
    FieldSpec::display_only("capabilities", ValueKind::Text),
    FieldSpec::new("connector", ValueKind::Text),
    FieldSpec::new(
        "connector_options",
        ValueKind::Object(&[
            FieldSpec::new("optional", ValueKind::Boolean),
            FieldSpec::new("connectors", ValueKind::TEXTS),
            FieldSpec::new(
                "filters",
                ValueKind::List(&ValueKind::OneOf(capabilities::NAMES)),
            ),
        ]),
    ),
    FieldSpec::new("options", OPTIONS),
    FieldSpec::new("modes", ValueKind::TEXTS),
    FieldSpec::new("default_mode", ValueKind::Text),
    FieldSpec::new("public", ValueKind::Boolean),
    FieldSpec::new("share", ValueKind::OneOf(&["private", "team"])),
    FieldSpec::display_only("readonly", ValueKind::Boolean),
    FieldSpec::display_only("built_in", ValueKind::Boolean),
    FieldSpec::display_only("mentionable", ValueKind::Boolean),
    FieldSpec::display_only("automated", ValueKind::Boolean),
    FieldSpec::new("disable_global_prompts", ValueKind::Boolean),
    FieldSpec::new("prompts", LIST),
    FieldSpec::new(
        "kb",
        ValueKind::Object(&[
            FieldSpec::new("collections", ValueKind::TEXTS),
            FieldSpec::new(
                "options",
                ValueKind::Object(&[
                    FieldSpec::new("top_k", ValueKind::Count),
                    FieldSpec::new("score_threshold", ValueKind::Number),
                ]),
            ),
        ]),
    ),
    FieldSpec::new(
        "db",
        ValueKind::Object(&[
            FieldSpec::new("models", ValueKind::TEXTS),
            FieldSpec::new(
                "options",
                ValueKind::Object(&[
                    FieldSpec::new("limit", ValueKind::Count),
                    FieldSpec::unused("offset", " in Ambit"),
                ]),
            ),
        ]),
    ),
    FieldSpec::new("mcp", MCP),
    FieldSpec::new("uses", ValueKind::Object(USES)),
    FieldSpec::new("force_uses", ValueKind::Boolean),
    FieldSpec::new("search", ValueKind::Object(search::TABLE)),
    FieldSpec::new("locales", ValueKind::Map(&ANY)),
    FieldSpec::display_only("dependencies", ValueKind::Any),
    FieldSpec::display_only(
        "created_at",
        ValueKind::Either(&[ValueKind::Number, ValueKind::Text]),
    ),
    FieldSpec::display_only(
        "updated_at",
        ValueKind::Either(&[ValueKind::Number, ValueKind::Text]),
    ),
    FieldSpec::new("__yao_created_by", ValueKind::Text),
    FieldSpec::new("__yao_team_id", ValueKind::Text),
    FieldSpec::new("__yao_tenant_id", ValueKind::Text),
    FieldSpec::new(
        "runtime",
        ValueKind::Object(&[
            FieldSpec::new("limits", ValueKind::Object(limits::TABLE)),
            FieldSpec::new("http", ValueKind::List(&HOST)),
        ]),
    ),
    FieldSpec::new("context", CONTEXT),
    FieldSpec::new(
        "client",
        ValueKind::Object(&[FieldSpec::new(
            "roles",
            ValueKind::List(&ValueKind::OneOf(&[
                "assistant",
                "tool",
                "system",
                "developer",
            ])),
        )]),
    ),
    FieldSpec::unused("hooks", ": hooks are found in src/index.ts only"),
    FieldSpec::unused("script", ": hooks are found in src/index.ts only"),
    FieldSpec::unused("source", ": hooks are found in src/index.ts only"),
    FieldSpec::unused("option", ": options are \"options\""),
    FieldSpec::unused("version", " in Ambit"),
    FieldSpec::unused("workflow", " in Ambit"),
    FieldSpec::unused("sandbox", " in Ambit"),
    FieldSpec::unused("computer", " in Ambit"),
];
