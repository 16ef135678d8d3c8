//! Methods of the reference whose part of Ambit is not there yet. They are in the tables, so that scripts type-check and
//! are told clearly; each row moves to its own file with its part.

use super::{ScriptCall, ScriptClass};
use crate::error::{Error, ErrorCode, Result};
use ambit_script::HostValue;

/// The objects of `ctx` by name.
pub const PARTS: &[(&str, &ScriptClass)] = &[("search", &SEARCH)];

/// `ctx.search`.
pub const SEARCH: ScriptClass = ScriptClass {
    name: "Search",
    place: "ctx.search",
    doc: "Searches. Not available yet.",
    members: &[],
    methods: &[rows! {
        "Web(query: string, options?: any): any", None, refuse: "Searches the web.",
        "KB(query: string, options?: any): any", None, refuse: "Searches the knowledge base.",
        "DB(query: string, options?: any): any", None, refuse: "Searches the app's data.",
        "All(requests: any[]): any[]", None, refuse: "Searches at once and waits for all.",
        "Any(requests: any[]): any[]", None, refuse: "Searches at once and waits for the first that finds something.",
        "Race(requests: any[]): any[]", None, refuse: "Searches at once and waits for the first that ends.",
    }],
    is_lenient: false,
};

async fn refuse(call: &ScriptCall<'_>) -> Result<HostValue> {
    let name = call.method.name();
    let part = PARTS.iter().find(|(_, class)| class.name == call.class);
    let place = part.map_or_else(String::new, |(part, _)| format!("ctx.{part}."));
    let text = format!("{place}{name} is not available yet");
    Err(Error::new(ErrorCode::Unsupported, text))
}
