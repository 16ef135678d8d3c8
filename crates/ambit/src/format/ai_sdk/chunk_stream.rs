//! A turn's log as the chunks of a UI message stream.

use super::chunk::{FinishReason, PartChunk, TypedChunk, UiMessageChunk};
use super::props::content;
use super::shown_message::{ShownMessage, StateChange};
use super::ui_message::{UiData, UiDocumentSource, UiMetadata, UiUrlSource};
use super::user_parts::user_parts;
use super::version::AiSdkVersion;
use crate::format::FormatOptions;
use crate::format::failure;
use crate::format::frames::apply_or_log;
use ambit_runtime::chats::{InterruptMessage, USER_INPUT};
use ambit_runtime::frame::{
    DeltaAction, MessageStartEvent, OutputMessages, StepEndEvent, StreamEndEvent, StreamStartEvent,
    TurnEvent,
};
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
        if let Some(event) = TurnEvent::read(frame) {
            return self.event(&event);
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

    fn event(&mut self, event: &TurnEvent<'_>) -> Vec<PartChunk> {
        self.state.apply_event(event);
        match event {
            TurnEvent::StreamStart(start) => vec![self.start(start).into()],
            TurnEvent::StreamEnd(end) => self.finish(end),
            TurnEvent::StepStart {
                thread_id: None, ..
            } => self.begin_step(),
            TurnEvent::StepEnd(end) => self.step_ended(end),
            TurnEvent::Interrupt {
                messages: Some(messages),
            } => self.interrupted(messages),
            TurnEvent::MessageStart(start) if !start.is_amendment => self.begin(start),
            TurnEvent::MessageEnd { message_id, .. } => self.end(message_id),
            TurnEvent::References {
                references: Some(references),
                ..
            } => self.sources(references),
            _ => Vec::new(),
        }
    }

    fn begin(&mut self, start: &MessageStartEvent<'_>) -> Vec<PartChunk> {
        let id = start.message_id;
        let Some(message) = self.state.get(id) else {
            return Vec::new();
        };
        let begun = ShownMessage::begin(&self.request_id, message, start.tool_call);
        self.shown.insert(id.to_owned(), begun);
        let shown = self.shown.get_mut(id);
        shown.map_or_else(Vec::new, ShownMessage::opened)
    }

    fn end(&mut self, id: &str) -> Vec<PartChunk> {
        match (self.state.get(id), self.shown.get_mut(id)) {
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
    fn step_ended(&mut self, end: &StepEndEvent<'_>) -> Vec<PartChunk> {
        self.finish_reason = end.finish_reason.unwrap_or_default().to_owned();
        if end.thread_id.is_some() {
            return Vec::new();
        }
        if end.is_retried && self.is_in_step && self.version.has_reset_step() {
            self.is_step_retried = true;
            return Vec::new();
        }
        self.end_step()
    }

    /// The messages of an interrupt, between two steps.
    fn interrupted(&mut self, messages: &Value) -> Vec<PartChunk> {
        let Ok(mut messages) = Vec::<InterruptMessage>::deserialize(messages) else {
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

    fn finish(&mut self, end: &StreamEndEvent<'_>) -> Vec<PartChunk> {
        let mut out = self.end_step();
        let finish = |finish_reason, message_metadata| TypedChunk::Finish {
            finish_reason,
            message_metadata,
        };
        if let Some(error) = failure::of_end(end) {
            let error_text = error.message;
            out.push(TypedChunk::Error { error_text }.into());
            out.push(finish(FinishReason::Error, None).into());
        } else if end.is_cancelled() {
            let reason = self.version.has_keys_of_7().then(|| "cancelled".to_owned());
            out.push(TypedChunk::Abort { reason }.into());
        } else {
            let reason = FinishReason::of_model(&self.finish_reason);
            let known = [("usage", end.usage), ("next", end.next)].into_iter();
            let known = known.filter_map(|(name, value)| Some((name, value?)));
            let known = known.filter(|(_, value)| !value.is_null());
            let known = known.map(|(name, value)| (name.to_owned(), value.clone()));
            let metadata: UiMetadata = known.collect();
            out.push(finish(reason, Some(metadata)).into());
        }
        out
    }

    /// The references that were not told yet.
    fn sources(&mut self, references: &Value) -> Vec<PartChunk> {
        let mut out = Vec::new();
        for reference in references.as_array().into_iter().flatten() {
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
    fn start(&self, start: &StreamStartEvent<'_>) -> TypedChunk {
        let known = [
            ("chat_id", start.chat_id),
            ("request_id", start.request_id),
            ("context_id", start.context_id),
            ("trace_id", start.trace_id),
            ("assistant_id", start.assistant_id),
        ];
        let known = known.into_iter();
        let known = known.filter_map(|(name, id)| Some((name.to_owned(), id?.into())));
        TypedChunk::Start {
            message_id: start.continues.unwrap_or(&self.request_id).to_owned(),
            message_metadata: known.collect(),
        }
    }
}
