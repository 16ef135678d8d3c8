//! The codes of up to 128 chunks with consecutive numbers.
//!
//! As bytes: how many there are, their places among the 128, their scales (f32 little-endian), their codes.

use super::VectorCode;
use crate::base64_json;
use ambit_storage::{Error, Json, Result};
use std::ops::Range;

/// So many chunk numbers share a page.
pub const PAGE: u32 = 128;

/// A page of codes, by chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodePage {
    /// Ascending.
    places: Vec<u8>,
    scales: Vec<f32>,
    codes: Vec<i8>,
}

impl CodePage {
    /// How many vectors it has.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        1 + self.places.len() * 5 + self.codes.len()
    }

    /// Whether there is no vector on it.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether the chunk at this place has a vector.
    pub fn has(&self, place: u8) -> bool {
        self.places.binary_search(&place).is_ok()
    }

    /// The places that have vectors.
    pub fn places(&self) -> &[u8] {
        &self.places
    }

    /// Places, scales and codes.
    pub fn vectors(&self) -> impl Iterator<Item = (u8, f32, &[i8])> {
        let dimension = self.dimension().max(1);
        let codes = self.codes.chunks_exact(dimension);
        let scaled = self.places.iter().zip(&self.scales);
        scaled
            .zip(codes)
            .map(|((place, scale), codes)| (*place, *scale, codes))
    }

    fn dimension(&self) -> usize {
        self.codes.len() / self.places.len().max(1)
    }

    /// Makes room for so many vectors more.
    pub fn reserve(&mut self, vectors: usize, dimension: u32) {
        self.places.reserve(vectors);
        self.scales.reserve(vectors);
        self.codes.reserve(vectors * dimension as usize);
    }

    /// Gives back what room is left.
    pub fn shrink(&mut self) {
        self.places.shrink_to_fit();
        self.scales.shrink_to_fit();
        self.codes.shrink_to_fit();
    }

    /// Adds a vector; false where the place has one.
    pub fn add(&mut self, place: u8, code: &VectorCode) -> bool {
        let Err(at) = self.places.binary_search(&place) else {
            return false;
        };
        let dimension = code.codes.len();
        self.places.insert(at, place);
        self.scales.insert(at, code.scale);
        let start = at * dimension;
        self.codes.splice(start..start, code.codes.iter().copied());
        true
    }

    /// Takes away the vectors of some places; returns which had one.
    pub fn remove(&mut self, places: &Range<u32>) -> Vec<u8> {
        let dimension = self.dimension();
        let first = self
            .places
            .partition_point(|it| u32::from(*it) < places.start);
        let end = self
            .places
            .partition_point(|it| u32::from(*it) < places.end);
        self.scales.drain(first..end);
        self.codes.drain(first * dimension..end * dimension);
        self.places.drain(first..end).collect()
    }

    /// As a value.
    pub fn to_json(&self) -> Json {
        let mut bytes = Vec::with_capacity(self.len());
        bytes.push(self.places.len() as u8);
        bytes.extend(&self.places);
        bytes.extend(self.scales.iter().flat_map(|scale| scale.to_le_bytes()));
        bytes.extend(self.codes.iter().map(|code| code.cast_unsigned()));
        base64_json::to_json(&bytes)
    }

    /// What `to_json` made.
    pub fn of(json: &Json, dimension: u32) -> Result<Self> {
        let bytes = base64_json::bytes_of(json, "a page of vectors")?;
        Self::parse(&bytes, dimension as usize)
            .ok_or_else(|| Error::corrupt("a page of vectors", "its bytes are no such page"))
    }

    fn parse(bytes: &[u8], dimension: usize) -> Option<Self> {
        let (count, bytes) = bytes.split_first()?;
        let (places, bytes) = bytes.split_at_checked(usize::from(*count))?;
        let (scales, codes) = bytes.split_at_checked(places.len() * 4)?;
        let is_page = codes.len() == places.len() * dimension
            && places.is_sorted_by(|one, next| one < next)
            && places.last().is_none_or(|last| u32::from(*last) < PAGE);
        let (scales, _) = scales.as_chunks();
        is_page.then(|| Self {
            places: places.to_vec(),
            scales: scales.iter().map(|it| f32::from_le_bytes(*it)).collect(),
            codes: codes.iter().map(|code| code.cast_signed()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(seed: i8) -> VectorCode {
        VectorCode {
            codes: vec![seed, -seed, 127],
            scale: f32::from(seed) / 8.0,
        }
    }

    #[test]
    fn vectors_come_in_any_order_and_stand_by_chunk() {
        let mut page = CodePage::default();
        for place in [90, 3, 127, 40] {
            assert!(page.add(place, &code(place.cast_signed())));
        }
        assert!(!page.add(3, &code(9)));
        let json = page.to_json();
        let page = CodePage::of(&json, 3).unwrap();
        let places: Vec<u8> = page.vectors().map(|(place, ..)| place).collect();
        assert_eq!(places, [3, 40, 90, 127]);
        assert!(page.vectors().all(|(place, scale, codes)| {
            let code = code(place.cast_signed());
            (scale, codes) == (code.scale, code.codes.as_slice())
        }));
    }

    #[test]
    fn what_is_removed_takes_its_own_numbers_along() {
        let mut page = CodePage::default();
        for place in 0..10 {
            page.add(place, &code(place.cast_signed()));
        }
        assert_eq!(page.remove(&(3..5)), [3, 4]);
        assert!(page.remove(&(3..5)).is_empty());
        assert_eq!(page.count(), 8);
        let (place, scale, codes) = page.vectors().nth(3).unwrap();
        assert_eq!((place, scale, codes), (5, 5.0 / 8.0, &[5, -5, 127][..]));
        page.remove(&(0..128));
        assert!(page.is_empty() && page.vectors().next().is_none());
    }

    #[test]
    fn bytes_that_are_no_page_are_corrupt() {
        let mut page = CodePage::default();
        page.add(1, &code(1));
        page.add(2, &code(2));
        let json = page.to_json();
        for dimension in [0, 2, 4] {
            let read = CodePage::of(&json, dimension);
            assert!(matches!(read, Err(Error::Corrupt { .. })), "{dimension}");
        }
        let read = CodePage::of(&Json::of("no base64 !").unwrap(), 3);
        assert!(matches!(read, Err(Error::Corrupt { .. })));
    }
}
