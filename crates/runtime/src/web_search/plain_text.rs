//! Titles and texts of results as people read them. Providers cut them out of pages, with marks in the middle of words.

use html5gum::{DefaultEmitter, Token, Tokenizer};

/// Elements that only change how words look; all others separate words.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "cite", "code", "em", "font", "i", "mark", "s", "small", "span",
    "strong", "sub", "sup", "u", "wbr",
];

/// Elements whose text nobody reads.
const SILENT: &[&str] = &["script", "style"];

/// Returns the text without tags, with entities as their characters, and with one space between words.
pub fn plain_text(text: &str) -> String {
    // A tag that does not end would take the rest of the text with it: `a <b`.
    let (tags, rest) = text.split_at(text.rfind('>').map_or(0, |end| end + 1));
    let html = format!("{tags}{}", rest.replace('<', "&lt;"));
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut plain = String::new();
    let mut is_silent = false;
    for Ok(token) in Tokenizer::new_with_emitter(&html, emitter) {
        let name = match token {
            Token::StartTag(tag) => tag.name,
            Token::EndTag(tag) => tag.name,
            Token::String(text) if !is_silent => {
                plain.push_str(&String::from_utf8_lossy(&text));
                continue;
            }
            _ => continue,
        };
        let name = &*String::from_utf8_lossy(&name);
        // The end of a silent element is the next tag behind its start.
        is_silent = !is_silent && SILENT.contains(&name);
        if !INLINE.contains(&name) {
            plain.push(' ');
        }
    }
    let words = plain.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Cuts a text to at most so many bytes.
pub fn truncate(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
}

#[cfg(test)]
mod tests {
    use super::{plain_text, truncate};

    #[test]
    fn tags_and_entities_are_resolved_and_spaces_joined() {
        let texts = [
            ("  plain \t text\r\n", "plain text"),
            (
                "Z&uuml;<b>rich</b> &amp; <EM class='x'>Basel</EM>",
                "Zürich & Basel",
            ),
            ("one<br/>two<p>three</p>", "one two three"),
            ("5 &#215; 7 &#x3d; 35 &nbsp; &hellip;", "5 × 7 = 35 …"),
            ("a<!-- b --> c<script>alert('<b>')</script>d", "a c d"),
            ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
            ("<i>if</i> a <b then", "if a <b then"),
            ("a<script>b", "a"),
            ("a\u{0}b\u{7}c", "a b c"),
            ("<a href=\"https://x.test/?a=1&b=2\">link</a>", "link"),
        ];
        for (text, plain) in texts {
            assert_eq!(plain_text(text), plain, "{text}");
        }
    }

    #[test]
    fn what_was_escaped_is_text_and_no_tag() {
        assert_eq!(plain_text("&lt;b&gt;bold&lt;/b&gt;"), "<b>bold</b>");
        assert_eq!(plain_text("&amp;lt;"), "&lt;");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut text = "äöü".to_owned();
        truncate(&mut text, 3);
        assert_eq!(text, "ä");
    }
}
