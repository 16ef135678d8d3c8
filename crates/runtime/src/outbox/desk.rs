//! What an outbox knows: the state of the messages, and what the frames of each still need.

use super::group::{Group, Level};
use super::{Limits, Voice};
use crate::error::{Code, Error, Result};
use crate::frame::change::Props;
use crate::frame::{Frame, Shown, State, Status, apply};
use crate::stream::Log;
use ambit_storage::clock::{Clock, Millis};
use serde_json::{Map, Value};
use std::collections::HashMap;

pub(super) struct Desk {
    pub log: Log,
    pub limits: Limits,
    pub clock: Clock,
    pub state: State,
    pub tracks: HashMap<String, Track>,
    pub blocks: Vec<Group>,
    pub threads: Vec<Group>,
    pub warnings: Vec<String>,
    /// The last ids given out: messages, blocks, threads, chunks.
    pub counters: [u64; 4],
    /// Bytes of all that was said.
    pub bytes: usize,
    pub is_ended: bool,
}

/// What is known of a message beside its content.
#[derive(Debug, Default)]
pub(super) struct Track {
    pub is_open: bool,
    pub is_silent: bool,
    /// The type that its frames say.
    pub kind: String,
    /// It was changed while the log was full, and its frames do not show that yet.
    pub is_behind: bool,
    pub has_warned: bool,
    pub started: Millis,
    /// Frames with content since the start.
    pub chunks: u64,
    /// At least the bytes of the props.
    pub size: usize,
    /// The entry that may still take more text, and the path of that text.
    pub tail: Option<(u64, String)>,
    /// What start and end say of it besides: `tool_call`, `extra`.
    pub start: Map<String, Value>,
}

/// A message that begins.
#[derive(Debug, Default)]
pub(super) struct Opening {
    pub id: Option<String>,
    pub kind: String,
    pub block: Option<String>,
    pub thread: Option<String>,
    pub metadata: Option<Map<String, Value>>,
    pub start: Map<String, Value>,
}

impl Desk {
    pub fn new(log: Log, limits: Limits, clock: Clock) -> Self {
        Self {
            log,
            limits,
            clock,
            state: State::default(),
            tracks: HashMap::new(),
            blocks: Vec::new(),
            threads: Vec::new(),
            warnings: Vec::new(),
            counters: [0; 4],
            bytes: 0,
            is_ended: false,
        }
    }

    /// A free id: `M1`, `B1`, `T1`; chunks count for themselves.
    pub fn message_id(&mut self) -> String {
        self.free_id(0, "M", |desk, id| desk.tracks.contains_key(id))
    }

    pub fn block_id(&mut self) -> String {
        let is_used = |desk: &Self, id: &str| desk.blocks.iter().any(|it| it.id == id);
        self.free_id(1, "B", is_used)
    }

    pub fn thread_id(&mut self) -> String {
        let is_used = |desk: &Self, id: &str| desk.threads.iter().any(|it| it.id == id);
        self.free_id(2, "T", is_used)
    }

    fn free_id(&mut self, which: usize, letter: &str, is_used: fn(&Self, &str) -> bool) -> String {
        loop {
            self.counters[which] += 1;
            let id = format!("{letter}{}", self.counters[which]);
            if !is_used(self, &id) {
                return id;
            }
        }
    }

    /// The id of the next frame with content of this message.
    pub fn chunk_id(&mut self, id: &str) -> String {
        if let Some(track) = self.tracks.get_mut(id) {
            track.chunks += 1;
        }
        self.counters[3] += 1;
        format!("C{}", self.counters[3])
    }

    /// Adds a frame to the log.
    pub fn put(&self, frame: &Frame) {
        if let Ok(text) = serde_json::to_string(frame) {
            self.log.append(text);
        }
    }

    pub fn emit(&mut self, name: &str, data: Value) {
        if self.is_ended {
            return;
        }
        let frame = Frame::event(name, message_of(name), data);
        if name == "stream_start" {
            let _ = apply(&mut self.state, &frame);
        }
        if name != "stream_end" {
            return self.put(&frame);
        }
        self.is_ended = true;
        if let Ok(text) = serde_json::to_string(&frame) {
            self.log.append_last(text);
        }
    }

