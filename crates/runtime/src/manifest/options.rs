//! The options of a call in its manifest: what was sent, who has said it, and what that has overruled.

use super::{BlockContent, HASH};
use crate::chat::{DroppedParts, GenerationOptions, LayeredValue, LayeredValues, OptionLayer};
use crate::json_length::json_length;
use crate::llm::connector::ThinkingOptions;
use crate::llm::{self, Connector, EncodedCall};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The limit of an answer, as all protocols but the newer one of OpenAI call it.
const LIMIT: &str = "max_tokens";
/// The same in OpenAI's newer one.
const NEWER_LIMIT: &str = "max_completion_tokens";

/// Bytes that a setting or an option may have in a manifest; what is longer is a content of its own.
const LONG: usize = 1 << 10;
/// Bytes that all options may have in a manifest; those beyond it are one content.
const ALL: usize = 16 << 10;
/// What stands for the options that are one content. An option with this name is always among them.
const REST: &str = "*";

/// The options of a call with who has said them. What is not as it was said was changed by a listener.
pub fn layered_options(sent: &GenerationOptions, said: &LayeredValues) -> LayeredValues {
    let sent = Map::from(sent.clone()).into_iter();
    let layered = sent.map(|(name, value)| {
        let option = match said.get(&name) {
            Some(said) if said.value == value => said.clone(),
            Some(said) => {
                let mut option = said.clone();
                option.overrule(OptionLayer::Listener, value);
                option
            }
            None => LayeredValue::new(OptionLayer::Listener, value),
        };
        (name, option)
    });
    layered.collect()
}

/// The options that the encoder does not send.
pub(crate) fn unknown_options(
    sent: &GenerationOptions,
    connector: &Connector,
) -> Vec<DroppedParts> {
    let names = Map::from(sent.clone()).into_iter().map(|(name, _)| name);
    let unknown = names.filter(|name| !llm::sends_option(connector, name));
    let unknown =
        unknown.map(|name| DroppedParts::option(&name, &format!("unknown_option:{name}")));
    unknown.collect()
}

/// The same with what the connector says and what the encoder adds, of which none is part of the call, and without what is not sent.
pub(crate) fn sent_options(
    encoded: &EncodedCall<'_>,
    connector: &Connector,
    said: &LayeredValues,
) -> LayeredValues {
    let sent = &encoded.call.options;
    let mut options = layered_options(sent, said);
    options.retain(|name, _| llm::sends_option(connector, name));
    let limit = match sent.max_completion_tokens {
        Some(_) => NEWER_LIMIT,
        None => LIMIT,
    };
    let configured = configured(connector, limit);
    let has_limit = sent.limit().is_some() || configured.iter().any(|(name, _)| *name == limit);
    let added = encoded.added.iter().cloned();
    let added = added.filter(|(name, _)| *name != LIMIT || !has_limit);
    let configured = configured.into_iter();
    let below = configured.map(|(name, value)| (OptionLayer::Connector, name, value));
    let added = added.map(|(name, value)| (OptionLayer::Provider, name, value));
    for (layer, name, value) in below.chain(added) {
        match options.get_mut(name) {
            Some(option) => {
                option.over.insert(layer, value);
            }
            None => {
                options.insert(name.to_owned(), LayeredValue::new(layer, value));
            }
        }
    }
    options
}

/// What a connector says of how answers are generated.
fn configured(connector: &Connector, limit: &'static str) -> Vec<(&'static str, Value)> {
    let options = &connector.options.provider;
    if connector.kind == "scripted" {
        return Vec::new();
    }
    let temperature = options.temperature.as_ref();
    let thinking = options.thinking.as_ref();
    let configured = [
        (
            "temperature",
            temperature.map(|it| Value::Number(it.0.clone())),
        ),
        ("thinking", thinking.map(ThinkingOptions::to_json)),
        (limit, options.max_tokens.map(Value::from)),
    ];
    let configured = configured.into_iter();
    configured
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// Leaves of each long value its length and its hash, and returns them as contents. A value that looks like that goes too.
pub(super) fn take_long<'a>(
    values: impl Iterator<Item = &'a mut LayeredValue>,
) -> Vec<BlockContent> {
    let mut taken = Vec::new();
    for LayeredValue { value, over, .. } in values {
        for value in over.values_mut().chain([value]) {
            if json_length(value) > LONG || reference(value).is_some() {
                let content = BlockContent::of(value.take());
                *value = named(&content);
                taken.push(content);
            }
        }
    }
    taken
}

