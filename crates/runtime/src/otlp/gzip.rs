//! Compressing requests: deflated data between the header and the trailer of gzip, RFC 1952.

use miniz_oxide::deflate::compress_to_vec;

/// The header: deflated, without a name and a time, from an unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// How hard it is tried; the fourth part of the time that the usual level takes.
const LEVEL: u8 = 3;
/// The polynomial of the checksum, its bits reversed.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// The data, compressed.
pub(super) fn compressed(data: &[u8]) -> Vec<u8> {
    let mut all = HEADER.to_vec();
    all.extend(compress_to_vec(data, LEVEL));
    all.extend(checksum(data).to_le_bytes());
    // The length is stored modulo 2^32.
    all.extend((data.len() as u32).to_le_bytes());
    all
}

fn checksum(data: &[u8]) -> u32 {
    let crc = data.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            let carry = if crc & 1 == 1 { POLYNOMIAL } else { 0 };
            crc >> 1 ^ carry
        })
    });
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::inflate::decompress_to_vec;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn what_is_compressed_is_there_again() {
        let data = b"spans and spans and spans".repeat(100);
        let packed = compressed(&data);
        assert!(packed.len() < data.len() / 10);
        let (body, trailer) = packed[HEADER.len()..].split_at(packed.len() - HEADER.len() - 8);
        assert_eq!(decompress_to_vec(body).unwrap(), data);
        assert_eq!(trailer[4..], 2_500_u32.to_le_bytes());
    }
}
