//! Reading a service's answer: OpenAI's, Ollama's and that of llama.cpp. What a vector cannot be fails the whole answer.

use super::{EmbeddingAnswer, EmbeddingCall};
use crate::llm::{ModelFailure, ModelFailureKind, TokenUsage};
use ambit_storage::truncation::estimate_text;
use serde::Deserialize;
use serde_json::Value;

/// An answer in any of its three forms.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum EmbeddingReply {
    /// OpenAI's.
    Data {
        data: Vec<NumberedVector>,
        #[serde(default)]
        usage: Option<ReportedTokens>,
    },
    /// Ollama's own.
    Embeddings {
        embeddings: Vec<Vec<f64>>,
        #[serde(default)]
        prompt_eval_count: Option<i64>,
    },
    /// That of llama.cpp's server.
    List(Vec<NumberedVector>),
}

/// A vector and the text that it belongs to, counted from 0.
#[derive(Deserialize)]
pub struct NumberedVector {
    index: usize,
    embedding: VectorNumbers,
}

/// A vector, also as the only one of a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum VectorNumbers {
    Flat(Vec<f64>),
    Nested([Vec<f64>; 1]),
}

/// The tokens that a service says it has read.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ReportedTokens {
    prompt_tokens: Option<i64>,
    total_tokens: Option<i64>,
}

impl EmbeddingReply {
    /// Reads an answer; one that holds an error instead has failed as that says. Where it says nothing, it may pass: what is
    /// wrong with a request has a status of its own.
    pub fn read(body: &[u8]) -> Result<Self, ModelFailure> {
        if let Ok(reply) = serde_json::from_slice(body) {
            return Ok(reply);
        }
        match serde_json::from_slice::<Value>(body) {
            Ok(value) if value.get("error").is_some_and(|error| !error.is_null()) => {
                let mut failure = ModelFailure::of_event(&value);
                if failure.kind == ModelFailureKind::Permanent {
                    failure.kind = ModelFailureKind::Temporary;
                }
                Err(failure)
            }
            _ => Err(unusable("is no list of vectors")),
        }
    }

    /// The vectors in the order of the texts, all of them finite, of one length and not zero.
    pub fn answer(self, call: &EmbeddingCall<'_>) -> Result<EmbeddingAnswer, ModelFailure> {
        let (numbers, tokens) = self.parts()?;
        let wanted = call.texts.len();
        if numbers.len() != wanted {
            let found = numbers.len();
            return Err(unusable(&format!("has {found} vectors for {wanted} texts")));
        }
        let length = numbers.first().map_or(0, Vec::len);
        let asked = call.dimensions.map(|count| count as usize);
        if let Some(asked) = asked.filter(|asked| *asked != length) {
            return Err(unusable(&format!(
                "has vectors of {length} numbers where {asked} were asked for"
            )));
        }
        if numbers.iter().any(|vector| vector.len() != length) {
            return Err(unusable("has vectors of different lengths"));
        }
        let vectors = numbers.into_iter().map(|vector| checked(&vector));
        Ok(EmbeddingAnswer {
            model: call.model(),
            vectors: vectors.collect::<Result<_, _>>()?,
            usage: TokenUsage::of(tokens.unwrap_or_else(|| estimated(call)), 0),
        })
    }

    fn parts(self) -> Result<(Vec<Vec<f64>>, Option<i64>), ModelFailure> {
        match self {
            Self::Data { data, usage } => {
                let tokens = usage.and_then(|usage| usage.prompt_tokens.or(usage.total_tokens));
                Ok((ordered(data)?, tokens.map(|tokens| tokens.max(0))))
            }
            Self::Embeddings {
                embeddings,
                prompt_eval_count,
            } => Ok((embeddings, prompt_eval_count.map(|tokens| tokens.max(0)))),
            Self::List(list) => Ok((ordered(list)?, None)),
        }
    }
}

/// The vectors by their numbers, of which each comes once.
fn ordered(mut numbered: Vec<NumberedVector>) -> Result<Vec<Vec<f64>>, ModelFailure> {
    numbered.sort_by_key(|vector| vector.index);
    let mut places = numbered.iter().enumerate();
    if places.any(|(place, vector)| place != vector.index) {
        return Err(unusable("does not number its vectors 0, 1, 2 …"));
    }
    let vectors = numbered.into_iter().map(|vector| match vector.embedding {
        VectorNumbers::Flat(numbers) | VectorNumbers::Nested([numbers]) => numbers,
    });
    Ok(vectors.collect())
}

/// The numbers as they are kept.
#[expect(
    clippy::cast_possible_truncation,
    reason = "what is too large becomes infinite, which is refused"
)]
fn checked(numbers: &[f64]) -> Result<Vec<f32>, ModelFailure> {
    let vector: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
    if !vector.iter().all(|number| number.is_finite()) {
        return Err(unusable("has a vector with a number that is too large"));
    }
    if vector.iter().all(|number| *number == 0.0) {
        return Err(unusable("has a vector without direction"));
    }
    Ok(vector)
}

/// What a service that says nothing has read, about.
fn estimated(call: &EmbeddingCall<'_>) -> i64 {
    let tokens: u64 = call.texts.iter().map(|text| estimate_text(text)).sum();
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

/// Nonsense may be over by the next request.
fn unusable(why: &str) -> ModelFailure {
    ModelFailure::temporary(format!("the provider's answer {why}"))
}