/// Leaves the first options as far as there is room, and returns the others as one content: encoders write them in their order.
pub(super) fn take_rest(options: &mut LayeredValues) -> Option<BlockContent> {
    let mut room = ALL;
    let first = options.iter().take_while(|(name, option)| {
        let bytes = json_length(name) + json_length(option);
        let fits = name.as_str() != REST && bytes <= room;
        room = room.saturating_sub(bytes);
        fits
    });
    let first = first.count();
    let rest = options.split_off(first);
    if rest.is_empty() {
        return None;
    }
    let content = BlockContent::of(serde_json::to_value(&rest).unwrap_or_default());
    // The layers are those in the content; of this one it has to be told as what goes to the encoder.
    let option = LayeredValue::new(OptionLayer::Listener, named(&content));
    options.insert(REST.to_owned(), option);
    Some(content)
}

/// Puts back what `take_rest` has taken; returns what stood for it where the content is not there.
pub(super) fn put_rest_back(
    options: &mut LayeredValues,
    contents: &HashMap<String, Value>,
) -> Option<String> {
    let rest = options.shift_remove(REST)?;
    let content = reference(&rest.value).and_then(|hash| contents.get(hash));
    let known = content.map(|content| serde_json::from_value::<LayeredValues>(content.clone()));
    let Some(Ok(known)) = known else {
        return Some(REST.to_owned());
    };
    options.extend(known);
    None
}

/// What stands for a content.
fn named(content: &BlockContent) -> Value {
    json!({"bytes": content.bytes, "hash": content.hash})
}

/// The hash of the content that a value stands for, if it does.
pub(super) fn reference(value: &Value) -> Option<&str> {
    let fields = value.as_object().filter(|fields| fields.len() == 2)?;
    fields.get("bytes")?.as_u64()?;
    let hash = fields.get("hash")?.as_str()?;
    (hash.len() == (HASH * 8).div_ceil(6)).then_some(hash)
}