    /// Refuses what is more than a turn may say.
    pub fn check_output(&self, bytes: usize) -> Result<()> {
        let limit = self.limits.output;
        if self.bytes + bytes > limit {
            let what = format!("output limit exceeded ({limit} bytes per turn)");
            return Err(Error::new(Code::OutputLimit, what));
        }
        Ok(())
    }

    /// Begins a message.
    pub fn open(&mut self, voice: &Voice, opening: Opening) -> Result<String> {
        self.check_running()?;
        let limit = self.limits.messages;
        if self.tracks.len() >= limit {
            let what = format!("output limit exceeded ({limit} messages per turn)");
            return Err(Error::new(Code::OutputLimit, what));
        }
        let id = match opening.id {
            Some(id) if self.tracks.contains_key(&id) => {
                let what = format!("message id \"{id}\" is already in use");
                return Err(Error::new(Code::InvalidArgument, what));
            }
            Some(id) => id,
            None => self.message_id(),
        };
        let mut start = opening.start;
        if voice.assistant_id != self.state.assistant() && !voice.assistant_id.is_empty() {
            let mut extra = Map::new();
            extra.insert("assistant_id".to_owned(), voice.assistant_id.clone().into());
            start.insert("extra".to_owned(), Value::Object(extra));
        }
        let thread = opening.thread.or_else(|| voice.thread.clone());
        if !voice.is_silent {
            self.enter(thread.as_deref(), opening.block.as_deref());
        }
        let message = self.state.get_or_new(&id, &opening.kind);
        message.block_id = opening.block;
        message.thread_id = thread;
        message.metadata = opening.metadata;
        if !voice.assistant_id.is_empty() {
            message.assistant_id.clone_from(&voice.assistant_id);
        }
        let track = Track {
            is_open: true,
            is_silent: voice.is_silent,
            kind: message.kind.clone(),
            started: self.clock.now(),
            start,
            ..Track::default()
        };
        self.tracks.insert(id.clone(), track);
        self.announce(&id, false);
        Ok(id)
    }

    pub fn check_running(&self) -> Result<()> {
        if self.is_ended {
            return Err(Error::new(Code::Cancelled, "the turn has ended"));
        }
        Ok(())
    }

    /// Sends a message whole.
    pub fn put_whole(&mut self, id: &str, props: Props) {
        let Some(message) = self.state.get_mut(id) else {
            return;
        };
        message.props.clone_from(&props);
        let mut frame = Frame {
            props,
            metadata: message.metadata.clone(),
            ..frame_of(message)
        };
        if self.is_silent(id) {
            return;
        }
        frame.chunk_id = Some(self.chunk_id(id));
        self.put(&frame);
    }

    pub fn is_silent(&self, id: &str) -> bool {
        self.tracks.get(id).is_none_or(|track| track.is_silent)
    }

    /// `message_start`.
    pub fn announce(&mut self, id: &str, is_amendment: bool) {
        let now = self.clock.now();
        let (Some(track), Some(message)) = (self.tracks.get_mut(id), self.state.get_mut(id)) else {
            return;
        };
        track.started = now;
        track.chunks = 0;
        track.tail = None;
        message.amended |= is_amendment;
        if track.is_silent {
            return;
        }
        let mut data = about(message, now);
        data.extend(track.start.clone());
        if is_amendment {
            data.insert("amend".to_owned(), true.into());
        }
        self.emit("message_start", Value::Object(data));
    }

