//! The manifest of a call, which is noted when its request is encoded: before anything that comes of the call can be stored.

use super::{ModelCallInput, ModelCallStep};
use crate::app::Connector;
use crate::chat::{
    BlockKind, BlockVia, ChatMessage, DroppedParts, MessageMeasure, MessageOrigin, Role,
    ToolDefinition, bounded, role_name,
};
use crate::error::Result;
use crate::event::BeforeResponse;
use crate::llm::{EncodedCall, ModelCall};
use crate::manifest::{
    self, BlockContent, CallTokens, ManifestBlock, ManifestBody, ManifestTool, ModelCallManifest,
};
use crate::token_estimate::{of_message, of_tools};
use crate::trace::{Trace, call_entries};
use crate::turn::request_context::RequestContext;
use crate::turn::tools::OfferedTools;
use crate::turn::usage::TurnUsage;
use crate::turn::{Turn, model_input};
use ambit_storage::batch::NewEntry;
use std::slice;

/// A call that is about to be sent.
pub(super) struct SentCall<'a> {
    input: &'a ModelCallInput<'a>,
    connector: &'a Connector,
    encoded: &'a EncodedCall<'a>,
    dropped: Vec<DroppedParts>,
}

impl<'a> SentCall<'a> {
    /// Of this request, which would have had more in it.
    pub fn new(
        input: &'a ModelCallInput<'a>,
        connector: &'a Connector,
        encoded: &'a EncodedCall<'a>,
        mut dropped: Vec<DroppedParts>,
    ) -> Self {
        let options = &encoded.call.options;
        dropped.extend(manifest::unknown_options(options, connector));
        Self {
            input,
            connector,
            encoded,
            dropped: bounded(dropped),
        }
    }
}

/// Notes the manifest of a call, and those of its contents that are no stored messages; nothing where nothing is traced.
pub(super) fn note(turn: &Turn, step: &ModelCallStep, sent: &SentCall<'_>) {
    let target = ManifestTarget {
        request_id: turn.context.id(),
        connector: sent.connector,
        trace: step.node().trace(),
        usage: &turn.journal.usage,
        most: turn.context.core.stores.options().limits.value,
        has_listener: turn.context.has_listener::<BeforeResponse>(),
        offered: sent.input.offered,
    };
    if target.trace.is_on() {
        target.note(manifest(turn, step, sent), sent.encoded);
    }
}

/// Where a manifest goes, and what its blocks and tools are told by.
pub(super) struct ManifestTarget<'a> {
    pub request_id: &'a str,
    pub connector: &'a Connector,
    pub trace: &'a Trace,
    pub usage: &'a TurnUsage,
    /// Bytes that an entry may have.
    pub most: usize,
    /// Whether a listener has handed on the messages.
    pub has_listener: bool,
    pub offered: Option<&'a OfferedTools>,
}

impl ManifestTarget<'_> {
    /// Notes a manifest with what its request says. It comes with the options that were wanted, and without connector, body,
    /// blocks and tools.
    pub fn note(&self, manifest: ModelCallManifest, encoded: &EncodedCall<'_>) {
        let (call_id, node_id) = (manifest.call_id.clone(), manifest.node_id.clone());
        match self.entries(manifest, encoded) {
            Ok(entries) if entries.is_empty() => {}
            Ok(entries) => {
                self.usage.note_call(entries);
                self.trace.begin_call(&call_id, &node_id);
            }
            Err(error) => {
                let id = self.request_id;
                tracing::warn!(request.id = id, %error, "of what a call of a model was made is not kept");
            }
        }
    }

    fn entries(
        &self,
        manifest: ModelCallManifest,
        encoded: &EncodedCall<'_>,
    ) -> Result<Vec<NewEntry>> {
        let mut manifest = self.addressed(manifest, encoded);
        let (mut contents, mut own) = (Vec::new(), Vec::new());
        for (n, message) in encoded.call.messages.iter().enumerate() {
            // An earlier call has handed in the content of a message that was measured.
            let is_new = message.origin.measure().is_none();
            let block = self.block(message, measured(message));
            manifest.tokens.estimated += block.tokens;
            // Where references come from can be deleted.
            if is_new && block.kind != BlockKind::Reference && !is_stored(message, &block) {
                let content = BlockContent {
                    hash: block.hash.clone(),
                    content: message.to_json(),
                    bytes: block.bytes,
                };
                match block.kind {
                    BlockKind::Request | BlockKind::Answer | BlockKind::ToolResult => {
                        own.push(content);
                    }
                    _ => contents.push(content),
                }
            }
            manifest.blocks.push(ManifestBlock { n, ..block });
        }
        for (n, tool) in encoded.call.tools.iter().enumerate() {
            let content = BlockContent::of_tool(tool);
            let tool = self.tool(tool, &content);
            manifest.tokens.estimated += tool.tokens;
            manifest.tools.push(ManifestTool { n, ..tool });
            contents.push(content);
        }
        contents.extend(manifest.take_long_values());
        // Last, where there is no room for all: the conversation has these too once the turn has stored them.
        contents.extend(own);
        manifest.fit();
        contents.retain(|content| self.trace.takes_content(content));
        // What the store would not take would be refused together with what the turn stores.
        call_entries(&self.usage.trace_log(), &manifest, contents, self.most)
    }

    /// The manifest with where its request goes, its options as they are sent, and its body.
    fn addressed(
        &self,
        manifest: ModelCallManifest,
        encoded: &EncodedCall<'_>,
    ) -> ModelCallManifest {
        let connector = self.connector;
        ModelCallManifest {
            connector: connector.id.clone(),
            provider: connector.kind.clone(),
            model: connector.model().to_owned(),
            options: manifest::sent_options(encoded, connector, &manifest.options),
            body: ManifestBody::of(&encoded.bytes, encoded.encoder),
            ..manifest
        }
    }

    fn tool(&self, tool: &ToolDefinition, content: &BlockContent) -> ManifestTool {
        let offered = self.offered.and_then(|offered| offered.find(&tool.name));
        ManifestTool {
            n: 0,
            name: tool.name.clone(),
            server: offered.map(|offered| offered.server.clone()),
            tool: offered.map(|offered| offered.tool.clone()),
            bytes: content.bytes,
            tokens: of_tools(slice::from_ref(tool)),
            hash: content.hash.clone(),
        }
    }

    fn block(&self, message: &ChatMessage, measure: MessageMeasure) -> ManifestBlock {
        let kind = kind(message, self.request_id);
        let mut source = message.origin.source();
        if source.tool_call_id.is_none() {
            source.tool_call_id.clone_from(&message.tool_call_id);
        }
        let by_listener = self.has_listener && kind != BlockKind::Listener;
        let by_listener = by_listener.then_some(BlockVia::Listener);
        ManifestBlock {
            n: 0,
            role: role_name(message.role).to_owned(),
            kind,
            source,
            via: message.origin.via.or(by_listener),
            bytes: measure.bytes,
            tokens: measure.tokens,
            hash: measure.hash,
            cut: message.origin.cuts.clone(),
            count: None,
        }
    }
}

