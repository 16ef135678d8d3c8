//! The stretch of a text that shows best why it was found.

use super::characters::CharacterCounter;
use super::fold::normalized;
use super::token::{Token, TokenKind, each_token};
use super::{Analyzer, QueryTerm};
use std::borrow::Cow;
use std::ops::Range;

/// A stretch of a text without markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The stretch; each line break in it is a space.
    pub text: String,
    /// What was found in it, in characters of the snippet: `[from, to]` without the character at `to`.
    pub ranges: Vec<[usize; 2]>,
}

/// The stretch of at most `length` characters with the most of these terms, the first of several; the text's beginning if it has
/// none of them.
pub fn snippet(text: &str, terms: &[QueryTerm], analyzer: &Analyzer, length: usize) -> Snippet {
    let matches = matches(text, terms, analyzer);
    let best = best_group(&matches, terms.len(), length);
    let window = window(text, &matches[best.clone()], length);
    let mut ranges: Vec<[usize; 2]> = Vec::new();
    let mut counter = CharacterCounter::new(text, window.start);
    for found in &matches[best] {
        let [from, to] = [found.range.start, found.range.end.min(window.end)];
        let [from, to] = [from, to].map(|byte| counter.count_to(byte));
        match ranges.last_mut() {
            Some(last) if from <= last[1] => last[1] = to.max(last[1]),
            _ if from < to => ranges.push([from, to]),
            _ => {}
        }
    }
    let one_line = |sign: char| if sign.is_control() { ' ' } else { sign };
    Snippet {
        text: text[window].chars().map(one_line).collect(),
        ranges,
    }
}

/// An occurrence of a term of the query.
struct TermMatch {
    /// Which of the query's terms.
    term: usize,
    /// Where it stands, in bytes.
    range: Range<usize>,
    /// The same in characters.
    characters: Range<usize>,
}

fn matches(text: &str, terms: &[QueryTerm], analyzer: &Analyzer) -> Vec<TermMatch> {
    let mut found = Vec::new();
    let mut counter = CharacterCounter::new(text, 0);
    each_token(text, &mut |token| {
        let Some(term) = match_of(token, terms, analyzer) else {
            return;
        };
        let shown = match &terms[term] {
            // A letter that stands alone in the query is found in pairs.
            QueryTerm::Prefix(letter)
                if token.text.starts_with(letter.as_str()) && token.kind == TokenKind::Pair =>
            {
                letter.as_str()
            }
            _ => token.text,
        };
        let start = counter.count_to(token.at);
        found.push(TermMatch {
            term,
            range: token.at..token.at + shown.len(),
            characters: start..start + shown.chars().count(),
        });
    });
    found
}

/// The first of the query's terms that a token is found by. A token that is not in normal form can be several of the index.
fn match_of(token: Token<'_>, terms: &[QueryTerm], analyzer: &Analyzer) -> Option<usize> {
    if terms.is_empty() {
        return None;
    }
    let matches = |found: &str| {
        terms.iter().position(|term| match term {
            QueryTerm::Exact(term) => term == found,
            QueryTerm::Prefix(start) => found.starts_with(start.as_str()),
        })
    };
    match normalized(token.text) {
        Cow::Borrowed(_) => matches(&analyzer.term(token)),
        Cow::Owned(text) => {
            let mut first = None;
            each_token(&text, &mut |token| {
                first = first.or_else(|| matches(&analyzer.term(token)));
            });
            first
        }
    }
}

/// The matches that fit together into `length` characters, with the most different terms, then the most matches.
fn best_group(matches: &[TermMatch], terms: usize, length: usize) -> Range<usize> {
    let mut counts = vec![0_usize; terms];
    let (mut best, mut most) = (0..0, (0, 0));
    let (mut first, mut different) = (0, 0);
    for (last, found) in matches.iter().enumerate() {
        different += usize::from(counts[found.term] == 0);
        counts[found.term] += 1;
        while first < last && found.characters.end - matches[first].characters.start > length {
            counts[matches[first].term] -= 1;
            different -= usize::from(counts[matches[first].term] == 0);
            first += 1;
        }
        let group = first..last + 1;
        if (different, group.len()) > most {
            most = (different, group.len());
            best = group;
        }
    }
    best
}

