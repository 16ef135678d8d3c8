//! What headers of answers tell clients, beside those that single operations describe.

use super::operations;
use utoipa::openapi::header::Header;
use utoipa::openapi::schema::{Object, Type};
use utoipa::openapi::{OpenApi, Ref, RefOr};

/// A header of answers.
struct AnswerHeader {
    name: &'static str,
    description: &'static str,
    kind: Type,
    /// Whether answers of the operation with this id have it at this status.
    is_sent: fn(id: &str, status: &str) -> bool,
}

const HEADERS: &[AnswerHeader] = &[
    AnswerHeader {
        name: "X-Ambit-Request",
        description: "The id of the turn",
        kind: Type::String,
        is_sent: is_of_turn,
    },
    AnswerHeader {
        name: "X-Ambit-Context",
        description: "The id of the turn's context",
        kind: Type::String,
        is_sent: is_of_turn,
    },
    AnswerHeader {
        name: "X-Ambit-Trace",
        description: "The id of the turn's trace",
        kind: Type::String,
        is_sent: is_of_turn,
    },
    AnswerHeader {
        name: "X-Ambit-Chat",
        description: "The chat, unless the turn has none, or its name cannot stand in a header",
        kind: Type::String,
        is_sent: is_of_turn,
    },
    AnswerHeader {
        name: "X-Yao-Chat",
        description: "The same as `X-Ambit-Chat`",
        kind: Type::String,
        is_sent: is_of_turn,
    },
    AnswerHeader {
        name: "WWW-Authenticate",
        description: "With 401: how to say who calls; with 403 of tool servers: which scopes are missing",
        kind: Type::String,
        is_sent: |_, status| matches!(status, "401" | "403" | "default"),
    },
    AnswerHeader {
        name: "Retry-After",
        description: "With 429 and 503: after how many seconds to come again",
        kind: Type::Integer,
        is_sent: |_, status| matches!(status, "429" | "503" | "default"),
    },
];

/// The operations whose answers are those of turns.
const OF_TURNS: &[&str] = &[
    "complete",
    "complete_by",
    "create_message",
    "create_response",
    "resume_stream",
    "resume_stream_of",
    "run",
    "run_by",
    "send",
    "send_to",
];

/// A turn that fails before its stream begins is named too.
fn is_of_turn(id: &str, status: &str) -> bool {
    status != "204" && OF_TURNS.contains(&id)
}

/// The document in which answers say which headers they have.
pub fn with_headers(mut document: OpenApi) -> OpenApi {
    for operation in operations(&mut document) {
        let id = operation.operation_id.as_deref().unwrap_or_default();
        for (status, response) in &mut operation.responses.responses {
            let RefOr::T(response) = response else {
                continue;
            };
            let sent = HEADERS.iter().filter(|header| (header.is_sent)(id, status));
            let sent = sent.map(|header| {
                let reference = Ref::new(format!("#/components/headers/{}", header.name));
                (header.name.to_owned(), RefOr::Ref(reference))
            });
            response.headers.extend(sent);
        }
    }
    let components = document.components.get_or_insert_default();
    components.headers.extend(HEADERS.iter().map(|row| {
        let mut header = Header::new(Object::with_type(row.kind.clone()));
        header.description = Some(row.description.to_owned());
        (row.name.to_owned(), RefOr::T(header))
    }));
    document
}
