//! What of the conformance suite is run, and what is not, and why.

/// The scenarios that are run, in each version that they are for.
pub const SCENARIOS: &[&str] = &[
    "server-initialize",
    "server-session-lifecycle",
    "server-stateless",
    "ping",
    "tools-list",
    "resources-list",
    "sep-2164-resource-not-found",
    "dns-rebinding-protection",
    "caching",
    "http-header-validation",
];

/// Scenarios that cannot apply, by the beginning of their names.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("tools-call-", "they call the suite's own tools, test_…"),
    ("json-schema-2020-12", "it lists a tool of the suite's own"),
    ("server-sse-", "they call a tool of the suite's own"),
    (
        "resources-read-",
        "they read resources of the suite's own, test://…",
    ),
    (
        "resources-templates-read",
        "it reads a resource of the suite's own",
    ),
    (
        "resources-subscribe",
        "resources are not followed: the capability is not declared",
    ),
    (
        "resources-unsubscribe",
        "resources are not followed: the capability is not declared",
    ),
    ("prompts-", "no prompts are offered"),
    ("completion-complete", "no completions are offered"),
    ("logging-set-level", "nothing is logged to clients"),
    (
        "elicitation-",
        "no tool asks its client for anything: the capability is not used",
    ),
    (
        "input-required-result-",
        "they call tools of the suite's own that ask their client",
    ),
    (
        "http-custom-header-server-validation",
        "no tool has arguments that headers repeat (x-mcp-header)",
    ),
    (
        "tasks-",
        "they call the suite's own tools, slow_compute and others; our tests walk through the same",
    ),
    ("sep-2640-", "an extension, skills, which is not offered"),
];

/// Checks of scenarios that are not green, and why: as soon as one is, its row is to go.
pub const NOT_GREEN: &[(&str, &str, &str)] = &[
    (
        "server-session-lifecycle",
        "server-session-delete-accepted",
        "a session only tells calls apart; there is none to be ended, and DELETE is 405",
    ),
    (
        "server-session-lifecycle",
        "server-session-terminated-returns-404",
        "a session only tells calls apart; there is none to be ended, and DELETE is 405",
    ),
    (
        "server-stateless",
        "sep-2575-server-rejects-undeclared-capability",
        "it calls a tool of the suite's own",
    ),
    (
        "server-stateless",
        "sep-2575-missing-capability-http-400",
        "it calls a tool of the suite's own; tasks/get is refused so in our tests",
    ),
    (
        "server-stateless",
        "sep-2575-http-server-no-independent-requests-on-stream",
        "it calls a tool of the suite's own",
    ),
    (
        "server-stateless",
        "sep-2575-server-no-log-without-loglevel",
        "it calls a tool of the suite's own",
    ),
    (
        "server-stateless",
        "sep-2575-server-sends-subscription-ack",
        "nothing is followed: no capability says so",
    ),
    (
        "server-stateless",
        "sep-2575-server-tags-subscription-id",
        "nothing is followed: no capability says so",
    ),
    (
        "server-stateless",
        "sep-2575-server-honors-notification-filter",
        "nothing is followed: no capability says so",
    ),
    (
        "server-stateless",
        "sep-2575-server-sends-prompts-list-changed-on-subscription",
        "nothing is followed: no capability says so",
    ),
    (
        "server-stateless",
        "sep-2575-server-sends-tools-list-changed-on-subscription",
        "nothing is followed: no capability says so",
    ),
    (
        "caching",
        "sep-2549-prompts-list-caching-hints",
        "no prompts are offered",
    ),
];
