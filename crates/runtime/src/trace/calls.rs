//! Manifests of calls of models and their contents in the log of a trace: entries of their own beside its rows, so that they can be
//! staged with whatever the turn stores next (decision 0050).

use super::{Trace, TraceEvent};
use crate::error::Result;
use crate::json_length::json_length;
use crate::manifest::{BlockContent, ModelCallEnd, ModelCallManifest};
use crate::stream;
use ambit_storage::address::LogKey;
use ambit_storage::batch::NewEntry;
use ambit_storage::driver::{Driver, LogRange};
use ambit_storage::json::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Entries read at a time.
const PAGE: usize = 256;
/// Bytes that a content or a manifest has around it.
const ENVELOPE: usize = 100;
/// What the names of entries begin with.
const CALL: &str = "call.";

impl Trace {
    /// Tells that a call has begun, behind its node. The entry with its manifest may be stored before the row of either.
    pub(crate) fn begin_call(&self, call_id: &str, node_id: &str) {
        self.emit(|_, at| {
            vec![TraceEvent::Call {
                call_id: call_id.to_owned(),
                node_id: node_id.to_owned(),
                at,
            }]
        });
    }
}

/// What the log has of calls. Clients get manifests and contents from routes of their own.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum StoredCallEvent {
    /// The request of a call was encoded.
    Call {
        call_id: String,
        node_id: String,
        at: i64,
        /// As `ModelCallManifest::pack` makes it.
        manifest: String,
    },
    /// A call has ended.
    CallEnd {
        call_id: String,
        end: Box<ModelCallEnd>,
    },
    /// What a block or a tool says that is no stored message.
    Content { hash: String, content: Value },
    /// The trace has ended.
    Complete {},
}

/// The events of calls in an entry of the log, which is one event or a list.
pub(crate) fn stored_call_events(text: &str) -> Vec<StoredCallEvent> {
    let list: Vec<Value> = match serde_json::from_str(text) {
        Ok(Value::Array(list)) => list,
        Ok(one) => vec![one],
        Err(_) => Vec::new(),
    };
    let read = |event| serde_json::from_value(event).ok();
    list.into_iter().filter_map(read).collect()
}

/// A manifest and the contents that its call is the first to have, as entries of this log of up to `most` bytes: one, where that has
/// room for all. Contents that are longer are left out.
pub(crate) fn call_entries(
    log: &LogKey,
    call: &ModelCallManifest,
    contents: Vec<BlockContent>,
    most: usize,
) -> Result<Vec<NewEntry>> {
    let manifest = StoredCallEvent::Call {
        call_id: call.call_id.clone(),
        node_id: call.node_id.clone(),
        at: call.at,
        manifest: call.pack()?,
    };
    let length = json_length(&manifest);
    let sized = contents.into_iter().map(|content| {
        let (hash, length) = (content.hash, content.bytes);
        let content = content.content;
        (StoredCallEvent::Content { hash, content }, length)
    });
    let mut parts: Vec<Vec<StoredCallEvent>> = Vec::new();
    let mut room = 0;
    for (event, length) in sized.chain([(manifest, length)]) {
        let bytes = length + ENVELOPE;
        if bytes > most {
            if let StoredCallEvent::Call { call_id, .. } = &event {
                tracing::warn!(
                    call.id = %call_id,
                    "the manifest of a call of a model has {bytes} bytes, and the store takes {most}: of what the call was made is not kept"
                );
            }
            continue;
        }
        if bytes > room {
            parts.push(Vec::new());
            room = most;
        }
        room -= bytes;
        if let Some(part) = parts.last_mut() {
            part.push(event);
        }
    }
    let numbered = parts.iter().enumerate();
    let entries = numbered.map(|(n, part)| -> Result<NewEntry> {
        let id = stream::beside_id(log, &format!("{CALL}{:06}.{n}", call.index));
        let body = Json::of(part)?;
        Ok(NewEntry { id, body })
    });
    entries.collect()
}

