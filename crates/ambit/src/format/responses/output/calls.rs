//! Items of calls: their arguments grow, and what comes of those that the server runs is told.

use super::{AnnouncedItem, ItemProgress, OutputItems};
use crate::format::responses::call_items::{CallStart, free_text, new_call};
use crate::format::responses::event::ResponseEventContent;
use crate::format::responses::item::{ItemStatus, McpCallError, ResponseItem};
use crate::format::responses::settings::ClientTool;

/// What came of a call.
pub enum CallOutcome {
    Output(String),
    Error(McpCallError),
}

impl OutputItems {
    /// The item of the call that this message shows.
    pub fn call_of(&self, message: &str) -> Option<usize> {
        let is_it = |announced: &AnnouncedItem| {
            announced.message == message && announced.item.text().is_none()
        };
        self.items.iter().rposition(is_it)
    }

    /// A call begins.
    pub fn begin_call(
        &mut self,
        message: &str,
        name: &str,
        client_tool: Option<ClientTool>,
    ) -> usize {
        self.end_thought();
        let item = new_call(CallStart {
            turn: &self.request_id,
            message,
            name,
            client_tool,
        });
        let is_servers = matches!(item, ResponseItem::McpCall(_));
        let index = self.announce(message, item);
        if is_servers {
            self.progress(index, "response.mcp_call.in_progress");
        }
        index
    }

    /// The arguments of a call, as far as they are there.
    pub fn arguments(&mut self, index: usize, arguments: &str) {
        let at = self.at(index);
        let announced = &mut self.items[index];
        if announced.progress != ItemProgress::Open {
            return;
        }
        let more = arguments.strip_prefix(announced.arguments.as_str());
        let delta = more.unwrap_or_default().to_owned();
        arguments.clone_into(&mut announced.arguments);
        let kind = match &mut announced.item {
            ResponseItem::FunctionCall(item) => {
                arguments.clone_into(&mut item.arguments);
                "response.function_call_arguments.delta"
            }
            ResponseItem::McpCall(item) => {
                arguments.clone_into(&mut item.arguments);
                "response.mcp_call_arguments.delta"
            }
            // Its text is known when the arguments are whole.
            _ => return,
        };
        if !delta.is_empty() {
            let content = ResponseEventContent::CallDelta { at, delta };
            self.events.write(kind, content);
        }
    }

    /// All arguments of a call are there; a call of the client is whole.
    pub fn end_arguments(&mut self, index: usize, status: ItemStatus) {
        let at = self.at(index);
        let announced = &mut self.items[index];
        if announced.progress != ItemProgress::Open {
            return;
        }
        announced.progress = ItemProgress::Asked;
        let arguments = announced.arguments.clone();
        match &mut announced.item {
            ResponseItem::FunctionCall(item) => {
                item.status = status;
                let content = ResponseEventContent::ArgumentsDone {
                    at,
                    name: Some(item.name.clone()),
                    arguments,
                };
                self.events
                    .write("response.function_call_arguments.done", content);
                self.done(index);
            }
            ResponseItem::CustomToolCall(item) => {
                item.input = free_text(arguments);
                let delta = ResponseEventContent::CallDelta {
                    at: at.clone(),
                    delta: item.input.clone(),
                };
                let input = item.input.clone();
                if !input.is_empty() {
                    self.events
                        .write("response.custom_tool_call_input.delta", delta);
                }
                let content = ResponseEventContent::InputDone { at, input };
                self.events
                    .write("response.custom_tool_call_input.done", content);
                self.done(index);
            }
            _ => {
                let content = ResponseEventContent::ArgumentsDone {
                    at,
                    name: None,
                    arguments,
                };
                self.events
                    .write("response.mcp_call_arguments.done", content);
            }
        }
    }

    /// A call of the server has run.
    pub fn settle(&mut self, index: usize, outcome: CallOutcome) {
        let announced = &mut self.items[index];
        let ResponseItem::McpCall(item) = &mut announced.item else {
            return;
        };
        if announced.progress != ItemProgress::Asked {
            return;
        }
        let kind = match outcome {
            CallOutcome::Output(output) => {
                item.output = Some(output);
                item.status = ItemStatus::Completed;
                "response.mcp_call.completed"
            }
            CallOutcome::Error(error) => {
                item.error = Some(error);
                item.status = ItemStatus::Failed;
                "response.mcp_call.failed"
            }
        };
        self.progress(index, kind);
        self.done(index);
    }

    fn progress(&mut self, index: usize, kind: &'static str) {
        let content = ResponseEventContent::CallProgress(self.at(index));
        self.events.write(kind, content);
    }
}
