//! The manifest of a call of a model: of which blocks, tools and options its request was made, where each comes from, and what
//! came of the call. It holds no content: contents are known by their hashes, and the trace's log has those that are no stored
//! messages beside it.

mod end;
mod options;

pub use end::{CallAttempt, ModelCallEnd, ModelCallStatus};
pub(crate) use end::{attempts, call_id, request_of};
pub use options::layered_options;
pub(crate) use options::{sent_options, unknown_options};

use crate::chat::{
    BlockCut, BlockKind, BlockSource, BlockVia, ChatMessage, DroppedParts, GenerationOptions,
    LayeredValue, LayeredValues, OptionLayer, ToolDefinition,
};
use crate::error::Result;
use crate::json_length::json_length;
use crate::llm::TokenUsage;
use ambit_storage::json::Json;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use utoipa::ToSchema;

/// Bytes of a hash: the first 128 bits of SHA-256.
const HASH: usize = 16;
/// Bytes that a manifest may have as JSON; tools may take more.
const MOST: usize = 64 << 10;
/// Bytes that a manifest may have before it is packed.
const PLAIN: usize = 2 << 10;
/// Bytes that a manifest is unpacked to at most; many tools are never left out.
const UNPACKED: usize = 16 << 20;
/// The usual level of deflate, of 10.
const LEVEL: u8 = 6;

/// What is known of a call of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelCallManifest {
    /// `<request_id>.call-<n>`.
    pub call_id: String,
    /// The turn.
    pub request_id: String,
    /// Its trace.
    pub trace_id: String,
    /// The node of the trace.
    pub node_id: String,
    /// Which call of the turn, from 0.
    pub index: u64,
    /// The agent.
    pub agent: String,
    /// The thread that shows it.
    pub thread_id: Option<String>,
    /// When its request was encoded, in milliseconds since 1970.
    pub at: i64,
    /// The connector.
    pub connector: String,
    /// The kind of connector.
    pub provider: String,
    /// The model that was asked for.
    pub model: String,
    /// What came of it. The log says it apart, once it is known.
    #[serde(flatten)]
    pub end: ModelCallEnd,
    /// Estimated tokens of the request.
    pub tokens: CallTokens,
    /// Who has said what of `connector`, `mode`, `preset`, `servers`, `uses`, `search` and `locale`.
    #[schema(value_type = std::collections::BTreeMap<String, LayeredValue>)]
    pub settings: LayeredValues,
    /// The options by name, those of the connector and of its encoder too.
    #[schema(value_type = std::collections::BTreeMap<String, LayeredValue>)]
    pub options: LayeredValues,
    /// The messages, in the order in which the encoder gets them.
    pub blocks: Vec<ManifestBlock>,
    /// The tools.
    pub tools: Vec<ManifestTool>,
    /// What would have been part of the call.
    pub dropped: Vec<DroppedParts>,
    /// The values of memory that scripts of the turn had read before, 50 at most. Nothing says that they made a difference.
    pub reads: Vec<MemoryRead>,
    /// The request that was sent.
    pub body: ManifestBody,
}

/// Tokens of a request, about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallTokens {
    /// Of messages and tools, as truncation estimates them.
    pub estimated: u64,
    /// What the model takes, if its connector says it.
    pub window: Option<u64>,
    /// What of that is kept for the answer.
    pub reserve: Option<u64>,
}

/// A message of the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ManifestBlock {
    /// Which block, from 0.
    pub n: usize,
    /// The role that it has for the model.
    pub role: String,
    /// What it is.
    pub kind: BlockKind,
    /// What it was made of.
    pub source: BlockSource,
    /// `create` or `listener` where one of them has handed it on unchanged.
    pub via: Option<BlockVia>,
    /// Bytes of it as the encoder gets it.
    pub bytes: usize,
    /// Tokens, as truncation estimates them.
    pub tokens: u64,
    /// The hash of it as the encoder gets it.
    pub hash: String,
    /// What was taken out of it before.
    pub cut: Vec<BlockCut>,
    /// How many messages it stands for, where that is more than one; the hash is that of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
}

