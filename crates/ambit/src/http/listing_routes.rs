//! Which route lists what another one has not found. It is said of what there is not and of what is somebody else's alike.

use ambit_runtime::{Error, ErrorCode};

/// How paths begin below the base path, which is `{base}`, and what lists that which their one part names that varies.
const LISTS: &[(&str, &str)] = &[
    (
        "/app/agents/",
        "GET {base}/app/agents lists the agents of the app",
    ),
    (
        "/calls/",
        "GET {base}/chat/requests/:request_id/calls lists the calls of a request",
    ),
    ("/chat/references/", REQUESTS),
    ("/chat/requests/", REQUESTS),
    (
        "/chat/sessions/",
        "GET {base}/chat/sessions lists the chats that you see",
    ),
    (
        "/contexts/",
        "GET {base}/contexts lists the contexts that you see",
    ),
    (
        "/data/models/",
        "GET {base}/data/models lists the models of the app",
    ),
    (
        "/kb/collections/",
        "GET {base}/kb/collections lists the collections that you see",
    ),
    (
        "/kb/documents/",
        "GET {base}/kb/documents lists the documents that you see",
    ),
    (
        "/kb/jobs/",
        "GET {base}/kb/jobs lists the jobs that you see",
    ),
    ("/keys/", "GET {base}/keys lists the keys that you see"),
    (
        "/trace/traces/",
        "GET {base}/trace/traces lists the traces that you see",
    ),
];
const REQUESTS: &str = "GET {base}/chat/requests lists the requests that you see";

/// The failure of a request of this route, as `/v1/keys/{id}`, with what lists that which it has not found. Where several parts
/// of the path vary, or a field is to blame, that is not known.
pub fn with_list(mut error: Error, route: &str, base: &str) -> Error {
    if error.code != ErrorCode::NotFound || error.param.is_some() {
        return error;
    }
    let below = route.strip_prefix(base).unwrap_or_default();
    let is_one = below.matches('{').count() == 1;
    let list = LISTS.iter().find(|(path, _)| below.starts_with(path));
    if let Some((_, advice)) = list.filter(|_| is_one) {
        error.message += "; ";
        error.message += &advice.replace("{base}", base);
    }
    error
}
