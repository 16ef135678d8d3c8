//! Random scripts of a turn: what is stored is what a client holds that applied every frame, whatever was said.

use crate::bed::{Random, drain, end, frames, memory, object, place, unstored};
use ambit_runtime::frame::{Frame, MessageStatus, OutputMessages, apply, invariants};
use ambit_runtime::outbox::{AgentOutbox, Outbox, OutboxLimits};
use ambit_runtime::stream::{StreamEntry, StreamOptions, StreamWriter};
use ambit_storage::clock::Clock;
use serde_json::{Value, json};

/// One turn and those who speak in it.
pub struct Turn {
    pub random: Random,
    pub outbox: Outbox,
    pub speakers: Vec<AgentOutbox>,
    ids: Vec<String>,
}

const PATHS: [&str; 12] = [
    "",
    "content",
    "rows",
    "rows.0",
    "rows.1.name",
    "meta",
    "meta.deep.er",
    "props.meta",
    "dotted\\.key",
    "arguments",
    "rows.7",
    "props",
];

impl Turn {
    pub fn new(seed: u64, log: &StreamWriter, limits: OutboxLimits) -> Self {
        let (outbox, speaker) = crate::bed::outbox(log, limits);
        Self {
            random: Random::new(seed),
            outbox,
            speakers: vec![speaker],
            ids: vec!["M1".to_owned()],
        }
    }

    fn value(&mut self) -> Value {
        self.random.one(&[
            json!("x"),
            json!("\u{1F600}\u{0}\""),
            json!(5),
            json!(null),
            json!([1]),
            json!([]),
            json!({"name": "n"}),
            json!({"deep": {"er": "e"}, "list": [1]}),
            json!({"type": "t", "props": {"content": "c", "rows": [9]}}),
        ])
    }

    fn message(&mut self) -> Value {
        let props = self.random.one(&[
            json!({"content": "hello"}),
            json!({}),
            json!({"rows": [{"name": "a"}], "meta": {"k": 1}}),
            json!({"content": 7}),
        ]);
        let mut message = object(
            json!({"type": self.random.one(&["text", "table", "loading", "thinking"]), "props": props}),
        );
        let extra = [
            ("block_id", "B1"),
            ("block_id", "own"),
            ("thread_id", "T9"),
            ("message_id", "M3"),
            ("metadata", "no"),
        ];
        for (key, value) in extra {
            if self.random.below(6) == 0 {
                message.insert(key.to_owned(), json!(value));
            }
        }
        if self.random.below(5) == 0 {
            message.insert("metadata".to_owned(), json!({"k": 1, "sequence": 9}));
        }
        Value::Object(message)
    }

    /// One random call; whether it is refused does not matter, but a refusal changes nothing.
    pub fn step(&mut self) {
        let speaker = {
            let place = self.random.below(self.speakers.len());
            self.speakers[place].clone()
        };
        // Mostly one of the newest, so that different calls meet in one message.
        let newest = self.ids.len().saturating_sub(3);
        let from = self.random.one(&[0, newest, newest, newest]);
        let id = json!(self.random.one(&self.ids[from..]));
        let name = id.as_str().unwrap().to_owned();
        let (value, path) = (self.value(), json!(self.random.one(&PATHS)));
        let message = self.message();
        let before = self.outbox.messages();
        let done = match self.random.below(24) {
            0 => speaker.send(&[message]),
            1 | 2 => speaker.send_stream(&[message, json!(self.random.one(&["", "B1", "B2"]))]),
            3 => speaker.append(&[id, value]),
            4 | 5 => speaker.append(&[id, value, path]),
            6 => speaker.replace(&[id, value]),
            7 => speaker.merge(&[id, value, path]),
            8 | 9 => speaker.set(&[id, value, path]),
            10 => speaker.end(&[id, json!(self.random.one(&[Value::Null, json!("end")]))]),
            11 => speaker.end_block(&[json!("B1")]),
            12 => speaker.begin("text").map(Value::from),
            13..=22 => speaker.say(&name, "abc").map(|()| Value::Null),
            _ => {
                self.fork_or_end(&speaker);
                Ok(Value::Null)
            }
        };
        match done {
            Ok(Value::String(id)) if !id.is_empty() => self.ids.push(id),
            Ok(_) => {}
            Err(_) => assert_eq!(self.outbox.messages(), before),
        }
    }

