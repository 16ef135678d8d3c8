//! Calls of models: the manifests in a turn's trace, and the contents that they name.
//!
//! A content is in the trace where it is no stored message, else it is found by its hash among the messages of the conversation.

use super::traces::{self, StoredTrace};
use crate::access::Authorized;
use crate::chat::{BlockKind, ModelCall};
use crate::chat_message;
use crate::chats::{WantedMessages, archived};
use crate::error::{Error, ErrorCode, Result};
use crate::manifest::{
    self, BlockContent, ManifestBlock, MemoryRead, ModelCallManifest, ModelCallStatus,
    ModelCallSummary,
};
use crate::trace::{StoredCallEvent, stored_call_events};
use crate::turn_location;
use ambit_storage::Ambit;
use ambit_storage::directory::IndexRow;
use ambit_storage::storage::Message;
use serde::Serialize;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use utoipa::ToSchema;

/// The calls of a turn.
pub struct TurnCalls {
    /// Their manifests, in the order of their requests.
    pub manifests: Vec<ModelCallManifest>,
    /// What the trace keeps, by its hash.
    contents: HashMap<String, Value>,
    /// The stored messages that were looked for and are there, or were erased.
    stored: HashSet<String>,
    erased: HashSet<String>,
    /// The row of the conversation's history.
    row: Option<IndexRow>,
}

/// The calls of a turn, each in one line.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CallList {
    /// In the order of their requests.
    pub items: Vec<ModelCallSummary>,
}

/// What a block or a tool says.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ContentView {
    /// Its hash.
    pub hash: String,
    /// The message or the tool as the encoder got it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    /// Why there is no content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<GoneReason>,
}

/// Why a content is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoneReason {
    /// The message was erased.
    Erased,
    /// The conversation has no such message any more.
    Expired,
    /// The trace had no room for it, or it was put together for this call out of what is not kept.
    NotKept,
}

/// A call made anew from its manifest.
pub(crate) struct RestoredCall {
    /// The call; what is missing is left out.
    pub call: ModelCall,
    /// The blocks of which the contents are gone.
    pub missing_blocks: Vec<usize>,
    /// The tools of which the definitions are gone.
    pub missing_tools: Vec<usize>,
    /// The options of which the values are gone.
    pub missing_options: Vec<String>,
}

impl RestoredCall {
    /// The numbers of the blocks and of the tools that are there.
    pub fn numbers(&self, manifest: &ModelCallManifest) -> (Vec<usize>, Vec<usize>) {
        let blocks = manifest.blocks.iter().map(|block| block.n);
        let tools = manifest.tools.iter().map(|tool| tool.n);
        (
            blocks
                .filter(|n| !self.missing_blocks.contains(n))
                .collect(),
            tools.filter(|n| !self.missing_tools.contains(n)).collect(),
        )
    }
}

/// The calls of the turn with this id. One that the caller may not see is one that does not exist.
pub async fn of_request(ambit: &Ambit, who: &Authorized, id: &str) -> Result<TurnCalls> {
    let location = turn_location::find(ambit, who, id).await?;
    let trace = traces::open(ambit, who, id).await;
    let trace = trace.map_err(|error| match error.code {
        ErrorCode::NotFound => Error {
            message: format!(
                "no trace of request \"{id}\" is kept, in which its calls of models would be: tracing is off, or the trace has expired"
            ),
            ..error
        },
        _ => error,
    })?;
    TurnCalls::read(&trace, location.row).await
}

/// The turn that a call is of.
fn request_of(call_id: &str) -> Result<&str> {
    manifest::request_of(call_id).ok_or_else(|| Error::not_found("call", call_id))
}

/// The calls of the turn of a call, if there is that call.
pub async fn of_call(ambit: &Ambit, who: &Authorized, call_id: &str) -> Result<TurnCalls> {
    let found = of_request(ambit, who, request_of(call_id)?).await;
    let calls = found.map_err(|error| match error.code {
        ErrorCode::NotFound => Error::not_found("call", call_id),
        _ => error,
    })?;
    calls.find(call_id)?;
    Ok(calls)
}

