//! A turn's log as the chunks of a UI message stream.

use super::chunk::{FinishReason, PartChunk, UiMessageChunk};
use super::props::content;
use super::shown_message::{ShownMessage, StateChange};
use super::ui_message::UiMetadata;
use crate::format::FormatOptions;
use crate::format::failure;
use crate::format::frames::{take, text};
use ambit_runtime::Frame;
use ambit_runtime::frame::{DeltaAction, OutputMessages};
use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// What one reader has of a turn.
#[derive(Default)]
pub struct ChunkStream {
    request_id: String,
    /// The client knows the keys of version 7.
    is_version_7: bool,
    state: OutputMessages,
    shown: IndexMap<String, ShownMessage>,
    sources: HashSet<String>,
    is_in_step: bool,
    finish_reason: String,
}

impl ChunkStream {
    pub fn new(options: &FormatOptions) -> Self {
        Self {
            request_id: options.request_id.clone(),
            is_version_7: options.is_ai_sdk_7,
            ..Self::default()
        }
    }

    /// What comes of a frame.
    pub fn read(&mut self, frame: &Frame) -> Vec<PartChunk> {
        if let (Some(name), Some(data)) = (frame.event_name(), frame.event_data()) {
            return self.event(name, data, frame);
        }
        let Some(id) = &frame.message_id else {
            return Vec::new();
        };
        let is_append = frame.delta
            && frame
                .delta_action
                .is_none_or(|action| action == DeltaAction::Append);
        let before = self.state.get(id).filter(|_| !is_append);
        let before = before.map(|message| content(message).to_owned());
        take(&mut self.state, frame);
        let Some(message) = self.state.get(id) else {
            return Vec::new();
        };
        let change = match is_append {
            true => StateChange::Append,
            false => StateChange::Any {
                keeps_text: before.is_none_or(|before| content(message).starts_with(&before)),
            },
        };
        let begin = || ShownMessage::begin(&self.request_id, message, None);
        let shown = self.shown.entry(id.clone()).or_insert_with(begin);
        shown.changed(message, change)
    }

    fn event(&mut self, name: &str, data: &Map<String, Value>, frame: &Frame) -> Vec<PartChunk> {
        let was_amended = data.get("amend") == Some(&Value::Bool(true));
        take(&mut self.state, frame);
        match name {
            "stream_start" => vec![self.start(data).into()],
            "stream_end" => self.finish(data, frame),
            "step_start" if frame.thread_id.is_none() => {
                let mut out = self.end_step();
                self.is_in_step = true;
                out.push(UiMessageChunk::StartStep.into());
                out
            }
            "step_end" => {
                self.finish_reason = text(data, "finish_reason").unwrap_or_default();
                match frame.thread_id {
                    None => self.end_step(),
                    Some(_) => Vec::new(),
                }
            }
            "message_start" if !was_amended => self.begin(data),
            "message_end" => self.end(data),
            "references" => self.sources(data),
            _ => Vec::new(),
        }
    }

    fn begin(&mut self, data: &Map<String, Value>) -> Vec<PartChunk> {
        let id = text(data, "message_id").unwrap_or_default();
        let Some(message) = self.state.get(&id) else {
            return Vec::new();
        };
        let call = data.get("tool_call");
        let begun = ShownMessage::begin(&self.request_id, message, call);
        self.shown.insert(id.clone(), begun);
        let shown = self.shown.get_mut(&id);
        shown.map_or_else(Vec::new, ShownMessage::opened)
    }

    fn end(&mut self, data: &Map<String, Value>) -> Vec<PartChunk> {
        let id = text(data, "message_id").unwrap_or_default();
        match (self.state.get(&id), self.shown.get_mut(&id)) {
            (Some(message), Some(shown)) => shown.ended(message),
            _ => Vec::new(),
        }
    }

    /// Ends the texts that go on, and the step.
    fn end_step(&mut self) -> Vec<PartChunk> {
        let mut out = Vec::new();
        if std::mem::take(&mut self.is_in_step) {
            for shown in self.shown.values_mut() {
                shown.pause(&mut out);
            }
            out.push(UiMessageChunk::FinishStep.into());
        }
        out
    }

    fn finish(&mut self, data: &Map<String, Value>, frame: &Frame) -> Vec<PartChunk> {
        let mut out = self.end_step();
        let finish = |finish_reason, message_metadata| UiMessageChunk::Finish {
            finish_reason,
            message_metadata,
        };
        if let Some(error) = failure::of_end(frame) {
            let error_text = error.message;
            out.push(UiMessageChunk::Error { error_text }.into());
            out.push(finish(FinishReason::Error, None).into());
        } else if data.get("status").is_some_and(|it| it == "cancelled") {
            let reason = self.is_version_7.then(|| "cancelled".to_owned());
            out.push(UiMessageChunk::Abort { reason }.into());
        } else {
            let reason = FinishReason::of_model(&self.finish_reason);
            let known = ["usage", "next"].into_iter();
            let known = known.filter_map(|name| Some((name, data.get(name)?)));
            let known = known.filter(|(_, value)| !value.is_null());
            let known = known.map(|(name, value)| (name.to_owned(), value.clone()));
            let metadata: UiMetadata = known.collect();
            out.push(finish(reason, Some(metadata)).into());
        }
        out
    }

    /// The references that were not told yet.
    fn sources(&mut self, data: &Map<String, Value>) -> Vec<PartChunk> {
        let references = data.get("references").and_then(Value::as_array);
        let mut out = Vec::new();
        for reference in references.into_iter().flatten() {
            let text = |name: &str| reference[name].as_str().unwrap_or_default();
            let id = text("id");
            if !self.sources.insert(id.to_owned()) {
                continue;
            }
            let source_id = format!("{}.{id}", self.request_id);
            let title = Some(text("title")).filter(|title| !title.is_empty());
            let chunk = match text("url") {
                "" => UiMessageChunk::SourceDocument {
                    source_id,
                    media_type: "text/plain".to_owned(),
                    title: title.unwrap_or_else(|| text("snippet")).to_owned(),
                },
                url => UiMessageChunk::SourceUrl {
                    source_id,
                    url: url.to_owned(),
                    title: title.map(str::to_owned),
                },
            };
            out.push(chunk.into());
        }
        out
    }

    /// The beginning of a message, or of what continues it.
    fn start(&self, data: &Map<String, Value>) -> UiMessageChunk {
        let own = ["chat_id", "request_id", "context_id", "trace_id"].into_iter();
        let own = own.filter_map(|name| Some((name.to_owned(), data.get(name)?.clone())));
        let mut metadata: UiMetadata = own.collect();
        let assistant = data.get("assistant");
        let assistant = assistant.and_then(|it| it.get("assistant_id")).cloned();
        metadata.extend(assistant.map(|id| ("assistant_id".to_owned(), id)));
        let first = text(data, "continues");
        UiMessageChunk::Start {
            message_id: first.unwrap_or_else(|| self.request_id.clone()),
            message_metadata: metadata,
        }
    }
}
