//! How long values are as JSON, told without their text.

use serde::Serialize;
use std::io;

/// Bytes of a value as JSON.
pub(crate) fn json_length(value: &impl Serialize) -> usize {
    let mut written = WrittenBytes(0);
    // Only a map with keys that are no text could fail.
    let _ = serde_json::to_writer(&mut written, value);
    written.0
}

/// Counts what is written.
struct WrittenBytes(usize);

impl io::Write for WrittenBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_as_long_as_its_text() {
        let value = json!({"text": "\u{1f}\"ä\n", "list": [1, -2.5, null, true], "empty": {}});
        assert_eq!(json_length(&value), value.to_string().len());
    }
}
