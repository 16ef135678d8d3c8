//! Archives from their entries.

use std::io::{Cursor, Write};

use miniz_oxide::deflate::{compress_to_vec, compress_to_vec_zlib};
use rawzip::{CompressionMethod, ZipArchiveWriter};

/// A quick level of compression.
const LEVEL: u8 = 1;

/// An archive of packed entries.
pub fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    for (name, content) in entries {
        let (mut entry, config) = archive
            .new_file(name)
            .compression_method(CompressionMethod::DEFLATE)
            .start()
            .unwrap();
        // The writer counts what goes through it, and what is written is packed already.
        let mut writer = config.wrap(std::io::sink());
        writer.write_all(content).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.write_all(&compress_to_vec(content, LEVEL)).unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes.into_inner()
}

/// A zlib stream.
pub fn zlib(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec_zlib(bytes, LEVEL)
}

/// The archive, whose first entry says that it is `size` bytes when unpacked.
pub fn declare_size(mut archive: Vec<u8>, size: u32) -> Vec<u8> {
    let directory = archive
        .windows(4)
        .rposition(|window| window == b"PK\x01\x02")
        .unwrap();
    archive[directory + 24..directory + 28].copy_from_slice(&size.to_le_bytes());
    archive
}
