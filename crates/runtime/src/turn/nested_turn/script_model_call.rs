//! A model that a script calls by itself.

use crate::error::Result;
use crate::turn::Turn;
use crate::turn::agent_run::{AgentRun, CallOptions};
use crate::turn::call_plan::ModelCallPlan;
use crate::uses::UsesSettings;
use serde_json::{Map, Value};

/// What a script may say of a call of a model.
const OPTIONS: [&str; 12] = [
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "stop",
    "user",
    "seed",
    "tool_choice",
    "response_format",
    "reasoning_effort",
];

/// A call of a model as a script wants it: nothing of its agent is added.
pub(super) fn call(
    turn: &Turn,
    (connector, messages): (String, Vec<Value>),
    mut options: Map<String, Value>,
) -> Result<(AgentRun, ModelCallPlan)> {
    let (agent, hooks) = turn.loaded.agent(&turn.request.agent)?;
    let tools = match options.remove("tools") {
        Some(Value::Array(tools)) => tools,
        _ => Vec::new(),
    };
    options.retain(|name, _| OPTIONS.contains(&name.as_str()));
    let leg = AgentRun {
        index: 0,
        chain: vec![agent.id.clone()],
        agent,
        hooks,
        messages,
        call: CallOptions {
            skip: turn.request.skip,
            ..CallOptions::default()
        },
    };
    let plan = ModelCallPlan {
        messages: None,
        options,
        connector,
        servers: Vec::new(),
        client_tools: tools,
        preset: None,
        mode: None,
        disable_global_prompts: true,
        uses: UsesSettings::default(),
    };
    Ok((leg, plan))
}
