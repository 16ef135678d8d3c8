//! Bytes become text: UTF-8, else by a byte order mark or the charset that the document declares.

use std::borrow::Cow;

use encoding_rs::{CoderResult, Encoding, UTF_8};

use crate::error::ExtractError;
use crate::limits;

/// Returns the text of `bytes`, whose sender or author declares `charset`.
///
/// UTF-8 is taken for what it is, whatever is declared, as only UTF-8 is valid UTF-8 by chance of next to nothing. Charsets
/// that look like ASCII and are not (UTF-16, ISO-2022-JP) go before it.
pub(crate) fn decode<'a>(
    bytes: &'a [u8],
    charset: Option<&str>,
) -> Result<Cow<'a, str>, ExtractError> {
    let declared = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode_as(encoding, &bytes[mark..]);
    }
    if let Some(encoding) = declared.filter(|encoding| !encoding.is_ascii_compatible()) {
        return decode_as(encoding, bytes);
    }
    match (std::str::from_utf8(bytes), declared) {
        (Ok(text), _) => Ok(Cow::Borrowed(text)),
        (Err(_), Some(encoding)) => decode_as(encoding, bytes),
        (Err(error), None) => Err(ExtractError::invalid(match charset {
            Some(label) => {
                format!("not UTF-8, and its charset `{label}` is unknown: save it as UTF-8")
            }
            None => format!(
                "not UTF-8 (byte {}), and no byte order mark or charset says what it is: save it as UTF-8 or declare its charset",
                error.valid_up_to()
            ),
        })),
    }
}

/// Beside UTF-8, a document is read only up to the limit of text, so that its copy in UTF-8 is no larger than that.
fn decode_as<'a>(
    encoding: &'static Encoding,
    bytes: &'a [u8],
) -> Result<Cow<'a, str>, ExtractError> {
    let broken = || {
        ExtractError::invalid(format!(
            "not valid {}, which it declares: save it as UTF-8",
            encoding.name()
        ))
    };
    if encoding == UTF_8 {
        return std::str::from_utf8(bytes)
            .map(Cow::Borrowed)
            .map_err(|_| broken());
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let expected = decoder
        .max_utf8_buffer_length(bytes.len())
        .unwrap_or(usize::MAX);
    let mut text = String::with_capacity(expected.min(limits::TEXT_BYTES));
    match decoder.decode_to_string(bytes, &mut text, true) {
        (CoderResult::OutputFull, ..) => Err(ExtractError::limited("more than 16 MiB of text")),
        (CoderResult::InputEmpty, _, true) => Err(broken()),
        (CoderResult::InputEmpty, _, false) => Ok(Cow::Owned(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], charset: Option<&str>) -> Result<String, String> {
        decode(bytes, charset)
            .map(Cow::into_owned)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn charsets_are_read_by_mark_and_declaration() {
        assert_eq!(text("naïve".as_bytes(), None).unwrap(), "naïve");
        assert_eq!(
            text("\u{feff}naïve".as_bytes(), Some("latin1")).unwrap(),
            "naïve"
        );
        assert_eq!(text(b"\xff\xfen\0a\0", None).unwrap(), "na");
        assert_eq!(text(b"n\0a\0", Some("utf-16le")).unwrap(), "na");
        assert_eq!(text(b"na\xefve", Some("ISO-8859-1")).unwrap(), "naïve");
        assert_eq!(text(b"\xc4\xe3\xba\xc3", Some("GBK")).unwrap(), "你好");
        assert_eq!(text(b"\x1b$B$\"\x1b(B", Some("iso-2022-jp")).unwrap(), "あ");
        assert_eq!(
            text("naïve".as_bytes(), Some("windows-1252")).unwrap(),
            "naïve"
        );
    }

    #[test]
    fn bytes_of_no_known_charset_are_refused() {
        let told = "not UTF-8 (byte 2), and no byte order mark or charset says what it is: save it as UTF-8 or declare its charset";
        assert_eq!(text(b"na\xefve", None).unwrap_err(), told);
        let told = "not UTF-8, and its charset `klingon` is unknown: save it as UTF-8";
        assert_eq!(text(b"na\xefve", Some("klingon")).unwrap_err(), told);
        let told = "not valid UTF-8, which it declares: save it as UTF-8";
        assert_eq!(text(b"na\xefve", Some("utf-8")).unwrap_err(), told);
        let told = "not valid GBK, which it declares: save it as UTF-8";
        assert_eq!(text(b"\xc4\xff", Some("gbk")).unwrap_err(), told);
    }
}
