//! What of the conformance suite is run, and what is not, and why.

/// The scenarios that are run, in each version that they are for.
pub const SCENARIOS: &[&str] = &[
    "server-initialize",
    "server-session-lifecycle",
    "server-stateless",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "ping",
    "tools-list",
    "resources-list",
    "sep-2164-resource-not-found",
    "dns-rebinding-protection",
    "caching",
    "http-header-validation",
    "input-required-result-unsupported-methods",
    "tasks-capability-negotiation",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-status-notifications",
];

/// Further scenarios, by the beginning of their names, of what only the suite's own server has.
pub const OF_ITS_OWN_SERVER: &[(&str, &str)] = &[
    ("tools-call-", "tools test_…"),
    ("json-schema-2020-12", "the tool json_schema_2020_12_tool"),
    ("resources-read-", "resources test://…"),
    (
        "resources-templates-read",
        "the resource test://template/123/data",
    ),
    ("elicitation-", "tools test_elicitation_… that ask the user"),
    (
        "input-required-result-",
        "tools test_input_required_result_… that ask the client",
    ),
    (
        "http-custom-header-server-validation",
        "a tool with arguments that headers repeat: x-mcp-header is optional for servers (2026-07-28, basic/transports)",
    ),
    (
        "tasks-",
        "tools slow_compute, confirm_delete, multi_input and others; tests/http/mcp/tasks.rs walks through tasks of agents",
    ),
];

/// Further scenarios, by the beginning of their names, for a capability that servers may have: where it would be declared, and why
/// it need not be.
pub const UNDECLARED: &[(&str, &str, &str)] = &[
    (
        "resources-subscribe",
        "/resources/subscribe",
        "servers of resources may support neither subscribe nor listChanged (2025-11-25, server/resources)",
    ),
    (
        "resources-unsubscribe",
        "/resources/subscribe",
        "servers of resources may support neither subscribe nor listChanged (2025-11-25, server/resources)",
    ),
    (
        "prompts-",
        "/prompts",
        "servers that support prompts declare it (server/prompts)",
    ),
    (
        "completion-complete",
        "/completions",
        "servers that support completions declare it (server/utilities/completion)",
    ),
    (
        "logging-set-level",
        "/logging",
        "servers that send log messages declare it (2025-11-25, server/utilities/logging)",
    ),
    (
        "sep-2640-",
        "/extensions/io.modelcontextprotocol~1skills",
        "extensions are optional",
    ),
];

/// Checks of scenarios that are not green, how they end, and why: as soon as one ends otherwise, its row is to go. The suite itself
/// skips what the specification leaves to a server.
pub const NOT_GREEN: &[(&str, &str, &str, &str)] = &[
    (
        "server-session-lifecycle",
        "server-session-delete-accepted",
        "SKIPPED",
        "a server may answer DELETE with 405 (2025-11-25, basic/transports, session management)",
    ),
    (
        "server-session-lifecycle",
        "server-session-terminated-returns-404",
        "SKIPPED",
        "no session is ended",
    ),
    (
        "server-stateless",
        "sep-2575-server-rejects-undeclared-capability",
        "FAILURE",
        "it calls the suite's tool test_missing_capability; tasks-capability-negotiation sees tasks/get refused so",
    ),
    (
        "server-stateless",
        "sep-2575-missing-capability-http-400",
        "FAILURE",
        "it calls the suite's tool test_missing_capability; tests/http/mcp/tasks.rs sees tasks/get refused so",
    ),
    (
        "server-stateless",
        "sep-2575-http-server-no-independent-requests-on-stream",
        "FAILURE",
        "it calls the suite's tool test_streaming_elicitation",
    ),
    (
        "server-stateless",
        "sep-2575-server-no-log-without-loglevel",
        "FAILURE",
        "it calls the suite's tool test_logging_tool",
    ),
    (
        "server-stateless",
        "sep-2575-server-sends-subscription-ack",
        "SKIPPED",
        "no capability says that something could be followed",
    ),
    (
        "server-stateless",
        "sep-2575-server-tags-subscription-id",
        "SKIPPED",
        "no capability says that something could be followed",
    ),
    (
        "server-stateless",
        "sep-2575-server-honors-notification-filter",
        "SKIPPED",
        "no capability says that something could be followed",
    ),
    (
        "server-stateless",
        "sep-2575-server-sends-prompts-list-changed-on-subscription",
        "SKIPPED",
        "no capability says that something could be followed",
    ),
    (
        "server-stateless",
        "sep-2575-server-sends-tools-list-changed-on-subscription",
        "SKIPPED",
        "no capability says that something could be followed",
    ),
    (
        "caching",
        "sep-2549-prompts-list-caching-hints",
        "FAILURE",
        "no prompts are offered, and no capability says so",
    ),
    (
        "tasks-capability-negotiation",
        "sep-2663-server-rejects-undeclared-client",
        "FAILURE",
        "it calls the suite's tool slow_compute",
    ),
    (
        "tasks-capability-negotiation",
        "tasks-per-request-meta-opt-in",
        "FAILURE",
        "it calls the suite's tool slow_compute",
    ),
    (
        "tasks-request-headers",
        "tasks-headers-tolerate-mcp-method-on-tools-call",
        "FAILURE",
        "it calls the suite's tool greet",
    ),
    (
        "tasks-request-headers",
        "sep-2663-routing-headers-accepted-on-tasks-get",
        "FAILURE",
        "it calls the suite's tool slow_compute",
    ),
    (
        "tasks-request-headers",
        "sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get",
        "FAILURE",
        "it needs a task of the suite's tool slow_compute",
    ),
    (
        "tasks-dispatch-and-envelope",
        "tasks-server-directed-creation-no-hint",
        "FAILURE",
        "it calls the suite's tool failing_job",
    ),
    (
        "tasks-dispatch-and-envelope",
        "sep-2663-legacy-task-param-ignored",
        "FAILURE",
        "it calls the suite's tool greet",
    ),
    (
        "tasks-dispatch-and-envelope",
        "tasks-immediate-result-shortcut",
        "FAILURE",
        "it calls the suite's tool slow_compute",
    ),
    (
        "tasks-dispatch-and-envelope",
        "tasks-result-type-complete-on-non-task-responses",
        "FAILURE",
        "it calls the suite's tool greet",
    ),
    (
        "tasks-dispatch-and-envelope",
        "sep-2663-durable-create-strong-consistency",
        "FAILURE",
        "it calls the suite's tool slow_compute",
    ),
    (
        "tasks-status-notifications",
        "tasks-status-notifications",
        "SKIPPED",
        "the suite has no check of it yet",
    ),
];
