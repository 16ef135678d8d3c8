//! Asking an agent, a tool or a model for one step.

use crate::chat::ChatMessage;
use crate::ctx::ScriptContext;
use crate::ctx::{CalleeKind, NestedCall};
use crate::error::{Error, ErrorCode};
use crate::mcp::cut;
use crate::request::ScriptCallOptions;
use crate::tool::{ToolCaller, Toolbox};
use crate::uses::{StepTools, UsesAsker, UsesFailure, UsesRequest, UsesTarget, agent_answer};
use crate::web_search::plain_text;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The steps of a search, whose usage is marked as that.
const SEARCH_STEPS: [&str; 5] = ["search", "web", "keyword", "querydsl", "rerank"];

/// For whom is asked, and what is reached.
pub(super) struct UsesClient {
    /// The agent at work, traced below the step's node.
    pub scope: Arc<ScriptContext>,
    /// The tools that there are.
    pub toolbox: Arc<dyn Toolbox>,
    /// The same agent, for tools.
    pub caller: ToolCaller,
}

impl UsesAsker for UsesClient {
    fn ask<'a>(
        &'a self,
        means: &'a UsesTarget,
        wanted: UsesRequest,
    ) -> BoxFuture<'a, Result<Value, UsesFailure>> {
        Box::pin(async move {
            match means {
                UsesTarget::Disabled => {
                    Err(UsesFailure::Unknown("the step is disabled".to_owned()))
                }
                UsesTarget::Builtin if wanted.key == "fetch" => self.page(&wanted.arguments).await,
                UsesTarget::Builtin => {
                    let role = format!("use::{}", wanted.key);
                    self.nested(CalleeKind::Model, &role, wanted).await
                }
                UsesTarget::Agent(id) => self.nested(CalleeKind::Agent, id, wanted).await,
                UsesTarget::Tool(named) => {
                    let tools = StepTools {
                        app: &self.scope.app,
                        toolbox: self.toolbox.as_ref(),
                        caller: &self.caller,
                    };
                    tools.ask(named, wanted).await
                }
            }
        })
    }
}

impl UsesClient {
    /// In a fork that is not shown, searches nothing, and knows no history.
    async fn nested(
        &self,
        callee: CalleeKind,
        name: &str,
        wanted: UsesRequest,
    ) -> Result<Value, UsesFailure> {
        let skip = json!({"output": true, "search": true});
        let nested = NestedCall {
            callee,
            name: name.to_owned(),
            messages: wanted.messages.iter().map(ChatMessage::to_json).collect(),
            options: ScriptCallOptions::from(Map::from_iter([("skip".to_owned(), skip)])),
            is_silent: true,
            purpose: SEARCH_STEPS.contains(&wanted.key).then_some("search"),
            on_chunk: None,
        };
        let answer = self.scope.turn_host.call(&self.scope, nested).await;
        let answer = answer.map_err(|error| failed(ErrorCode::Internal, error.message))?;
        let text = answer["content"].as_str().unwrap_or_default();
        agent_answer(answer["error"].as_str(), &answer["response"]["next"], text)
    }

    /// The text of a page, from the hosts that addresses in messages may name.
    async fn page(&self, arguments: &Value) -> Result<Value, UsesFailure> {
        let scope = &self.scope;
        let hosts = scope.agent.allowed_hosts()?;
        let client = scope.http.for_run(scope.limits.http, hosts.as_ref());
        let url = arguments["url"].as_str().unwrap_or_default();
        let answer = client.for_messages().get(url).await;
        let answer = answer.map_err(|why| failed(ErrorCode::Unavailable, why.message))?;
        let kind = answer.content_type().to_ascii_lowercase();
        let text = String::from_utf8_lossy(&answer.body);
        let text = match kind.as_str() {
            kind if kind.contains("html") => plain_text(&text),
            kind if kind.starts_with("text/") || kind.starts_with("application/json") => {
                text.into_owned()
            }
            kind => {
                let why = format!("the address points to no text but to \"{kind}\"");
                return Err(failed(ErrorCode::Unavailable, why));
            }
        };
        // As JSON, a text that looks like an answer in another form stays the text.
        Ok(json!({ "text": cut(text) }))
    }
}

fn failed(code: ErrorCode, why: String) -> UsesFailure {
    UsesFailure::Failed(Error::new(code, why))
}
