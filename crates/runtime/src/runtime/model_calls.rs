//! Requests to models, made anew from what is known of them.

use super::Runtime;
use super::request_places::{self, RequestPlace};
use crate::access::Authorized;
use crate::error::Result;
use crate::inspect::calls::{self, RestoredCall};
use crate::llm::{Connector, EncodedCall};
use crate::manifest::{self, ModelCallManifest};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A request to a model, encoded again.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RenderedRequest {
    /// The body. What the connector's `extra_body` adds to it is `"***"`.
    pub body: Value,
    /// SHA-256 of the bytes that were encoded again, in hexadecimal digits.
    pub sha256: String,
    /// Whether these are the bytes that were sent.
    pub exact: bool,
    /// Why they are not.
    pub reason: Option<String>,
    /// The blocks of which the contents are gone.
    pub missing: Vec<usize>,
    /// The tools of which the definitions are gone.
    pub missing_tools: Vec<usize>,
    /// Where the blocks and tools that are there are in the body.
    pub places: Vec<RequestPlace>,
    /// The fields of the body that are not shown.
    pub hidden: Vec<String>,
}

impl Runtime {
    /// Encodes the request of a call again, by the blocks, tools and options of its manifest and nothing else.
    pub async fn model_call_request(
        &self,
        who: &Authorized,
        call_id: &str,
    ) -> Result<RenderedRequest> {
        let ambit = self.contexts(who);
        let mut calls = calls::of_call(&ambit, who, call_id).await?;
        calls.read_messages(&ambit, who, call_id, None).await?;
        let manifest = calls.find(call_id)?;
        let restored = calls.restore(manifest)?;
        let connector = self.app().connector(&manifest.connector)?;
        let provider = self.0.models.open(&connector)?;
        let encoded = provider.encode(&restored.call)?;
        let sha256 = manifest::sha256(&encoded.bytes);
        let exact = manifest.body.sha256 == sha256;
        let reason = (!exact).then(|| why_not(&restored, manifest, encoded.encoder));
        let (body, hidden) = shown(&encoded, &connector);
        let (blocks, tools) = restored.numbers(manifest);
        let places = request_places::places(&*provider, &restored.call, &blocks, &tools)?;
        Ok(RenderedRequest {
            body,
            sha256,
            exact,
            reason,
            missing: restored.missing_blocks,
            missing_tools: restored.missing_tools,
            places,
            hidden,
        })
    }
}

/// The body as it is shown, and what is hidden in it.
fn shown(encoded: &EncodedCall<'_>, connector: &Connector) -> (Value, Vec<String>) {
    let mut body: Value = serde_json::from_slice(&encoded.bytes).unwrap_or_default();
    let mut hidden = Vec::new();
    for name in connector.options.provider.extra_body.keys() {
        if let Some(value) = body.get_mut(name) {
            *value = "***".into();
            hidden.push(name.clone());
        }
    }
    (body, hidden)
}

fn why_not(restored: &RestoredCall, manifest: &ModelCallManifest, encoder: &str) -> String {
    let has_parts = restored.missing_blocks.is_empty() && restored.missing_tools.is_empty();
    let is_complete = has_parts && restored.missing_options.is_empty();
    let why = match (is_complete, manifest.is_whole()) {
        (_, false) => "the oldest messages are one block, because there were many",
        (false, true) => "contents are gone",
        _ if manifest.body.encoder != encoder => "the encoder has another version",
        _ => "the connector has changed since",
    };
    why.to_owned()
}
