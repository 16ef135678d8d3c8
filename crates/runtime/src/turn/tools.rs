//! A round of tool calls: they run at once, each result is durable as soon as it is there, and the model is told all of them
//! in the order in which it asked.

use super::Turn;
use super::arguments;
use super::leg::Leg;
use super::plan::Plan;
use super::replay::Settled;
use super::results::failed;
use crate::error::{Code, Error, Result};
use crate::event::{AfterToolExecution, BeforeToolExecution, ToolChanged};
use crate::journal::Step;
use crate::llm::Answer;
use crate::llm::answer::ToolCall;
use crate::mcp;
use crate::process::Bound;
use crate::schema::{self, Wrong};
use crate::tool::{Caller, Outcome, Tool, Toolbox};
use crate::trace::Node;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Calls of one round that run at once.
const AT_ONCE: usize = 8;
/// Bytes of a result that are kept, well below what a store takes in one entry.
const LARGEST: usize = 8 << 20;

/// What the model may call.
pub(super) struct Offered {
    tools: Vec<Tool>,
    client: Vec<Value>,
}

/// The tools of the plan's servers, and those of the client.
pub(super) async fn offered(turn: &Turn, leg: &Leg, plan: &Plan) -> Result<Offered> {
    let tools = match plan.servers.as_slice() {
        [] => Vec::new(),
        servers => {
            let caller = caller(turn, leg, ("tools", turn.leg_root(leg)))?;
            let tools = turn.core.tools(&turn.loaded);
            let tools = tools.list(servers, &caller).await?;
            for (tool, added) in turn.loaded.mcp.changed(&caller) {
                let about = turn.about();
                turn.announce(ToolChanged { about, tool, added }).await;
            }
            tools
        }
    };
    let most = leg.agent.mcp.max_tools;
    if tools.len() > most {
        let message = format!(
            "{} offers {} tools, but mcp.options.max_tools is {most}",
            leg.agent.id,
            tools.len()
        );
        return Err(Error::new(Code::ConfigError, message));
    }
    Ok(Offered {
        tools,
        client: plan.client_tools.clone(),
    })
}

/// The agent, whose scripts among the tools are traced below a node.
pub(super) fn caller(turn: &Turn, leg: &Leg, (step, node): (&str, Node)) -> Result<Caller> {
    let scope = turn.scope_below(leg, (step, node.clone()))?;
    Ok(Caller {
        authorized: turn.request.authorized.clone(),
        agent: leg.agent.id.clone(),
        servers: scope.servers.clone(),
        request_id: turn.ids.request_id.clone(),
        timeout: Duration::from_millis(leg.agent.mcp.timeout),
        processes: Arc::new(Bound::Outside { scope, node }),
    })
}

impl Offered {
    /// As the model is told.
    pub fn definitions(&self) -> Vec<Value> {
        let own = self.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters}})
        });
        own.chain(self.client.iter().cloned()).collect()
    }

    /// Examples of calls, in one message.
    pub fn samples(&self, most: usize) -> Option<Value> {
        let text = mcp::samples_message(&self.tools, most)?;
        Some(json!({"role": "system", "content": text}))
    }

    /// True where the client has to run one of the calls.
    pub fn has_client_tool(&self, answer: &Answer) -> bool {
        answer.tool_calls.iter().any(|call| self.is_clients(call))
    }

    /// True where one of the calls is run here.
    pub fn has_own_tool(&self, answer: &Answer) -> bool {
        answer.tool_calls.iter().any(|call| !self.is_clients(call))
    }

    fn is_clients(&self, call: &ToolCall) -> bool {
        let name = |tool: &Value| tool.pointer("/function/name") == Some(&json!(call.name));
        self.client.iter().any(name)
    }

    fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// One round.
pub(super) struct Round<'a> {
    pub leg: &'a Leg,
    pub round: usize,
    pub answer: &'a Answer,
    pub offered: &'a Offered,
}

/// A call that has ended.
struct Ended {
    index: usize,
    /// `Err` where the server failed.
    outcome: Result<Outcome>,
    arguments: Value,
    /// Where it is traced.
    node: Node,
}

