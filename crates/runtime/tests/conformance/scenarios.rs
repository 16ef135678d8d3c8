//! What is run, and what is not, and why.

const OLDER: &str = "2025-11-25";
const NEWEST: &str = "2026-07-28";

/// Scenarios, each with the versions of the protocol that it is run in.
pub const SCENARIOS: &[(&str, &[&str])] = &[
    ("initialize", &[OLDER]),
    ("tools_call", &[OLDER, NEWEST]),
    ("sse-retry", &[OLDER]),
    ("request-metadata", &[NEWEST]),
    ("http-standard-headers", &[NEWEST]),
    ("http-custom-headers", &[NEWEST]),
    ("http-invalid-tool-headers", &[NEWEST]),
    ("json-schema-ref-no-deref", &[NEWEST]),
    ("json-schema-2020-12-preservation", &[OLDER, NEWEST]),
];

/// Scenarios that cannot apply, by the beginning of their names.
pub const LEFT_OUT: &[(&str, &str)] = &[
    (
        "auth/",
        "Ambit takes part in no OAuth flow: a server's file has its token, or the caller's request brings it",
    ),
    (
        "elicitation-",
        "the server asks a person in the middle of a call; Ambit says that it cannot (no capability elicitation)",
    ),
    (
        "sep-2322-",
        "the server wants more input for a call that it has begun; Ambit has nobody to ask and fails the call by name",
    ),
    (
        "sep-2640-",
        "an extension, skills, which Ambit does not offer",
    ),
];

/// Checks of scenarios that fail, and must, and why: as soon as one does not, its row is to go.
pub const FAILING: &[(&str, &str, &str)] = &[(
    "http-custom-headers",
    "sep-2243-client-omit-null",
    "the suite wants null sent for a boolean; Ambit checks arguments against the tool's schema, and does not call",
)];
