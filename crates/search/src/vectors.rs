//! Vectors of chunks: the space they are in, how they are compared, and how they are written down.

mod code_page;

pub use code_page::{CodePage, PAGE};

use crate::base64_json;
use ambit_storage::{Error, Json, Result};
use serde::{Deserialize, Serialize};

/// Whose vectors mean something beside each other: those of one connector, model and dimension. Others never meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EmbeddingSpace {
    /// The connector's id.
    pub connector: String,
    /// The model's name.
    pub model: String,
    /// How many numbers a vector has.
    pub dimension: u32,
}

/// The vector of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkVector {
    /// The chunk's number.
    pub chunk: u32,
    /// As the model gave it.
    pub vector: Vec<f32>,
}

/// What a search looks for among the vectors of one space.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryVector {
    /// The only space whose vectors it meets.
    pub space: EmbeddingSpace,
    /// As the model gave it.
    pub vector: Vec<f32>,
}

/// A vector of length one in whole numbers: each is `scale` times what stands there.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorCode {
    /// From -127 to 127.
    pub codes: Vec<i8>,
    /// How much one is.
    pub scale: f32,
}

impl EmbeddingSpace {
    /// Refuses what is no vector of this space: another length, numbers that are not finite, nothing but zeros.
    pub fn check(&self, vector: &[f32]) -> Result<()> {
        let what = || format!("a vector of {}, model {}", self.connector, self.model);
        if vector.len() != self.dimension as usize {
            let (found, wanted) = (vector.len(), self.dimension);
            let reason = format!("has {found} numbers and must have {wanted}");
            return Err(Error::invalid(what(), reason));
        }
        if !vector.iter().all(|number| number.is_finite()) {
            return Err(Error::invalid(what(), "must have finite numbers alone"));
        }
        if length_of(vector) == 0.0 {
            return Err(Error::invalid(what(), "must not be zero"));
        }
        Ok(())
    }
}

impl VectorCode {
    /// The code of a vector that is not zero.
    pub fn of(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0, |most: f32, it| most.max(it.abs()));
        let scale = f64::from(largest) / 127.0;
        let codes = vector.iter().map(|it| (f64::from(*it) / scale).round());
        Self {
            codes: codes.map(|code| code as i8).collect(),
            scale: (scale / length_of(vector)) as f32,
        }
    }
}

/// The sum of the products of two codes.
pub fn code_product(query: &[i16], codes: &[i8]) -> i32 {
    let pairs = query.iter().zip(codes);
    pairs
        .map(|(query, code)| i32::from(*query) * i32::from(*code))
        .sum()
}

/// The cosine of the angle between two vectors that are not zero, in an order of its sums that is always the same.
pub fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let pairs = one.iter().zip(other);
    let product: f64 = pairs
        .map(|(one, other)| f64::from(*one) * f64::from(*other))
        .sum();
    (product / (length_of(one) * length_of(other))).clamp(-1.0, 1.0)
}

fn length_of(vector: &[f32]) -> f64 {
    let squares = vector.iter().map(|it| f64::from(*it) * f64::from(*it));
    squares.sum::<f64>().sqrt()
}

/// A vector as a value: its numbers little-endian.
pub fn vector_to_json(vector: &[f32]) -> Json {
    let numbers: Vec<[u8; 4]> = vector.iter().map(|it| it.to_le_bytes()).collect();
    base64_json::to_json(numbers.as_flattened())
}

/// What `vector_to_json` made.
pub fn vector_of(json: &Json, dimension: u32) -> Result<Vec<f32>> {
    let bytes = base64_json::bytes_of(json, "a vector of an index")?;
    let (numbers, rest) = bytes.as_chunks();
    if !rest.is_empty() || numbers.len() != dimension as usize {
        return Err(Error::corrupt(
            "a vector of an index",
            "its length is wrong",
        ));
    }
    Ok(numbers.iter().map(|it| f32::from_le_bytes(*it)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_of_codes_is_nearly_the_cosine() {
        let vector = |seed: u32| -> Vec<f32> {
            let numbers = (0..384u32).map(|at| (at * seed * 7919 % 1009) as f32 - 504.0);
            numbers.collect()
        };
        let one = vector(7);
        let query = VectorCode::of(&one);
        let wide: Vec<i16> = query.codes.iter().map(|it| i16::from(*it)).collect();
        for seed in 1..50 {
            let other = vector(seed);
            let code = VectorCode::of(&other);
            let product = f64::from(code_product(&wide, &code.codes));
            let about = product * f64::from(query.scale) * f64::from(code.scale);
            assert!((about - cosine(&one, &other)).abs() < 0.01, "{seed}");
        }
        assert!((cosine(&one, &one) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_vector_of_the_space_is_refused() {
        let space = EmbeddingSpace {
            connector: "e5".to_owned(),
            model: "m".to_owned(),
            dimension: 2,
        };
        assert!(space.check(&[0.0, 1.0]).is_ok());
        for wrong in [
            &[1.0][..],
            &[1.0, f32::NAN],
            &[f32::INFINITY, 0.0],
            &[0.0, 0.0],
        ] {
            let refused = space.check(wrong).unwrap_err();
            assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
        }
    }

    #[test]
    fn a_vector_comes_back_bit_by_bit_and_a_cut_one_is_corrupt() {
        let vector = [1.5, -0.0, f32::MIN_POSITIVE, 3e38];
        let json = vector_to_json(&vector);
        let back = vector_of(&json, 4).unwrap();
        assert!(
            back.iter()
                .map(|it| it.to_bits())
                .eq(vector.map(f32::to_bits))
        );
        assert!(matches!(vector_of(&json, 3), Err(Error::Corrupt { .. })));
    }
}
