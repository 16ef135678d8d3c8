//! Citations in an answer: their links are shown as `[1]`, and what they name is listed behind it.

use serde_json::Value;
use std::mem::take;

/// How a link of a citation begins and ends, unless the app cites otherwise.
const BEGIN: &str = "<a class=\"ref\"";
const END: &str = "</a>";
/// What is longer is no such link.
const LONGEST: usize = 1_000;

/// Takes the links of citations out of a text that comes in pieces.
#[derive(Default)]
pub struct CitationLinks {
    waiting: String,
}

/// What a text begins with.
enum LinkMatch {
    /// A link of so many bytes, which is shown like this.
    Whole(usize, String),
    /// What may become one.
    Begun,
    Nothing,
}

impl CitationLinks {
    /// What can be shown of the text by now.
    pub fn push(&mut self, text: &str) -> String {
        self.waiting.push_str(text);
        let mut shown = String::new();
        while let Some(at) = self.waiting.find('<') {
            shown.extend(self.waiting.drain(..at));
            match find_link(&self.waiting) {
                LinkMatch::Whole(length, label) => {
                    shown.push_str(&label);
                    self.waiting.drain(..length);
                }
                LinkMatch::Begun => return shown,
                LinkMatch::Nothing => shown.extend(self.waiting.drain(..1)),
            }
        }
        shown.push_str(&take(&mut self.waiting));
        shown
    }

    /// The rest: what has begun is no link.
    pub fn end(&mut self) -> String {
        take(&mut self.waiting)
    }
}

fn find_link(text: &str) -> LinkMatch {
    if BEGIN.starts_with(text) {
        return LinkMatch::Begun;
    }
    if !text.starts_with(BEGIN) {
        return LinkMatch::Nothing;
    }
    match text.find(END) {
        Some(end) => {
            let label = text[..end].rsplit('>').next().unwrap_or_default();
            LinkMatch::Whole(end + END.len(), label.to_owned())
        }
        None if text.len() < LONGEST => LinkMatch::Begun,
        None => LinkMatch::Nothing,
    }
}

/// The numbers that stand in brackets in an answer, `[1]` or `[^1]`, each once.
pub fn cited(answer: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for part in answer.split('[').skip(1) {
        let Some((id, _)) = part.split_once(']') else {
            continue;
        };
        let id = id.strip_prefix('^').unwrap_or(id);
        let is_number = !id.is_empty() && id.bytes().all(|digit| digit.is_ascii_digit());
        if is_number && !ids.iter().any(|known| known == id) {
            ids.push(id.to_owned());
        }
    }
    ids
}

/// A line for each reference that is cited: its number, its title and where it is found.
pub fn lines(references: &Value, cited: &[String]) -> Vec<String> {
    let all = references["references"].as_array();
    let named = cited.iter().filter_map(|id| {
        let mut all = all.into_iter().flatten();
        all.find(|reference| reference["id"] == id.as_str())
    });
    named.map(line).collect()
}

fn line(reference: &Value) -> String {
    let text = |key: &str| reference[key].as_str().unwrap_or_default();
    let id = text("id");
    if reference["gone"] == true {
        return format!("[{id}] is gone");
    }
    let record = match &reference["record_id"] {
        Value::Null => String::new(),
        Value::String(record) => format!("{} {record}", text("model")),
        record => format!("{} {record}", text("model")),
    };
    let places = [text("url"), text("document_id"), &record];
    let place = places.into_iter().find(|place| !place.is_empty());
    let line = format!("[{id}] {}  {}", text("title"), place.unwrap_or_default());
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{CitationLinks, cited, lines};
    use serde_json::json;

    #[test]
    fn links_of_citations_are_shown_as_numbers_however_they_are_cut() {
        let text = "a < b <b>c</b> <a class=\"ref\" data-ref-id=\"1\" href=\"#ref:1\">[1]</a>, é<a class=\"ref\"";
        for length in 1..text.len() {
            let mut links = CitationLinks::default();
            let letters: Vec<char> = text.chars().collect();
            let pieces = letters.chunks(length);
            let mut shown: String = pieces
                .map(|piece| links.push(&piece.iter().collect::<String>()))
                .collect();
            shown.push_str(&links.end());
            assert_eq!(shown, "a < b <b>c</b> [1], é<a class=\"ref\"");
        }
    }

    #[test]
    fn what_is_cited_is_listed_in_the_order_of_the_answer() {
        let cited = cited("x[2], [^1] and [2], list[0], [a] [");
        assert_eq!(cited, ["2", "1", "0"]);
        let references = json!({"references": [
            {"id": "1", "title": "Lamps", "url": "https://a.test/"},
            {"id": "2", "title": "Returns", "url": "", "document_id": "handbook:returns.md"},
            {"id": "3", "title": "Other"},
        ]});
        let expected = [
            "[2] Returns  handbook:returns.md",
            "[1] Lamps  https://a.test/",
        ];
        assert_eq!(lines(&references, &cited), expected);
        let others = json!({"references": [
            {"id": "2", "title": "Lamp", "model": "product", "record_id": 7},
            {"id": "1", "gone": true},
        ]});
        assert_eq!(
            lines(&others, &cited),
            ["[2] Lamp  product 7", "[1] is gone"]
        );
    }
}