/// The bytes of the text that the snippet shows: the matches in the middle, beginning and ending between words where that is near.
fn window(text: &str, matches: &[TermMatch], length: usize) -> Range<usize> {
    let (found, characters) = match matches {
        [first, .., last] => (
            first.range.start..last.range.end,
            last.characters.end - first.characters.start,
        ),
        [only] => (only.range.clone(), only.characters.len()),
        [] => (0..0, 0),
    };
    let before = length.saturating_sub(characters) / 2;
    let mut start = back(text, found.start, before);
    if start > 0 {
        let gap = text[start..found.start].find(char::is_whitespace);
        start += gap.unwrap_or_default();
        start += text[start..].len() - text[start..].trim_start().len();
    }
    let mut end = forward(text, start, length);
    if end < text.len() && found.end < end {
        let gap = text[found.end..end].rfind(char::is_whitespace);
        end = gap.map_or(end, |gap| found.end + gap);
    }
    start..start + text[start..end].trim_end().len()
}

/// The place so many characters before this one.
fn back(text: &str, from: usize, characters: usize) -> usize {
    let mut before = text[..from].char_indices().rev();
    let Some(last) = characters.checked_sub(1) else {
        return from;
    };
    before.nth(last).map_or(0, |(place, _)| place)
}

/// The place so many characters behind this one.
fn forward(text: &str, from: usize, characters: usize) -> usize {
    let mut behind = text[from..].char_indices();
    let place = behind.nth(characters).map(|(place, _)| from + place);
    place.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::{Snippet, snippet};
    use crate::terms::{Analyzer, Language};

    fn found(text: &str, query: &str, length: usize) -> Snippet {
        let analyzer = Analyzer::new(Language::Auto);
        snippet(text, &analyzer.query(query), &analyzer, length)
    }

    /// The marked stretches of a snippet.
    fn marked(snippet: &Snippet) -> Vec<String> {
        let stretch =
            |[from, to]: &[usize; 2]| snippet.text.chars().take(*to).skip(*from).collect();
        snippet.ranges.iter().map(stretch).collect()
    }

    #[test]
    fn words_are_found_by_their_stems() {
        let found = found("The nodes agreed. Élan's node agrees.", "elan NODE", 200);
        assert_eq!(found.text, "The nodes agreed. Élan's node agrees.");
        assert_eq!(marked(&found), ["nodes", "Élan's", "node"]);
    }

    #[test]
    fn pairs_that_overlap_are_one_range() {
        let found = found("长江发源于青藏高原。", "青藏高原 江", 200);
        assert_eq!(marked(&found), ["江", "青藏高原"]);
    }

    #[test]
    fn forms_that_are_not_normal_are_found() {
        let found = found("全角のＡＭＢＩＴとｶﾞ", "ambit ガ", 200);
        assert_eq!(marked(&found), ["ＡＭＢＩＴ", "ｶﾞ"]);
    }

    #[test]
    fn the_stretch_with_the_most_terms_is_shown() {
        let filler = "nothing to see here ".repeat(40);
        let text = format!("A lease. {filler}\nThe lease has an epoch\nand ends. {filler}");
        let found = found(&text, "lease epoch", 60);
        assert_eq!(marked(&found), ["lease", "epoch"]);
        assert!(found.text.contains("The lease has an epoch and ends."));
        assert!(found.text.chars().count() <= 60, "{}", found.text);
        assert!(filler.contains(found.text.split(" The").next().unwrap()));
    }

    #[test]
    fn without_a_match_the_beginning_is_shown() {
        let expected = Snippet {
            text: "one two".to_owned(),
            ranges: Vec::new(),
        };
        assert_eq!(found("one two three", "nine", 10), expected);
        assert_eq!(found("", "nine", 10), Snippet::default());
    }

    #[test]
    fn a_snippet_is_never_longer_than_asked() {
        let text = "中文字".repeat(300) + &"word ".repeat(300) + &"é".repeat(900);
        for query in ["文字", "word", "é*", "none", "中"] {
            for length in [0, 1, 2, 50, 200] {
                let found = found(&text, query, length);
                let length_found = found.text.chars().count();
                assert!(length_found <= length, "{query} {length}: {length_found}");
                for [from, to] in found.ranges {
                    assert!(from < to && to <= length_found);
                }
            }
        }
    }
}