/// A tool of the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ManifestTool {
    /// Which tool, from 0.
    pub n: usize,
    /// What the model calls it.
    pub name: String,
    /// The server, as the agent names it; none of a tool that the client or a script brings along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What the server calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Bytes of its definition as the encoder gets it.
    pub bytes: usize,
    /// Tokens, as truncation estimates them.
    pub tokens: u64,
    /// The hash of its definition as the encoder gets it.
    pub hash: String,
}

/// A value of memory that a script has read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryRead {
    /// The node of the hook.
    pub node_id: String,
    /// The namespace.
    pub space: String,
    /// The key.
    pub key: String,
}

/// The body of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ManifestBody {
    /// Its length.
    pub bytes: usize,
    /// SHA-256 of what was handed to the connection, in hexadecimal digits.
    pub sha256: String,
    /// What has made it, and its version.
    pub encoder: String,
}

/// A message or a tool as the encoder gets it, and its hash.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockContent {
    /// The hash.
    pub hash: String,
    /// The content as JSON.
    pub content: Value,
    /// How long that is.
    pub bytes: usize,
}

impl BlockContent {
    /// Of a message.
    pub fn of_message(message: &ChatMessage) -> Self {
        Self::of(message.to_json())
    }

    /// Of a tool.
    pub fn of_tool(tool: &ToolDefinition) -> Self {
        Self::of(tool.to_json())
    }

    fn of(content: Value) -> Self {
        let text = content.to_string();
        Self {
            hash: short_hash(text.as_bytes()),
            content,
            bytes: text.len(),
        }
    }
}

impl ManifestBody {
    /// Of the bytes that are sent.
    pub fn of(bytes: &[u8], encoder: &str) -> Self {
        Self {
            bytes: bytes.len(),
            sha256: sha256(bytes),
            encoder: encoder.to_owned(),
        }
    }
}

/// The first 128 bits of SHA-256.
pub(crate) fn short_hash(bytes: &[u8]) -> String {
    short_digest(&Sha256::digest(bytes))
}

/// The same of a SHA-256 that is known.
pub(crate) fn short_digest(digest: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(&digest[..HASH])
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    ambit_storage::address::hex(&Sha256::digest(bytes))
}

impl ManifestBlock {
    fn is_of_conversation(&self) -> bool {
        !matches!(
            self.kind,
            BlockKind::Global
                | BlockKind::Prompt
                | BlockKind::Preset
                | BlockKind::Sample
                | BlockKind::Builtin
        )
    }

    fn may_join(&self, next: &Self) -> bool {
        self.is_of_conversation() && next.is_of_conversation()
    }

    /// Stands for the next one too.
    fn join(&mut self, next: &Self) {
        self.count = Some(self.count.unwrap_or(1) + 1);
        self.bytes += next.bytes;
        self.tokens += next.tokens;
    }
}

impl ModelCallManifest {
    /// The options of the call again, without long ones. Those of its connector are added when it is encoded.
    pub fn generation_options(&self) -> GenerationOptions {
        self.restored_options(&HashMap::new()).0
    }

    /// The same with the long ones, which are among the contents, and the names of those that are not there.
    pub(crate) fn restored_options(
        &self,
        contents: &HashMap<String, Value>,
    ) -> (GenerationOptions, Vec<String>) {
        let (mut restored, mut missing) = (Map::new(), Vec::new());
        let mut options = self.options.clone();
        missing.extend(options::put_rest_back(&mut options, contents));
        let options = options.into_iter();
        for (name, option) in options.filter(|(_, it)| it.layer > OptionLayer::Connector) {
            let value = match options::reference(&option.value) {
                Some(hash) => contents.get(hash).cloned(),
                None => Some(option.value),
            };
            match value {
                Some(value) => {
                    restored.insert(name, value);
                }
                None => missing.push(name),
            }
        }
        (GenerationOptions::from(restored), missing)
    }