/// What came of a call, as an entry of the log of a trace that has ended: it gets no more rows.
pub(crate) fn call_end_entry(
    log: &LogKey,
    index: u64,
    call_id: &str,
    end: ModelCallEnd,
) -> Result<NewEntry> {
    let event = StoredCallEvent::CallEnd {
        call_id: call_id.to_owned(),
        end: Box::new(end),
    };
    let id = stream::beside_id(log, &format!("{CALL}{index:06}.end"));
    let body = Json::of(&[event])?;
    Ok(NewEntry { id, body })
}

/// What a log has of calls.
#[derive(Default)]
pub(crate) struct StoredCalls {
    /// How many have numbers, by their manifests.
    pub count: u64,
    /// The contents that are kept.
    pub contents: Vec<BlockContent>,
}

impl StoredCalls {
    /// Of this log.
    pub async fn read(driver: &dyn Driver, log: &LogKey) -> Result<Self> {
        let (mut from, mut stored) = (1, Self::default());
        loop {
            let page = driver.read(log, LogRange::from(from, PAGE)).await?;
            let Some(last) = page.entries.last() else {
                return Ok(stored);
            };
            from = last.seq + 1;
            for entry in &page.entries {
                let name = stream::beside_name(log, &entry.id);
                let number = name.and_then(|name| name.strip_prefix(CALL)?.split('.').next());
                let number = number.and_then(|number| number.parse::<u64>().ok());
                if let Some(number) = number {
                    stored.count = stored.count.max(number + 1);
                    stored.add(entry.body.as_str());
                }
            }
        }
    }

