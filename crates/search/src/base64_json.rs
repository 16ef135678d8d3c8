//! Bytes as values: texts of base64.

use ambit_storage::{Error, Json, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The bytes as a text. No letter of base64 is escaped in JSON, so none is looked at for that.
pub fn to_json(bytes: &[u8]) -> Json {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4 + 2);
    text.push('"');
    STANDARD_NO_PAD.encode_string(bytes, &mut text);
    text.push('"');
    Json::stored(text)
}

/// What `to_json` made of `what`.
pub fn bytes_of(json: &Json, what: &str) -> Result<Vec<u8>> {
    let bytes = STANDARD_NO_PAD.decode(json.as_str().trim_matches('"'));
    bytes.map_err(|error| Error::corrupt(what, error))
}

#[cfg(test)]
mod tests {
    use super::{bytes_of, to_json};
    use ambit_storage::{Error, Json};

    #[test]
    fn every_number_of_bytes_is_one_text_of_json() {
        for length in [0, 1, 2, 3, 100, 1_023, 1_024, 9_500, 9_501] {
            let bytes: Vec<u8> = (0..length).map(|at: u32| (at * 7) as u8).collect();
            let json = to_json(&bytes);
            assert_eq!(Json::of(&json.to::<String>().unwrap()).unwrap(), json);
            assert_eq!(bytes_of(&json, "bytes").unwrap(), bytes);
        }
        let read = bytes_of(&Json::of("no base64 !").unwrap(), "bytes");
        assert!(matches!(read, Err(Error::Corrupt { .. })));
    }
}