/// The values by their lengths and hashes where they may be words.
pub(super) fn without_texts<'a>(values: impl Iterator<Item = &'a mut LayeredValue>) {
    for LayeredValue { value, over, .. } in values {
        for value in over.values_mut().chain([value]) {
            let may_be_words = value.is_string() || value.is_array() || value.is_object();
            if may_be_words && reference(value).is_none() {
                *value = named(&BlockContent::of(value.take()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ModelCall;
    use crate::config::ExactNumber;
    use crate::manifest::{MOST, ModelCallManifest};

    #[test]
    fn an_option_is_told_with_all_that_it_has_overruled() {
        let mut connector = Connector {
            kind: "openai".to_owned(),
            ..Connector::default()
        };
        connector.options.provider.temperature = Some(ExactNumber(1.into()));
        let said = json!({
            "temperature": {"value": 0.2, "layer": "create", "over": {"package": 0.7}},
            "seed": {"value": 1, "layer": "request"},
        });
        let said: LayeredValues = serde_json::from_value(said).unwrap();
        let options = json!({"temperature": 0.2, "seed": 2, "user": "ann"});
        let call = ModelCall {
            options: serde_json::from_value(options).unwrap(),
            ..ModelCall::default()
        };
        let encoded = EncodedCall {
            call: &call,
            bytes: "{}".into(),
            encoder: "openai/1",
            added: vec![("stream", true.into()), (LIMIT, 4_096.into())],
        };
        let expected = json!({
            "temperature": {"value": 0.2, "layer": "create", "over": {"connector": 1, "package": 0.7}},
            "seed": {"value": 2, "layer": "listener", "over": {"request": 1}},
            "user": {"value": "ann", "layer": "listener"},
            "stream": {"value": true, "layer": "provider"},
            "max_tokens": {"value": 4096, "layer": "provider"},
        });
        let options = sent_options(&encoded, &connector, &said);
        assert_eq!(json!(options), expected);
        // What the connector says takes the place of the encoder's.
        connector.options.provider.max_tokens = Some(100);
        let options = sent_options(&encoded, &connector, &said);
        let expected = LayeredValue::new(OptionLayer::Connector, 100.into());
        assert_eq!(options[LIMIT], expected);
    }

    #[test]
    fn a_long_option_is_a_content_and_comes_back() {
        let schema = json!({"type": "object", "description": "x".repeat(4 << 20)});
        let schema = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
        let mut option = LayeredValue::new(OptionLayer::Package, schema.clone());
        option.overrule(OptionLayer::Request, schema.clone());
        let seed = LayeredValue::new(OptionLayer::Request, 1.into());
        let mut manifest = ModelCallManifest {
            options: [("response_format", option), ("seed", seed)]
                .map(|(name, option)| (name.to_owned(), option))
                .into(),
            ..ModelCallManifest::default()
        };
        let taken = manifest.take_long_values();
        assert_eq!(taken.len(), 2);
        assert!(json_length(&manifest) < 2 << 10);
        let (_, missing) = manifest.restored_options(&HashMap::new());
        assert_eq!(missing, ["response_format"]);
        let contents = taken.into_iter().map(|it| (it.hash, it.content));
        let (options, missing) = manifest.restored_options(&contents.collect());
        assert!(missing.is_empty());
        assert_eq!(Map::from(options)["response_format"], schema);
        let shown = manifest.clone().without_texts();
        assert_eq!(shown, manifest);
    }

    #[test]
    fn very_many_options_are_one_content_and_come_back() {
        let value = Value::from("x".repeat(900));
        let many = (0..1_000).map(|at| (format!("option_{at:04}"), value.clone()));
        let many: Map<String, Value> = many.chain([(REST.to_owned(), 1.into())]).collect();
        let options = many.clone().into_iter();
        let options =
            options.map(|(name, value)| (name, LayeredValue::new(OptionLayer::Request, value)));
        let mut manifest = ModelCallManifest {
            options: options.collect(),
            ..ModelCallManifest::default()
        };
        let taken = manifest.take_long_values();
        assert!(
            json_length(&manifest) < MOST / 2,
            "{}",
            json_length(&manifest)
        );
        assert_eq!(taken.len(), 1);
        assert!(manifest.options.contains_key("option_0000"));
        let (_, missing) = manifest.restored_options(&HashMap::new());
        assert_eq!(missing, [REST]);
        let contents = taken.into_iter().map(|it| (it.hash, it.content));
        let (restored, missing) = manifest.restored_options(&contents.collect());
        assert!(missing.is_empty());
        let restored = Map::from(restored);
        assert!(restored.iter().eq(&many), "their order is another");
    }

    #[test]
    fn what_was_searched_for_is_named_by_its_hash() {
        let mut block = json!({"n": 0, "role": "system", "kind": "reference", "bytes": 1, "tokens": 1, "hash": "h"});
        block["source"] = json!({"query": "a cat"});
        block["cut"] = json!([]);
        let manifest = ModelCallManifest {
            blocks: vec![serde_json::from_value(block).unwrap()],
            ..ModelCallManifest::default()
        };
        let shown = manifest.without_texts();
        let query = shown.blocks[0].source.query.as_deref().unwrap();
        assert_eq!((query.len(), query.contains("cat")), (22, false));
    }
}