    fn add(&mut self, text: &str) {
        for event in stored_call_events(text) {
            if let StoredCallEvent::Content { hash, content } = event {
                let bytes = content.to_string().len();
                self.contents.push(BlockContent {
                    hash,
                    content,
                    bytes,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{BlockKind, BlockSource, ChatMessage, DroppedParts};
    use crate::manifest::{ManifestBlock, ManifestTool, MemoryRead};
    use ambit_storage::address::Space;
    use serde_json::json;

    fn hash(n: usize) -> String {
        BlockContent::of_message(&ChatMessage::user(format!("message {n}"))).hash
    }

    fn block(n: usize) -> ManifestBlock {
        let name = BlockContent::of_message(&ChatMessage::user(format!("id {n}"))).hash;
        ManifestBlock {
            n,
            role: "assistant".to_owned(),
            kind: BlockKind::History,
            source: BlockSource {
                message_id: Some(format!("01kb4c6v1{name}")),
                ..BlockSource::default()
            },
            via: None,
            bytes: 100 + n,
            tokens: 25,
            hash: hash(n),
            cut: Vec::new(),
            count: None,
        }
    }

    fn manifest(blocks: usize, tools: usize) -> ModelCallManifest {
        let tools = (0..tools).map(|n| ManifestTool {
            n,
            name: format!("shop__find_things_{n}"),
            server: Some("agents.shop.help.shop".to_owned()),
            tool: Some(format!("find_things_{n}")),
            bytes: 800 + n,
            tokens: 190,
            hash: hash(1_000 + n),
        });
        let mut manifest = ModelCallManifest {
            call_id: "01kb4c6v1m00000000000000.call-0".to_owned(),
            blocks: (0..blocks).map(block).collect(),
            tools: tools.collect(),
            ..filled()
        };
        manifest.fit();
        manifest
    }

    /// All that a call has beside its blocks and tools.
    fn filled() -> ModelCallManifest {
        let value = |layer: &str, value: Value| json!({"value": value, "layer": layer});
        let settings = json!({
            "connector": value("package", "main".into()),
            "mode": value("request", "chat".into()),
            "preset": value("create", "chat.friendly".into()),
            "servers": value("package", json!(["agents.shop.help.shop"])),
            "uses": value("package", json!({"vision": "eyes"})),
            "locale": value("request", "en-us".into()),
        });
        let options = json!({
            "temperature": {"value": 0.2, "layer": "create", "over": {"connector": 1, "package": 0.7}},
            "max_tokens": value("provider", 4_096.into()),
            "stream": value("provider", true.into()),
            "stream_options": value("provider", json!({"include_usage": true})),
        });
        let dropped = (0..8).map(|n| DroppedParts {
            first: Some(hash(2_000 + n)),
            last: Some(hash(3_000 + n)),
            ..DroppedParts::messages(BlockKind::History, "not_for_model", Some(1))
        });
        let reads = (0..50).map(|n| MemoryRead {
            node_id: "n2".to_owned(),
            space: "user".to_owned(),
            key: format!("key {n}"),
        });
        ModelCallManifest {
            settings: serde_json::from_value(settings).unwrap(),
            options: serde_json::from_value(options).unwrap(),
            dropped: dropped.collect(),
            reads: reads.collect(),
            ..ModelCallManifest::default()
        }
    }

    fn stored(manifest: &ModelCallManifest) -> String {
        let log = Space::turns().log("turn/r/trace");
        let entries = call_entries(&log, manifest, Vec::new(), 1 << 20).unwrap();
        let [entry] = &entries[..] else {
            panic!("{entries:?}");
        };
        entry.body.as_str().to_owned()
    }

    #[test]
    fn g191_a_manifest_keeps_its_size_and_is_read_as_it_was() {
        for (blocks, tools, most) in [(1, 0, 2 << 10), (24, 16, 4 << 10), (5_000, 16, 64 << 10)] {
            let manifest = manifest(blocks, tools);
            let text = stored(&manifest);
            assert!(text.len() <= most, "{blocks} blocks: {} bytes", text.len());
            let events = stored_call_events(&text);
            let [
                StoredCallEvent::Call {
                    manifest: found, ..
                },
            ] = &events[..]
            else {
                panic!("{text}");
            };
            assert_eq!(ModelCallManifest::unpack(found), Some(manifest));
        }
    }

    #[test]
    fn the_oldest_messages_are_one_block_where_there_are_many() {
        let manifest = manifest(5_000, 0);
        let count = manifest.blocks[0].count.unwrap();
        assert_eq!(manifest.blocks.len() + count, 5_001);
        assert_eq!(manifest.blocks[1].n, count);
        assert!(!manifest.is_whole());
        let tokens: u64 = manifest.blocks.iter().map(|block| block.tokens).sum();
        assert_eq!(tokens, 25 * 5_000);
    }

    #[test]
    fn g191_a_long_turn_keeps_the_size_too_and_its_newest_message() {
        let kinds = [BlockKind::Prompt, BlockKind::History];
        let kinds = kinds.into_iter().chain([BlockKind::Reference]);
        let round = [BlockKind::Answer, BlockKind::ToolResult];
        let kinds = kinds.chain(round.into_iter().cycle().take(5_000));
        let blocks = kinds.enumerate();
        let mut manifest = ModelCallManifest {
            blocks: blocks
                .map(|(n, kind)| ManifestBlock { kind, ..block(n) })
                .collect(),
            ..ModelCallManifest::default()
        };
        manifest.fit();
        let length = serde_json::to_string(&manifest).unwrap().len();
        assert!(length <= 64 << 10, "{length}");
        let counts: Vec<usize> = manifest
            .blocks
            .iter()
            .map(|block| block.count.unwrap_or(1))
            .collect();
        assert_eq!(counts.iter().sum::<usize>(), 5_003);
        assert_eq!((counts[0], counts.last()), (1, Some(&1)));
    }

    #[test]
    fn contents_that_no_entry_could_hold_are_left_out() {
        let log = Space::turns().log("turn/r/trace");
        let content =
            |length: usize| BlockContent::of_message(&ChatMessage::user("x".repeat(length)));
        let contents = vec![content(300), content(2_000), content(301), content(302)];
        let entries = call_entries(&log, &ModelCallManifest::default(), contents, 1_500).unwrap();
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["call.000000.0.beside", "call.000000.1.beside"]);
        assert!(
            entries
                .iter()
                .all(|entry| entry.body.as_str().len() <= 1_500)
        );
        let kept = entries
            .iter()
            .map(|entry| stored_call_events(entry.body.as_str()).len());
        assert_eq!(kept.sum::<usize>(), 4);
    }
}