    /// Takes out the long settings and options, each of which is a content then, and the options for which there is no room, which are
    /// one content.
    pub(crate) fn take_long_values(&mut self) -> Vec<BlockContent> {
        let values = self.options.values_mut().chain(self.settings.values_mut());
        let mut taken = options::take_long(values);
        taken.extend(options::take_rest(&mut self.options));
        taken
    }

    /// The same for those who may not read the app: options and what is to be searched for can be from its files, so what may be words is
    /// named by its hash.
    #[must_use]
    pub fn without_texts(mut self) -> Self {
        let search = self.settings.get_mut("search").into_iter();
        options::without_texts(search.chain(self.options.values_mut()));
        let queries = self.blocks.iter_mut();
        for query in queries.filter_map(|block| block.source.query.as_mut()) {
            *query = short_hash(query.as_bytes());
        }
        self
    }

    /// As JSON, packed where it is long.
    pub fn pack(&self) -> Result<String> {
        let text = Json::of(self)?;
        let text = text.as_str();
        Ok(match text.len() <= PLAIN {
            true => text.to_owned(),
            false => URL_SAFE_NO_PAD.encode(compress_to_vec(text.as_bytes(), LEVEL)),
        })
    }

    /// What `pack` has made; none of other texts.
    pub fn unpack(text: &str) -> Option<Self> {
        if text.starts_with('{') {
            return serde_json::from_str(text).ok();
        }
        let packed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let text = decompress_to_vec_with_limit(&packed, UNPACKED).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Makes the oldest messages one, each run of neighbours, where the whole is too long. The newest message stays, and so does what
    /// comes from files. Where all else is too long in itself, which tools may be, the messages have as much room again.
    pub(crate) fn fit(&mut self) {
        let mut length = json_length(self);
        if length <= MOST {
            return;
        }
        let beside = length - json_length(&self.blocks);
        let most = if beside < MOST { MOST } else { beside + MOST };
        let last = self.blocks.len().saturating_sub(1);
        let mut fitting: Vec<ManifestBlock> = Vec::with_capacity(self.blocks.len());
        for (at, block) in std::mem::take(&mut self.blocks).into_iter().enumerate() {
            match fitting.last_mut() {
                Some(before) if length > most && at < last && before.may_join(&block) => {
                    // And a comma.
                    let apart = json_length(before) + json_length(&block) + 1;
                    before.join(&block);
                    length = length + json_length(before) - apart;
                }
                _ => fitting.push(block),
            }
        }
        self.blocks = fitting;
    }

    /// Whether each block stands for one message.
    pub(crate) fn is_whole(&self) -> bool {
        self.blocks.iter().all(|block| block.count.is_none())
    }

    /// The call in one line.
    pub fn summary(&self) -> ModelCallSummary {
        ModelCallSummary {
            call_id: self.call_id.clone(),
            node_id: self.node_id.clone(),
            index: self.index,
            agent: self.agent.clone(),
            connector: self.connector.clone(),
            model: self.model.clone(),
            status: self.end.status,
            at: self.at,
            duration_ms: self.end.duration_ms,
            tokens: self.tokens,
            usage: self.end.usage.clone(),
        }
    }
}

/// A call in one line.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ModelCallSummary {
    /// The call.
    pub call_id: String,
    /// The node of the trace.
    pub node_id: String,
    /// Which call of the turn, from 0.
    pub index: u64,
    /// The agent.
    pub agent: String,
    /// The connector.
    pub connector: String,
    /// The model that was asked for.
    pub model: String,
    /// How far it is.
    pub status: ModelCallStatus,
    /// When its request was encoded, in milliseconds since 1970.
    pub at: i64,
    /// From the call to its end.
    pub duration_ms: Option<i64>,
    /// Estimated tokens of the request.
    pub tokens: CallTokens,
    /// What it has used.
    pub usage: Option<TokenUsage>,
}