impl TurnCalls {
    async fn read(trace: &StoredTrace, row: Option<IndexRow>) -> Result<Self> {
        let mut calls = Self {
            manifests: Vec::new(),
            contents: HashMap::new(),
            stored: HashSet::new(),
            erased: HashSet::new(),
            row,
        };
        let mut is_complete = false;
        for entry in trace.all().await? {
            for event in stored_call_events(entry.body.as_str()) {
                is_complete |= matches!(event, StoredCallEvent::Complete {});
                calls.add(event);
            }
        }
        if is_complete {
            calls.cancel_open();
        }
        calls.manifests.sort_by_key(|call| call.index);
        if !trace.shows_user_memory {
            let manifests = calls.manifests.iter_mut();
            manifests.for_each(|call| call.reads.retain(|read| read.space != MemoryRead::USER));
        }
        Ok(calls)
    }

    fn add(&mut self, event: StoredCallEvent) {
        match event {
            StoredCallEvent::Call { manifest, .. } => {
                self.manifests.extend(ModelCallManifest::unpack(&manifest));
            }
            StoredCallEvent::CallEnd { call_id, end } => {
                let mut manifests = self.manifests.iter_mut();
                if let Some(call) = manifests.find(|call| call.call_id == call_id) {
                    call.end = *end;
                }
            }
            StoredCallEvent::Content { hash, content } => {
                self.contents.insert(hash, content);
            }
            StoredCallEvent::Complete {} => {}
        }
    }

    /// Calls that were broken off have no end of their own, those behind the end of their turn neither.
    fn cancel_open(&mut self) {
        let manifests = self.manifests.iter_mut();
        let is_open = |call: &&mut ModelCallManifest| call.end.status == ModelCallStatus::Running;
        for call in manifests.filter(is_open) {
            call.end.status = ModelCallStatus::Cancelled;
        }
    }

    /// The calls, each in one line.
    pub fn list(&self) -> CallList {
        let items = self.manifests.iter().map(ModelCallManifest::summary);
        CallList {
            items: items.collect(),
        }
    }

    /// The call with this id.
    pub fn find(&self, call_id: &str) -> Result<&ModelCallManifest> {
        let mut manifests = self.manifests.iter();
        let found = manifests.find(|call| call.call_id == call_id);
        found.ok_or_else(|| Error::not_found("call", call_id))
    }

    /// Adds the messages of the conversation that the blocks of a call name, or this one alone, by their hashes; and those of the turn
    /// itself, which its blocks do not name as they were not stored yet, where the trace has not kept all that is wanted.
    pub async fn read_messages(
        &mut self,
        ambit: &Ambit,
        who: &Authorized,
        call_id: &str,
        n: Option<u64>,
    ) -> Result<()> {
        let Some(row) = &self.row else {
            return Ok(());
        };
        let call = self.find(call_id)?;
        let is_wanted = |block: &&ManifestBlock| n.is_none_or(|n| u64::try_from(block.n) == Ok(n));
        let is_missing = |block: &ManifestBlock| {
            block.source.message_id.is_none() && !self.contents.contains_key(&block.hash)
        };
        let blocks = || call.blocks.iter().filter(is_wanted);
        let ids = blocks().filter_map(|block| block.source.message_id.clone());
        let has_missing = blocks().any(is_missing);
        let wanted = WantedMessages {
            ids: ids.collect(),
            turn_id: has_missing.then(|| call.request_id.clone()),
        };
        let archived = archived(ambit, who, row, wanted).await?;
        self.erased.extend(archived.erased);
        for message in archived.messages {
            if let Some(chat) = chat_message::to_chat(&message) {
                let content = BlockContent::of_message(&chat);
                self.contents.insert(content.hash, content.content);
            }
            self.stored.insert(message.id);
        }
        Ok(())
    }