/// A call as listeners have left it: messages that they have not changed keep where they come from.
pub(super) fn with_origins(
    context: &RequestContext,
    mut call: ModelCall,
    before: &ModelCall,
) -> ModelCall {
    let source = model_input::listener::<BeforeResponse>(context);
    let mut next = 0;
    for message in &mut call.messages {
        let known = model_input::same_message(&before.messages, message, &mut next);
        message.origin = match known {
            Some(known) => known.origin.clone(),
            None => MessageOrigin::new(BlockKind::Listener, source.clone()),
        };
    }
    call
}

/// The manifest without what the request says.
fn manifest(turn: &Turn, step: &ModelCallStep, sent: &SentCall<'_>) -> ModelCallManifest {
    let window = model_input::window(sent.input.plan, sent.connector);
    ModelCallManifest {
        call_id: step.call_id().to_owned(),
        request_id: turn.context.id().to_owned(),
        trace_id: turn.output.trace.id().to_owned(),
        node_id: step.node().id(),
        index: step.number(),
        agent: sent.input.run.agent.id.clone(),
        thread_id: turn.output.author.thread.clone(),
        at: turn.context.now(),
        tokens: CallTokens {
            estimated: 0,
            window: window.map(|window| window.tokens),
            reserve: window.map(|window| window.reserve),
        },
        settings: sent.input.plan.settings.clone(),
        options: sent.input.plan.options.clone(),
        dropped: sent.dropped.clone(),
        reads: step.node().trace().reads(),
        ..ModelCallManifest::default()
    }
}

/// A message in numbers, told from its text: the JSON of its content is made only for what the trace keeps.
fn measured(message: &ChatMessage) -> MessageMeasure {
    if let Some(known) = message.origin.measure() {
        return known.clone();
    }
    // Only a map with keys that are no text could fail.
    let text = serde_json::to_vec(message).unwrap_or_default();
    let measure = MessageMeasure {
        hash: manifest::short_hash(&text),
        bytes: text.len(),
        tokens: of_message(message),
    };
    message.origin.keep_measure(measure.clone());
    measure
}

/// What a message is in this turn. Those of which nothing is noted came up while it ran.
fn kind(message: &ChatMessage, turn: &str) -> BlockKind {
    let is_own = message.origin.turn_id() == Some(turn);
    match message.origin.kind() {
        Some(kind) if kind != BlockKind::History || !is_own => kind,
        _ => match message.role {
            Role::Assistant => BlockKind::Answer,
            Role::Tool => BlockKind::ToolResult,
            _ => BlockKind::Request,
        },
    }
}

/// Whether the conversation has the content, so that the trace need not.
fn is_stored(message: &ChatMessage, block: &ManifestBlock) -> bool {
    let is_of_conversation = !matches!(block.kind, BlockKind::Hook | BlockKind::Listener);
    is_of_conversation && block.source.message_id.is_some() && !message.origin.is_changed
}