impl Round<'_> {
    /// Runs what has no result yet; the answer is what the model is told.
    pub async fn run(&self, turn: &mut Turn) -> Result<Vec<Value>> {
        let calls = &self.answer.tool_calls;
        let mut results: Vec<Option<Settled>> = (0..calls.len())
            .map(|index| turn.replay.settled(self.leg.at, self.round, index))
            .collect();
        let is_own = |index: &usize| !self.offered.is_clients(&calls[*index]);
        let open = (0..calls.len()).filter(|index| results[*index].is_none());
        let open = open.filter(is_own);
        let mut waiting: VecDeque<usize> = open.collect();
        let most = if self.leg.agent.mcp.parallel {
            AT_ONCE
        } else {
            1
        };
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < most
                && let Some(index) = waiting.pop_front()
            {
                let call = self.start(turn, index, &calls[index]).await?;
                running.push(call);
            }
            let Some(ended) = running.next().await else {
                break;
            };
            let index = ended.index;
            results[index] = Some(self.settle(turn, ended).await?);
        }
        let told = calls.iter().zip(results).filter_map(|(call, settled)| {
            let settled = settled?;
            turn.said.tools.push(settled.result);
            Some(json!({"role": "tool", "tool_call_id": call.id, "name": call.name, "content": settled.text}))
        });
        Ok(told.collect())
    }

    /// Asks the listeners, and starts the call.
    async fn start(
        &self,
        turn: &mut Turn,
        index: usize,
        call: &ToolCall,
    ) -> Result<impl Future<Output = Ended> + use<>> {
        let tool = self.offered.find(&call.name).cloned();
        let mut refused = None;
        let mut arguments = match arguments::read(&call.arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                refused = Some(format!(
                    "the arguments of {} are no JSON: {error}",
                    call.name
                ));
                Value::Null
            }
        };
        if let (None, Some(tool)) = (&refused, &tool) {
            arguments = schema::fill_in(&tool.parameters, arguments);
            refused = misfit(turn, tool, &arguments);
        }
        if refused.is_none() && turn.hears::<BeforeToolExecution>() {
            let event = BeforeToolExecution {
                about: turn.about(),
                tool: call.name.clone(),
                call_id: call.id.clone(),
                arguments,
            };
            match turn.ask(event).await {
                Ok(event) => arguments = event.arguments,
                Err(error) if error.code == Code::Vetoed => {
                    (refused, arguments) = (Some(error.message), Value::Null);
                }
                Err(error) => return Err(error),
            }
        }
        let name = call.name.clone();
        let node = turn.node(self.leg, "tool", &name, arguments.clone());
        let toolbox = turn.core.tools(&turn.loaded);
        let step = format!("tool {} {index}", self.round);
        let caller = caller(turn, self.leg, (&step, node.clone()))?;
        Ok(async move {
            let outcome = match (refused, tool) {
                (Some(reason), _) => Ok(failed(reason)),
                (None, None) => Ok(failed(format!("there is no tool {name}"))),
                (None, Some(tool)) => {
                    call_in_time(toolbox.as_ref(), &tool, arguments.clone(), &caller).await
                }
            };
            Ended {
                index,
                outcome,
                arguments,
                node,
            }
        })
    }

    /// Makes a result durable, and shows it.
    async fn settle(&self, turn: &mut Turn, ended: Ended) -> Result<Settled> {
        let Ended {
            index,
            outcome,
            arguments,
            node,
        } = ended;
        let call = &self.answer.tool_calls[index];
        let outcome = match outcome {
            Err(error) if self.leg.agent.mcp.is_error_fatal => {
                node.fail(&error.message);
                return Err(error);
            }
            Err(error) => failed(error.message),
            Ok(outcome) => kept(&call.name, outcome),
        };
        for warning in &outcome.warnings {
            node.warn(warning);
        }
        match outcome.is_error {
            true => node.fail(&outcome.text),
            false => node.complete(Some(outcome.data.clone())),
        }
        let tool = self.offered.find(&call.name);
        let error = outcome.is_error.then(|| outcome.text.clone());
        let result = json!({
            "toolcall_id": call.id,
            "server": tool.map(|tool| tool.server.as_str()),
            "tool": tool.map_or(call.name.as_str(), |tool| tool.tool.as_str()),
            "arguments": arguments,
            "result": if outcome.is_error { Value::Null } else { outcome.data.clone() },
            "error": error,
            "round": self.round,
        });
        turn.reach("turn.tool_done");
        turn.announce(AfterToolExecution {
            about: turn.about(),
            tool: call.name.clone(),
            call_id: call.id.clone(),
            arguments,
            result: (!outcome.is_error).then(|| outcome.data.clone()),
            error,
        })
        .await;
        turn.store_result(self.leg.call.skip, call, &outcome)
            .await?;
        let text = outcome.text.clone();
        turn.record(Step::Settled {
            leg: self.leg.at,
            round: self.round,
            index,
            result: result.clone(),
            text: text.clone(),
        })
        .await?;
        turn.reach("turn.settled");
        turn.show_result(&turn.speaker(self.leg), call, &outcome);
        Ok(Settled { result, text })
    }
}

/// Why a tool is not called with these arguments. One whose schema is unusable has to see for itself.
fn misfit(turn: &Turn, tool: &Tool, arguments: &Value) -> Option<String> {
    match schema::check(&tool.parameters, arguments) {
        Ok(()) => None,
        Err(Wrong::Value(what)) => Some(format!(
            "the arguments of {} are not as its schema says: {what}",
            tool.name
        )),
        Err(Wrong::Schema(what)) => {
            turn.warn(&format!(
                "the arguments of {} are not checked: {what}",
                tool.name
            ));
            None
        }
    }
}

/// The outcome, or a failure in its place where it is too large to be kept: what is not kept would be done again.
fn kept(tool: &str, outcome: Outcome) -> Outcome {
    let size = outcome.data.to_string().len() + outcome.text.len();
    if size <= LARGEST {
        return outcome;
    }
    failed(format!(
        "{tool} has run, but its result of {size} bytes is larger than the {LARGEST} that are kept; do not call it again, ask for less"
    ))
}

async fn call_in_time(
    toolbox: &dyn Toolbox,
    tool: &Tool,
    arguments: Value,
    caller: &Caller,
) -> Result<Outcome> {
    let called = tokio::time::timeout(caller.timeout, toolbox.call(tool, arguments, caller)).await;
    called.unwrap_or_else(|_| {
        let message = format!(
            "{} has not answered within {} s",
            tool.name,
            caller.timeout.as_secs()
        );
        Err(Error::new(Code::Timeout, message))
    })
}