    /// Names the messages that blocks of a call have become: they were not stored yet when it was made. What was said is found by its
    /// hash, the result of a tool by its call.
    pub async fn name_messages(
        &mut self,
        ambit: &Ambit,
        who: &Authorized,
        call_id: &str,
    ) -> Result<()> {
        let Some(row) = &self.row else {
            return Ok(());
        };
        let call = self.find(call_id)?;
        if !call.blocks.iter().any(is_unnamed) {
            return Ok(());
        }
        let wanted = WantedMessages {
            ids: HashSet::new(),
            turn_id: Some(call.request_id.clone()),
        };
        let archived = archived(ambit, who, row, wanted).await?;
        let hashed = |message: Message| {
            let chat = chat_message::to_chat(&message)?;
            Some((BlockContent::of_message(&chat).hash, message))
        };
        let mut stored: Vec<(String, Message)> =
            archived.messages.into_iter().filter_map(hashed).collect();
        let calls = self.manifests.iter_mut();
        let blocks = calls
            .filter(|call| call.call_id == call_id)
            .flat_map(|call| call.blocks.iter_mut());
        for block in blocks.filter(|block| is_unnamed(block)) {
            let mut known = stored.iter();
            let found = known
                .position(|(hash, message)| *hash == block.hash || is_result_of(message, block));
            if let Some(at) = found {
                block.source.message_id = Some(stored.remove(at).1.id);
            }
        }
        Ok(())
    }

    /// What a block says.
    pub fn block(&self, call: &ModelCallManifest, n: u64) -> Result<ContentView> {
        let mut blocks = call.blocks.iter();
        let block = blocks.find(|block| u64::try_from(block.n) == Ok(n));
        let block = block.ok_or_else(|| Error::not_found("block", &n.to_string()))?;
        let id = block.source.message_id.as_deref();
        Ok(self.view(&block.hash, id))
    }

    /// How a tool is defined.
    pub fn tool(&self, call: &ModelCallManifest, n: u64) -> Result<ContentView> {
        let mut tools = call.tools.iter();
        let tool = tools.find(|tool| u64::try_from(tool.n) == Ok(n));
        let tool = tool.ok_or_else(|| Error::not_found("tool", &n.to_string()))?;
        Ok(self.view(&tool.hash, None))
    }

    fn view(&self, hash: &str, message_id: Option<&str>) -> ContentView {
        let content = self.contents.get(hash).cloned();
        let gone = content.is_none().then(|| self.why_gone(message_id));
        ContentView {
            hash: hash.to_owned(),
            content,
            gone,
        }
    }

    fn why_gone(&self, message_id: Option<&str>) -> GoneReason {
        let (Some(id), Some(_)) = (message_id, &self.row) else {
            // Those of temporary conversations are not looked for.
            return GoneReason::NotKept;
        };
        match (self.erased.contains(id), self.stored.contains(id)) {
            (true, _) => GoneReason::Erased,
            (false, true) => GoneReason::NotKept,
            (false, false) => GoneReason::Expired,
        }
    }

    /// The call as it was made, as far as its contents are there.
    pub(crate) fn restore(&self, manifest: &ModelCallManifest) -> Result<RestoredCall> {
        let (options, missing_options) = manifest.restored_options(&self.contents);
        let mut restored = RestoredCall {
            call: ModelCall {
                options,
                ..ModelCall::default()
            },
            missing_blocks: Vec::new(),
            missing_tools: Vec::new(),
            missing_options,
        };
        for block in &manifest.blocks {
            match self.contents.get(&block.hash) {
                Some(content) => restored.call.messages.push(read(content)?),
                None => restored.missing_blocks.push(block.n),
            }
        }
        for tool in &manifest.tools {
            match self.contents.get(&tool.hash) {
                Some(content) => restored.call.tools.push(read(content)?),
                None => restored.missing_tools.push(tool.n),
            }
        }
        Ok(restored)
    }
}

/// Whether a block may be a message of its turn that was not stored yet.
fn is_unnamed(block: &ManifestBlock) -> bool {
    let is_own = matches!(
        block.kind,
        BlockKind::Request | BlockKind::Answer | BlockKind::ToolResult
    );
    is_own && block.source.message_id.is_none()
}

/// Whether a message is the result that a block has. Models are told of results in their own form, so that the hashes differ.
fn is_result_of(message: &Message, block: &ManifestBlock) -> bool {
    let result = message.tool_result.as_ref();
    result.is_some_and(|result| block.source.tool_call_id.as_ref() == Some(&result.call_id))
}

fn read<T: serde::de::DeserializeOwned>(content: &Value) -> Result<T> {
    serde_json::from_value(content.clone()).map_err(|error| {
        let what = format!("a content of a call of a model cannot be read: {error}");
        Error::new(ErrorCode::Corrupt, what)
    })
}
