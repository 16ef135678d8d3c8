//! A model that a script calls by itself.

use super::call::NestedWork;
use crate::chat::{ChatMessage, GenerationOptions, OptionLayer};
use crate::error::{Error, Result};
use crate::request::{CallOptions, LayeredCallOptions, ScriptCallOptions};
use crate::turn::Turn;
use crate::turn::agent_run::AgentRun;
use crate::turn::create::ModelCallPlan;
use crate::turn::omissions::Omissions;
use serde_json::{Map, Value};

/// Options that a request may give and a script's own call of a model may not.
const NOT_FOR_SCRIPTS: [&str; 4] = ["logit_bias", "parallel_tool_calls", "modalities", "audio"];

/// A call of a model as a script wants it: nothing of its agent is added.
pub(super) struct ScriptModelCall {
    pub run: AgentRun,
    pub plan: ModelCallPlan,
}

impl NestedWork {
    /// A call of the model of a connector.
    pub fn model(
        turn: &Turn,
        connector: String,
        messages: Vec<ChatMessage>,
        options: ScriptCallOptions,
    ) -> Result<Self> {
        let request = &turn.context.request;
        let (agent, hooks) = turn.context.loaded.agent(&request.agent)?;
        let mut options = options.given;
        let tools = match options.remove("tools") {
            Some(tools @ Value::Array(_)) => serde_json::from_value(tools).map_err(|_| {
                Error::invalid("options.tools", "options.tools must be a list of objects")
            })?,
            _ => Vec::new(),
        };
        let mut generation = GenerationOptions::from(options).known();
        generation.retain(|name, _| !NOT_FOR_SCRIPTS.contains(&name.as_str()));
        let run = AgentRun {
            index: 0,
            chain: vec![agent.id.clone()],
            agent,
            hooks,
            messages,
            left_out: Omissions::default(),
            call: CallOptions::default(),
            skip: request.skip,
            trigger: request.trigger(),
            further: Map::new(),
            node: turn.output.root.clone(),
        };
        let said = CallOptions {
            connector: Some(connector),
            generation: generation.into(),
            tools,
            disable_global_prompts: Some(true),
            ..CallOptions::default()
        };
        let mut layered = LayeredCallOptions::default();
        layered.merge(OptionLayer::Call, said);
        let plan = ModelCallPlan::of(layered);
        Ok(Self::Model(Box::new(ScriptModelCall { run, plan })))
    }
}
