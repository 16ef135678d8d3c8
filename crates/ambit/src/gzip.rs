//! Gzip (RFC 1952) of what is in memory.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec;

/// Its number, deflate, neither flags nor a time, smallest, of no system in particular.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
/// A checksum and the length.
const TAIL: usize = 8;
/// As small as it gets.
const LEVEL: u8 = 10;

/// Packs these bytes, always in the same way.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = HEAD.to_vec();
    packed.extend(compress_to_vec(bytes, LEVEL));
    packed.extend(crc32(bytes).to_le_bytes());
    // RFC 1952, 2.3.1: the length modulo 2^32.
    packed.extend((bytes.len() as u32).to_le_bytes());
    packed
}

/// Unpacks what `pack` has made; none of other bytes.
pub fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let end = packed.len().checked_sub(TAIL)?;
    decompress_to_vec(packed.get(HEAD.len()..end)?).ok()
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    let all = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc))
    });
    !all
}

#[cfg(test)]
mod tests {
    use super::{crc32, pack, unpack};

    #[test]
    fn what_is_packed_is_unpacked_as_it_was() {
        let text = "a text that repeats itself, a text that repeats itself".repeat(50);
        for bytes in [&b""[..], b"x", text.as_bytes()] {
            assert_eq!(unpack(&pack(bytes)).as_deref(), Some(bytes));
        }
        assert!(pack(text.as_bytes()).len() < 200);
        assert_eq!(unpack(b"short"), None);
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
