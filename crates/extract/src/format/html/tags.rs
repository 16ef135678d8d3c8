//! The tags of HTML, and what is known of elements by their names.

use std::convert::Infallible;

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

/// Elements whose content is no text of the document.
pub(super) const SKIPPED: &[&str] = &[
    "script", "style", "nav", "header", "footer", "template", "noscript", "iframe", "noembed",
];

/// Elements that begin on a line of their own, and end it.
pub(super) const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hr",
    "legend",
    "li",
    "main",
    "nav",
    "option",
    "p",
    "section",
    "summary",
];

/// Elements without an end.
pub(super) const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];

/// Elements whose end may be left out.
pub(super) const END_OPTIONAL: &[&str] = &[
    "html", "head", "body", "p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead",
    "tbody", "tfoot", "colgroup", "caption", "rt", "rp",
];

/// The tags and texts of HTML. What stands between the tags of scripts and styles is text.
pub(super) fn tokens(html: &[u8]) -> impl Iterator<Item = Token> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(html, emitter).map(|token: Result<Token, Infallible>| match token {
        Ok(token) => token,
    })
}

/// The charset that a `meta` element at the beginning of a file declares.
pub(super) fn declared_charset(start: &[u8]) -> Option<String> {
    let charset = tokens(start).find_map(|token| match token {
        Token::StartTag(tag) if tag.name.as_slice() == b"meta" => attribute(&tag, "charset")
            .or_else(|| {
                let content = attribute(&tag, "content")?;
                let at = content.to_ascii_lowercase().find("charset=")?;
                content[at + "charset=".len()..]
                    .split([';', ' '])
                    .next()
                    .map(str::to_owned)
            }),
        _ => None,
    })?;
    // The tags could be read, so that it is a charset which looks like ASCII.
    (!charset.to_ascii_lowercase().starts_with("utf-16")).then_some(charset)
}

pub(super) fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charsets_are_found_in_both_spellings() {
        assert_eq!(
            declared_charset(b"<title>a</title><META charset=\"gbk\">").as_deref(),
            Some("gbk")
        );
        let old = b"<meta http-equiv=Content-Type content='text/html; Charset=Shift_JIS'>";
        assert_eq!(declared_charset(old).as_deref(), Some("Shift_JIS"));
        assert_eq!(
            declared_charset(b"<script>'<meta charset=gbk>'</script>"),
            None
        );
        assert_eq!(declared_charset(b"<meta charset=utf-16>"), None);
    }
}
