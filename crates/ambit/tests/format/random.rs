//! Random valid streams: what was streamed and what is answered at once are the same.

use crate::log::{Completion, frames};
use crate::recorded_logs::{entries, options};
use ambit::format::find;
use ambit::runtime::Frame;
use ambit::runtime::frame::{DeltaAction, invariants};
use ambit::runtime::stream::StreamEntry;
use serde_json::{Value, json};

/// What the streams may do.
#[derive(Clone, Copy, PartialEq)]
pub enum Habits {
    /// Text that was shown stays.
    KeepText,
    /// Anything.
    Any,
}

/// A generator with a seed, so that a failure comes again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % bound
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn words(&mut self) -> String {
        const WORDS: [&str; 8] = ["one", " two", " ", "\n\n", "é", "", " <b>", "12"];
        let count = self.below(4);
        (0..count).map(|_| self.of(&WORDS)).collect()
    }
}

const THREADS: [Option<&str>; 3] = [None, Some("T1"), Some("T2")];
const KINDS: [&str; 8] = [
    "text",
    "text",
    "thinking",
    "loading",
    "image",
    "note",
    "tool_call",
    "tool_call",
];

struct Message {
    id: String,
    kind: &'static str,
    thread: Option<&'static str>,
    content: String,
    is_open: bool,
}

struct Draft {
    dice: Dice,
    habits: Habits,
    frames: Vec<Frame>,
    messages: Vec<Message>,
    chunks: usize,
}

impl Draft {
    fn event(&mut self, name: &str, data: Value, thread: Option<&str>) {
        let mut frame = Frame::event(name, name, data);
        frame.thread_id = thread.map(str::to_owned);
        self.frames.push(frame);
    }

    /// A frame of the message at this place.
    fn frame(&mut self, place: usize, props: Value) -> &mut Frame {
        let message = &self.messages[place];
        let Value::Object(props) = props else {
            panic!("props are an object, not {props}");
        };
        self.chunks += 1;
        self.frames.push(Frame {
            kind: message.kind.to_owned(),
            props,
            chunk_id: Some(format!("C{}", self.chunks)),
            message_id: Some(message.id.clone()),
            thread_id: message.thread.map(str::to_owned),
            ..Frame::default()
        });
        self.frames.last_mut().unwrap()
    }

    fn change(&mut self, place: usize, action: DeltaAction, props: Value) -> &mut Frame {
        let frame = self.frame(place, props);
        frame.delta = true;
        frame.delta_action = Some(action);
        frame
    }

    fn begin(&mut self) {
        let kind = self.dice.of(&KINDS);
        // Forks have no tools of the client.
        let thread = match kind {
            "tool_call" => None,
            _ => self.dice.of(&THREADS),
        };
        // Who keeps to the order has one message open in each thread.
        let open = self
            .messages
            .iter()
            .position(|other| other.thread == thread && other.is_open);
        if let Some(open) = open.filter(|_| self.habits == Habits::KeepText) {
            self.end(open);
        }
        let place = self.messages.len();
        let id = format!("M{}", place + 1);
        self.messages.push(Message {
            id: id.clone(),
            kind,
            thread,
            content: String::new(),
            is_open: true,
        });
        let mut data = json!({"message_id": id, "type": kind});
        if let Some(thread) = thread {
            data["thread_id"] = thread.into();
        }
        self.event("message_start", data, thread);
        let words = self.dice.words();
        match kind {
            "text" | "thinking" if self.dice.below(2) == 0 => return,
            "loading" => self.frame(place, json!({"message": words})),
            "image" => self.frame(place, json!({"url": "https://a/b.png", "alt": words})),
            "tool_call" => {
                let name = self.dice.of(&["get_weather", "get_time", "server__tool"]);
                let props = json!({"id": format!("call_{id}"), "name": name, "arguments": ""});
                self.change(place, DeltaAction::Merge, props)
            }
            _ => self.frame(place, json!({"content": words})),
        };
        self.messages[place].content = words;
    }

    fn go_on(&mut self, place: usize) {
        let words = self.dice.words();
        let habits = self.habits;
        match (self.messages[place].kind, self.dice.below(4)) {
            ("tool_call", _) => {
                let props = json!({"arguments": words});
                let frame = self.change(place, DeltaAction::Append, props);
                frame.delta_path = Some("arguments".to_owned());
                return;
            }
            ("loading", 0) => {
                self.messages[place].kind = "text";
                self.messages[place].content.clone_from(&words);
                let frame = self.change(place, DeltaAction::Replace, json!({"content": words}));
                frame.type_change = true;
                return;
            }
            ("image" | "loading", _) => return,
            (_, 0) => {
                let kept = match habits {
                    Habits::KeepText => self.messages[place].content.as_str(),
                    Habits::Any => "",
                };
                let content = format!("{kept}{words}");
                self.messages[place].content.clone_from(&content);
                self.change(place, DeltaAction::Replace, json!({"content": content}));
                return;
            }
            ("text", 1) => {
                let content = format!("{}{words}", self.messages[place].content);
                let frame = self.change(place, DeltaAction::Set, json!({"content": content}));
                frame.delta_path = Some("content".to_owned());
            }
            _ => {
                self.change(place, DeltaAction::Append, json!({"content": words}));
            }
        }
        self.messages[place].content.push_str(&words);
    }

