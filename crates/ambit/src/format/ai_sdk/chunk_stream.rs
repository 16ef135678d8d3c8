//! A turn's log as the chunks of a UI message stream.

use super::chunk::{FinishReason, PartChunk, TypedChunk, UiMessageChunk};
use super::props::content;
use super::shown_message::{ShownMessage, StateChange};
use super::ui_message::{UiData, UiDocumentSource, UiMetadata, UiUrlSource};
use super::user_parts::user_parts;
use super::version::AiSdkVersion;
use crate::format::FormatOptions;
use crate::format::failure;
use crate::format::frames::{EventData, apply_or_log, text};
use ambit_runtime::chats::{InterruptMessage, USER_INPUT};
use ambit_runtime::frame::{DeltaAction, OutputMessages};
use ambit_runtime::{Frame, public_id};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;

/// What one reader has of a turn.
#[derive(Default)]
pub struct ChunkStream {
    request_id: String,
    version: AiSdkVersion,
    state: OutputMessages,
    shown: IndexMap<String, ShownMessage>,
    sources: HashSet<String>,
    /// Messages that came in meanwhile. One that is taken in anew after a crash is told twice by the log.
    steering: HashSet<String>,
    is_in_step: bool,
    /// The step goes on with another model.
    is_step_retried: bool,
    finish_reason: String,
}

impl ChunkStream {
    pub fn new(options: &FormatOptions) -> Self {
        Self {
            request_id: options.request_id.clone(),
            version: options.ai_sdk,
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
        apply_or_log(&mut self.state, frame);
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

    fn event(&mut self, name: &str, data: &EventData, frame: &Frame) -> Vec<PartChunk> {
        let was_amended = data.get("amend") == Some(&Value::Bool(true));
        apply_or_log(&mut self.state, frame);
        match name {
            "stream_start" => vec![self.start(data).into()],
            "stream_end" => self.finish(data, frame),
            "step_start" if frame.thread_id.is_none() => self.begin_step(),
            "step_end" => {
                self.finish_reason = text(data, "finish_reason").unwrap_or_default();
                match frame.thread_id {
                    None => self.step_ended(data),
                    Some(_) => Vec::new(),
                }
            }
            "interrupt" => self.interrupted(data),
            "message_start" if !was_amended => self.begin(data),
            "message_end" => self.end(data),
            "references" => self.sources(data),
            _ => Vec::new(),
        }
    }

    fn begin(&mut self, data: &EventData) -> Vec<PartChunk> {
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

    fn end(&mut self, data: &EventData) -> Vec<PartChunk> {
        let id = text(data, "message_id").unwrap_or_default();
        match (self.state.get(&id), self.shown.get_mut(&id)) {
            (Some(message), Some(shown)) => shown.ended(message),
            _ => Vec::new(),
        }
    }

    fn begin_step(&mut self) -> Vec<PartChunk> {
        if std::mem::take(&mut self.is_step_retried) {
            return vec![TypedChunk::ResetStep.into()];
        }
        let mut out = self.end_step();
        self.is_in_step = true;
        out.push(TypedChunk::StartStep.into());
        out
    }

    /// Ends the step, unless another model is asked in its place and the client can be told that.
    fn step_ended(&mut self, data: &EventData) -> Vec<PartChunk> {
        let is_retried = data.get("retried") == Some(&Value::Bool(true));
        if is_retried && self.is_in_step && self.version.has_reset_step() {
            self.is_step_retried = true;
            return Vec::new();
        }
        self.end_step()
    }

    /// The messages of an interrupt, between two steps. Logs of earlier versions do not have them.
    fn interrupted(&mut self, data: &EventData) -> Vec<PartChunk> {
        let messages = data
            .get("messages")
            .map(Vec::<InterruptMessage>::deserialize);
        let Some(Ok(mut messages)) = messages else {
            return Vec::new();
        };
        messages.retain(|message| self.steering.insert(message.message_id.clone()));
        if messages.is_empty() {
            return Vec::new();
        }
        let mut out = self.end_step();
        out.extend(
            messages
                .into_iter()
                .map(|message| self.steering_chunk(message)),
        );
        out
    }

    fn steering_chunk(&self, message: InterruptMessage) -> PartChunk {
        let id = public_id::message_id(&self.request_id, &message.message_id);
        if !self.version.has_steering_message() {
            let data = UiData {
                kind: format!("data-{USER_INPUT}"),
                id: Some(id),
                data: message.props.into(),
                transient: false,
            };
            return UiMessageChunk::Data(data).into();
        }
        let parts = match message.props.get("content") {
            Some(Value::Array(parts)) => user_parts(parts),
            Some(text @ Value::String(_)) => vec![json!({"type": "text", "text": text})],
            _ => Vec::new(),
        };
        TypedChunk::SteeringMessage { id, parts }.into()
    }

    /// Ends the texts that go on, and the step.
    fn end_step(&mut self) -> Vec<PartChunk> {
        let mut out = Vec::new();
        self.is_step_retried = false;
        if std::mem::take(&mut self.is_in_step) {
            for shown in self.shown.values_mut() {
                shown.pause(&mut out);
            }
            out.push(TypedChunk::FinishStep.into());
        }
        out
    }

    fn finish(&mut self, data: &EventData, frame: &Frame) -> Vec<PartChunk> {
        let mut out = self.end_step();
        let finish = |finish_reason, message_metadata| TypedChunk::Finish {
            finish_reason,
            message_metadata,
        };
        if let Some(error) = failure::of_end(frame) {
            let error_text = error.message;
            out.push(TypedChunk::Error { error_text }.into());
            out.push(finish(FinishReason::Error, None).into());
        } else if data.get("status").is_some_and(|it| it == "cancelled") {
            let reason = self.version.has_keys_of_7().then(|| "cancelled".to_owned());
            out.push(TypedChunk::Abort { reason }.into());
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
    fn sources(&mut self, data: &EventData) -> Vec<PartChunk> {
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
                "" => TypedChunk::SourceDocument(UiDocumentSource {
                    source_id,
                    media_type: "text/plain".to_owned(),
                    title: title.unwrap_or_else(|| text("snippet")).to_owned(),
                }),
                url => TypedChunk::SourceUrl(UiUrlSource {
                    source_id,
                    url: url.to_owned(),
                    title: title.map(str::to_owned),
                }),
            };
            out.push(chunk.into());
        }
        out
    }

    /// The beginning of a message, or of what continues it.
    fn start(&self, data: &EventData) -> TypedChunk {
        let own = ["chat_id", "request_id", "context_id", "trace_id"].into_iter();
        let own = own.filter_map(|name| Some((name.to_owned(), data.get(name)?.clone())));
        let mut metadata: UiMetadata = own.collect();
        let assistant = data.get("assistant");
        let assistant = assistant.and_then(|it| it.get("assistant_id")).cloned();
        metadata.extend(assistant.map(|id| ("assistant_id".to_owned(), id)));
        let first = text(data, "continues");
        TypedChunk::Start {
            message_id: first.unwrap_or_else(|| self.request_id.clone()),
            message_metadata: metadata,
        }
    }
}