    /// `message_end`, and before it what a full log has kept back.
    pub fn close(&mut self, id: &str, end: End) {
        self.catch_up(id);
        let now = self.clock.now();
        let (Some(track), Some(message)) = (self.tracks.get_mut(id), self.state.get_mut(id)) else {
            return;
        };
        track.is_open = false;
        track.tail = None;
        message.status = Some(end.status);
        if track.is_silent {
            return;
        }
        let mut data = about(message, now);
        data.extend(track.start.clone());
        if end.is_amendment {
            data.insert("amend".to_owned(), true.into());
        }
        let duration = (now - track.started).max(0);
        data.insert("duration_ms".to_owned(), duration.into());
        data.insert("chunk_count".to_owned(), track.chunks.into());
        data.insert("status".to_owned(), end.status.as_str().into());
        let mut extra = match data.remove("extra") {
            Some(Value::Object(extra)) => extra,
            _ => Map::new(),
        };
        let has_text = matches!(message.kind.as_str(), "text" | "thinking");
        if let (true, Some(content @ Value::String(_))) = (has_text, message.props.get("content")) {
            extra.insert("content".to_owned(), content.clone());
        }
        if end.is_automatic {
            extra.insert("auto_ended".to_owned(), true.into());
        }
        data.extend(end.further);
        if !extra.is_empty() {
            data.insert("extra".to_owned(), Value::Object(extra));
        }
        self.emit("message_end", Value::Object(data));
    }

    pub fn open_messages(&self) -> Vec<String> {
        let messages = self.state.messages().iter();
        let ids = messages.map(|message| &message.message_id);
        let is_open = |id: &&String| self.tracks.get(*id).is_some_and(|track| track.is_open);
        ids.filter(is_open).cloned().collect()
    }

    pub fn close_all(&mut self, status: Status, auto_ended: bool) {
        for id in self.open_messages() {
            if !self.is_silent(&id) {
                self.warnings.push(format!("message {id} was left open"));
            }
            self.close(&id, End::automatic(status, auto_ended));
        }
        let messages = self.state.messages().iter();
        let ids: Vec<String> = messages.map(|it| it.message_id.clone()).collect();
        for id in ids {
            self.catch_up(&id);
        }
        for level in [Level::Block, Level::Thread] {
            for id in self.open_groups(level, None) {
                if level == Level::Block {
                    self.warnings.push(format!("block {id} was left open"));
                }
                self.end_group(level, &id, status);
            }
        }
    }

    /// The messages that were sent.
    pub fn shown(&self) -> impl Iterator<Item = &Shown> {
        let messages = self.state.messages().iter();
        messages.filter(|message| !self.is_silent(&message.message_id))
    }
}

/// How a message ends.
pub(super) struct End {
    pub status: Status,
    pub is_amendment: bool,
    pub is_automatic: bool,
    pub further: Map<String, Value>,
}

impl End {
    pub fn of(status: Status) -> Self {
        Self {
            status,
            is_amendment: false,
            is_automatic: false,
            further: Map::new(),
        }
    }

    fn automatic(status: Status, is_automatic: bool) -> Self {
        Self {
            is_automatic,
            ..Self::of(status)
        }
    }
}

/// What every frame of a message says.
pub(super) fn frame_of(message: &Shown) -> Frame {
    Frame {
        kind: message.kind.clone(),
        message_id: Some(message.message_id.clone()),
        block_id: message.block_id.clone(),
        thread_id: message.thread_id.clone(),
        ..Frame::default()
    }
}

fn about(message: &Shown, now: Millis) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("message_id".to_owned(), message.message_id.clone().into());
    data.insert("type".to_owned(), message.kind.clone().into());
    data.insert("timestamp".to_owned(), now.into());
    let places = [
        ("block_id", &message.block_id),
        ("thread_id", &message.thread_id),
    ];
    for (name, id) in places {
        if let Some(id) = id {
            data.insert(name.to_owned(), id.clone().into());
        }
    }
    data
}

fn message_of(event: &str) -> &'static str {
    match event {
        "stream_start" => "Stream started",
        "stream_end" => "Stream completed",
        "message_start" => "Message started",
        "message_end" => "Message completed",
        "block_start" => "Block started",
        "block_end" => "Block ended",
        "thread_start" => "Thread started",
        "thread_end" => "Thread ended",
        "step_start" => "Step started",
        "step_end" => "Step ended",
        "references" => "References found",
        "interrupt" => "Interrupt received",
        _ => "",
    }
}