    fn end(&mut self, place: usize) {
        let message = &mut self.messages[place];
        message.is_open = false;
        let (id, thread) = (message.id.clone(), message.thread);
        self.event(
            "message_end",
            json!({"message_id": id, "status": "completed"}),
            thread,
        );
    }

    /// Changes a message that has ended.
    fn amend(&mut self, place: usize) {
        let message = &mut self.messages[place];
        message.is_open = true;
        let (id, thread) = (message.id.clone(), message.thread);
        self.event(
            "message_start",
            json!({"message_id": id, "amend": true}),
            thread,
        );
        self.go_on(place);
        self.end(place);
    }

    fn step(&mut self) {
        let choice = self.dice.below(9);
        let (open, ended): (Vec<usize>, Vec<usize>) =
            (0..self.messages.len()).partition(|place| self.messages[*place].is_open);
        match choice {
            0 | 1 => self.begin(),
            2 if self.habits == Habits::Any && !ended.is_empty() => {
                let place = self.dice.of(&ended);
                self.amend(place);
            }
            3 if !open.is_empty() => {
                let place = self.dice.of(&open);
                self.end(place);
            }
            _ if !open.is_empty() => {
                let place = self.dice.of(&open);
                self.go_on(place);
            }
            _ => self.event("my_event", json!({}), None),
        }
    }
}

/// A stream of about forty frames.
pub fn random_log(seed: u64, habits: Habits) -> Vec<StreamEntry> {
    let mut draft = Draft {
        dice: Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        habits,
        frames: Vec::new(),
        messages: Vec::new(),
        chunks: 0,
    };
    draft.event("stream_start", json!({"chat_id": "chat-1"}), None);
    for thread in THREADS.into_iter().flatten() {
        draft.event("thread_start", json!({"thread_id": thread}), Some(thread));
    }
    let steps = 10 + draft.dice.below(40);
    for _ in 0..steps {
        draft.step();
    }
    for place in 0..draft.messages.len() {
        if draft.messages[place].is_open {
            draft.end(place);
        }
    }
    for thread in THREADS.into_iter().flatten() {
        let data = json!({"thread_id": thread, "status": "completed"});
        draft.event("thread_end", data, Some(thread));
    }
    let reason = draft.dice.of(&["stop", "length", "tool_calls"]);
    draft.event("step_end", json!({"finish_reason": reason}), None);
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3});
    draft.event(
        "stream_end",
        json!({"status": "completed", "usage": usage}),
        None,
    );
    invariants::check(&draft.frames).unwrap();
    let lines: Vec<String> = draft
        .frames
        .iter()
        .map(|frame| serde_json::to_string(frame).unwrap())
        .collect();
    entries(lines.iter().map(String::as_str))
}

fn both(log: &[StreamEntry]) -> (Completion, Completion) {
    let row = find("standard").unwrap();
    let (frames, _) = frames(row, log);
    let streamed = Completion::of_chunks(&frames.concat());
    (
        streamed,
        Completion::of_body(&json!((row.body)(log, &options()))),
    )
}

#[test]
fn g041_streamed_and_whole_answers_are_the_same() {
    for seed in 1..=2_000 {
        let (mut streamed, mut whole) = both(&random_log(seed, Habits::KeepText));
        // A line of progress that was replaced later has been streamed, and is not part of the final state.
        streamed.reasoning = String::new();
        whole.reasoning = String::new();
        assert_eq!(streamed, whole, "seed {seed}");
    }
}

#[test]
fn what_took_text_back_agrees_in_everything_else() {
    for seed in 1..=2_000 {
        let (streamed, whole) = both(&random_log(seed, Habits::Any));
        assert_eq!(streamed.calls, whole.calls, "seed {seed}");
        assert_eq!(streamed.finish_reason, whole.finish_reason, "seed {seed}");
        assert_eq!(streamed.usage, whole.usage, "seed {seed}");
    }
}

#[test]
fn random_streams_are_of_many_kinds() {
    let logs = (1..=200).map(|seed| random_log(seed, Habits::KeepText));
    let wholes: Vec<Completion> = logs.map(|log| both(&log).1).collect();
    let count = |is_it: fn(&Completion) -> bool| wholes.iter().filter(|one| is_it(one)).count();
    assert!(count(|one| one.content.contains("\n\n")) > 50);
    assert!(count(|one| one.calls.len() > 1) > 20);
    assert!(count(|one| !one.reasoning.is_empty()) > 100);
    assert!(count(|one| one.finish_reason.as_deref() == Some("length")) > 10);
}
