//! `uses`: who does the steps beside the model, and asking them.

mod client;

pub(crate) use client::{UsesClient, UsesFailure, UsesRequest, words};

use crate::app::App;
use ambit_storage::suggestion;

/// What a value of `uses` means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UsesTarget {
    /// What Ambit has for it.
    Builtin,
    /// Nobody does it.
    Disabled,
    /// This agent.
    Agent(String),
    /// A tool: `<server>.<tool>`, or a server that has one for it.
    Tool(String),
}

impl UsesTarget {
    /// Reads a value; `Err` says why it is unknown.
    pub fn read(app: &App, value: &str) -> Result<Self, String> {
        match value {
            "builtin" => return Ok(Self::Builtin),
            "disabled" => return Ok(Self::Disabled),
            _ => {}
        }
        if let Some(tool) = value.strip_prefix("mcp:") {
            return Ok(Self::Tool(tool.to_owned()));
        }
        let id = value.strip_prefix("agent:").unwrap_or(value);
        match app.agents.contains_key(id) {
            true => Ok(Self::Agent(id.to_owned())),
            false => {
                let known = app.agents.keys().map(String::as_str);
                let hint = suggestion::hint(id, known.chain(["builtin", "disabled"]));
                Err(format!("there is no agent \"{id}\"{hint}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn values_are_told_apart() {
        let mut app = App::default();
        for id in ["eyes", "tests.ears"] {
            app.agents.insert(id.to_owned(), Ok(Arc::default()));
        }
        let agent = |id: &str| Ok(UsesTarget::Agent(id.to_owned()));
        for (value, expected) in [
            ("builtin", Ok(UsesTarget::Builtin)),
            ("disabled", Ok(UsesTarget::Disabled)),
            ("eyes", agent("eyes")),
            ("agent:tests.ears", agent("tests.ears")),
            ("mcp:box.see", Ok(UsesTarget::Tool("box.see".to_owned()))),
            (
                "eyed",
                Err("there is no agent \"eyed\"; did you mean \"eyes\"?".to_owned()),
            ),
        ] {
            assert_eq!(UsesTarget::read(&app, value), expected, "{value}");
        }
    }
}
