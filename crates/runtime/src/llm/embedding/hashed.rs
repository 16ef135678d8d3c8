//! The vectors of scripted connectors: words are counted where their hashes lead, so that texts with the same words are near.

use super::{EmbeddingAnswer, EmbeddingCall};
use crate::llm::TokenUsage;
use sha2::{Digest, Sha256};

/// The length of vectors where none is asked for.
const DIMENSIONS: usize = 64;

/// The answer to a call. Each word counts as a token.
pub fn answer(call: &EmbeddingCall<'_>) -> EmbeddingAnswer {
    let dimensions = call.dimensions.map_or(DIMENSIONS, |count| count as usize);
    let words = call.texts.iter().map(|text| words(text).count().max(1));
    let tokens = i64::try_from(words.sum::<usize>()).unwrap_or(i64::MAX);
    let vectors = call.texts.iter().map(|text| vector(text, dimensions));
    EmbeddingAnswer {
        model: call.model(),
        vectors: vectors.collect(),
        usage: TokenUsage::of(tokens, 0),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric());
    parts.filter(|word| !word.is_empty())
}

/// A vector of length 1.
fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut counts = vec![0.0_f32; dimensions];
    words(text).for_each(|word| counts[place(&word.to_lowercase(), dimensions)] += 1.0);
    let length = counts.iter().map(|count| count * count).sum::<f32>().sqrt();
    if length == 0.0 {
        counts[place(text, dimensions)] = 1.0;
        return counts;
    }
    counts.iter().map(|count| count / length).collect()
}

/// Where a word is counted.
fn place(word: &str, dimensions: usize) -> usize {
    let hash = Sha256::digest(word);
    let hash = hash.iter().take(4);
    hash.fold(0, |hash, byte| hash << 8 | usize::from(*byte)) % dimensions
}

#[cfg(test)]
mod tests {
    use super::vector;

    fn similarity(one: &str, other: &str) -> f32 {
        let (one, other) = (vector(one, 64), vector(other, 64));
        one.iter().zip(other.iter()).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn texts_with_the_same_words_are_near() {
        assert!(similarity("red apples", "Apples, red!") > 0.999);
        let (near, far) = ("red apples and pears", "a night train to Vienna");
        assert!(similarity("red apples", near) > similarity("red apples", far));
        assert!(similarity("", "?") <= 1.0);
        assert_eq!(vector("x", 3).len(), 3);
    }
}