    fn fork_or_end(&mut self, speaker: &AgentOutbox) {
        if self.speakers.len() < 4 {
            let is_silent = self.random.below(4) == 0;
            self.speakers.push(speaker.fork("fork", "b", is_silent));
        } else if self.random.below(5) == 0 {
            speaker.end_thread(MessageStatus::Partial);
        }
    }
}

/// What a client holds that applied these frames; each of them can be applied.
pub fn held(frames: &[Frame]) -> OutputMessages {
    let mut state = OutputMessages::default();
    for frame in frames {
        apply(&mut state, frame).unwrap();
    }
    state
}

fn check(entries: &[StreamEntry], outbox: &Outbox) {
    let frames = frames(entries);
    assert_eq!(invariants::check(&frames), Ok(()));
    let numbers = entries.iter().map(|entry| entry.number);
    assert_eq!(invariants::check_numbers(numbers), Ok(()));
    assert_eq!(held(&frames).messages(), outbox.messages());
}

async fn run(seed: u64, options: StreamOptions) {
    let log = StreamWriter::open(place(&memory().await), options);
    let mut turn = Turn::new(seed, &log, OutboxLimits::default());
    for step in 0..200 {
        turn.step();
        if step % 20 == 0 {
            log.flush().await.unwrap();
        }
    }
    end(&turn.outbox).await;
    let entries = drain(&mut log.reader(0).unwrap()).await;
    check(&entries, &turn.outbox);
    let again = Outbox::restore(log, OutboxLimits::default(), Clock::default(), &entries).unwrap();
    assert_eq!(again.messages(), turn.outbox.messages());
}

#[tokio::test]
async fn what_is_stored_is_what_a_client_holds() {
    for seed in 0..40 {
        run(seed, unstored()).await;
        run(seed, StreamOptions::default()).await;
    }
}

#[tokio::test]
async fn g113_a_log_that_was_full_from_the_beginning_ends_with_the_same_messages() {
    for seed in 100..120 {
        let budget = usize::try_from(seed % 3).unwrap() * 2000;
        run(
            seed,
            StreamOptions {
                budget,
                ..unstored()
            },
        )
        .await;
    }
}

/// A turn that is taken up after a crash at any place goes on where its stored frames end.
#[tokio::test]
async fn g110_a_turn_taken_up_again_ends_everything_that_was_open() {
    for seed in 200..230 {
        let driver = memory().await;
        let log = StreamWriter::open(place(&driver), StreamOptions::default());
        let mut turn = Turn::new(seed, &log, OutboxLimits::default());
        for _ in 0..turn.random.below(60) {
            turn.step();
        }
        log.flush().await.unwrap();
        turn.step();
        drop((turn, log));
        let resumed = StreamWriter::resume(place(&driver), StreamOptions::default())
            .await
            .unwrap();
        assert!(!resumed.is_ended);
        let outbox = Outbox::restore(
            resumed.log.clone(),
            OutboxLimits::default(),
            Clock::default(),
            &resumed.entries,
        )
        .unwrap();
        let speaker = outbox.for_author(crate::bed::voice());
        speaker.send(&[json!("back again"), json!("B1")]).unwrap();
        outbox.close_all(MessageStatus::Error, false);
        outbox.emit("stream_end", json!({"status": "error", "code": "internal"}));
        resumed.log.flush().await.unwrap();
        let entries = drain(&mut resumed.log.reader(0).unwrap()).await;
        check(&entries, &outbox);
    }
}
