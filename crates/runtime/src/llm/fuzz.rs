//! Every decoder over streams that were spoiled in every way: it may refuse them, never panic, and keeps what all promise.

use super::anthropic::decode::AnthropicDecoder;
use super::gemini::decode::GeminiDecoder;
use super::openai::decode::OpenAiDecoder;
use super::sse::SseParser;
use super::stream::{AnswerDecoder, checked};
use super::{AnswerPiece, ModelAnswer, ModelCall, ModelFailure};
use futures::stream::{self, StreamExt};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeSet;

type Make = fn() -> Box<dyn AnswerDecoder>;

macro_rules! recorded {
    ($folder:literal) => {
        &[
            include_str!(concat!("../../tests/llm/recorded/", $folder, "/text.sse")),
            include_str!(concat!(
                "../../tests/llm/recorded/",
                $folder,
                "/reasoning.sse"
            )),
            include_str!(concat!("../../tests/llm/recorded/", $folder, "/tools.sse")),
        ]
    };
}

const DECODERS: &[(Make, &[&str])] = &[
    (|| Box::new(OpenAiDecoder::default()), recorded!("openai")),
    (
        || Box::new(AnthropicDecoder::default()),
        recorded!("anthropic"),
    ),
    (|| Box::new(GeminiDecoder::default()), recorded!("gemini")),
];

/// What is put into streams: pieces of JSON, of events and of UTF-8, and huge and odd numbers.
const SPOILERS: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"data: ",
    b"event: x\n",
    b": c\n",
    b"[DONE]",
    b"null",
    b"[]",
    b"{}",
    b"\"\"",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"\"index\":",
    b"\"tool_calls\":[{}],",
    b"\"error\":{},",
    b"\xff",
    b"\xe4\xb8",
    b"\"delta\":null,",
    b"\"finish_reason\":\"stop\",",
    b"\0",
    b"\"\\ud83d\"",
    b"\xef\xbb\xbf",
];

fn spoil(stream: &[u8], random: &mut SmallRng) -> Vec<u8> {
    let mut bytes = stream.to_vec();
    for _ in 0..random.random_range(1..8) {
        let at = random.random_range(0..=bytes.len());
        let to = (at + random.random_range(0..60)).min(bytes.len());
        match random.random_range(0..5) {
            0 => drop(bytes.drain(at..to)),
            1 => bytes[at..to]
                .iter_mut()
                .for_each(|byte| *byte = byte.wrapping_add(1)),
            2 => {
                let copy = bytes[at..to].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => bytes.truncate(at.max(1)),
            _ => {
                let spoiler = SPOILERS.choose(random).copied().unwrap_or_default();
                bytes.splice(at..at, spoiler.iter().copied());
            }
        }
    }
    bytes
}

/// All that a decoder makes of these bytes, as the pump hands them over.
fn decode(
    mut decoder: Box<dyn AnswerDecoder>,
    bytes: &[u8],
    random: &mut SmallRng,
) -> Vec<Result<AnswerPiece, ModelFailure>> {
    let mut parser = SseParser::default();
    let mut out = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(random.random_range(1..=rest.len().min(200)));
        rest = behind;
        let read = parser.push(chunk).and_then(|events| {
            let mut events = events.iter();
            events.try_for_each(|event| decoder.event(&event.data, &mut out))
        });
        if let Err(failure) = read {
            return out.into_iter().map(Ok).chain([Err(failure)]).collect();
        }
    }
    if let Some(event) = parser.rest() {
        let _ = decoder.event(&event.data, &mut out);
    }
    decoder.end(&mut out);
    out.into_iter().map(Ok).collect()
}

#[tokio::test]
async fn g154_no_stream_of_a_provider_makes_a_panic() {
    let mut random = SmallRng::seed_from_u64(154);
    for round in 0..6_000 {
        let (make, streams) = DECODERS[round % DECODERS.len()];
        let stream = streams.choose(&mut random).copied().unwrap_or_default();
        let bytes = spoil(stream.as_bytes(), &mut random);
        let items = decode(make(), &bytes, &mut random);
        let items = stream::iter(items).boxed();
        let items: Vec<_> = checked(&ModelCall::default(), items).collect().await;
        keeps_its_promises(&items);
        let whole = serde_json::from_slice(&bytes).unwrap_or_default();
        let _ = make().whole(&whole, &mut Vec::new());
    }
}

/// One end, at the end; calls in order, with ids that differ; arguments of calls that are known.
fn keeps_its_promises(items: &[Result<AnswerPiece, ModelFailure>]) {
    let mut answer = ModelAnswer::default();
    let mut calls = 0;
    for (at, item) in items.iter().enumerate() {
        let is_end = matches!(item, Err(_) | Ok(AnswerPiece::End { .. }));
        assert_eq!(is_end, at + 1 == items.len(), "{items:?}");
        match item {
            Ok(AnswerPiece::ToolCall { index, .. }) => {
                assert_eq!(*index, calls, "{items:?}");
                calls += 1;
            }
            Ok(AnswerPiece::Arguments { index, .. }) => assert!(*index < calls, "{items:?}"),
            _ => {}
        }
        item.iter().for_each(|piece| answer.take(piece));
    }
    let ids: BTreeSet<&str> = answer
        .tool_calls
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!((ids.len(), ids.contains("")), (calls, false), "{items:?}");
}
