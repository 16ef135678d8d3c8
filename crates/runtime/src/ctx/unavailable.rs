//! Methods of the reference whose part of Ambit is not there yet. They are in the tables, so that scripts type-check and
//! are told clearly; each row moves to its own file with its part.

use super::{ScriptCall, ScriptClass, ScriptMethod, done};
use crate::error::{Error, ErrorCode, Result};
use ambit_script::HostValue;

/// The objects of `ctx` by name.
pub const PARTS: &[(&str, &ScriptClass)] = &[("search", &SEARCH)];

macro_rules! rows {
    ($($signature:literal: $doc:literal,)*) => {
        &[$(ScriptMethod {
            signature: $signature,
            doc: $doc,
            needs: None,
            call: |call| done(std::future::ready(refuse(call))),
        },)*]
    };
}

macro_rules! class {
    ($name:literal, $place:literal, $doc:literal, $methods:expr) => {
        ScriptClass {
            name: $name,
            place: $place,
            doc: $doc,
            members: &[],
            methods: &[$methods],
            is_lenient: false,
        }
    };
}

/// `ctx.search`.
pub const SEARCH: ScriptClass = class!(
    "Search",
    "ctx.search",
    "Searches. Not available yet.",
    rows! {
        "Web(query: string, options?: any): any": "Searches the web.",
        "KB(query: string, options?: any): any": "Searches the knowledge base.",
        "DB(query: string, options?: any): any": "Searches the app's data.",
        "All(requests: any[]): any[]": "Searches at once and waits for all.",
        "Any(requests: any[]): any[]": "Searches at once and waits for the first that finds something.",
        "Race(requests: any[]): any[]": "Searches at once and waits for the first that ends.",
    }
);

fn refuse(call: &ScriptCall<'_>) -> Result<HostValue> {
    let name = call.method.name();
    let part = PARTS.iter().find(|(_, class)| class.name == call.class);
    let place = part.map_or_else(String::new, |(part, _)| format!("ctx.{part}."));
    let text = format!("{place}{name} is not available yet");
    Err(Error::new(ErrorCode::Unsupported, text))
}
