//! The tokens of a text: words with their parts, and pairs of letters.

use super::script::{is_invisible, is_paired};
use std::ops::Range;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

/// A stretch of a text that gives a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub text: &'a str,
    /// Where it begins in the text, in bytes.
    pub at: usize,
    pub kind: TokenKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word of UAX #29.
    Word,
    /// A part of the word before it.
    Part,
    /// Two letters that stand side by side.
    Pair,
    /// A letter that stands alone, of a script that else gives pairs.
    Letter,
}

/// Calls `found` for each token, in the order in which they begin; a word comes before its parts.
pub(super) fn each_token(text: &str, found: &mut impl FnMut(Token<'_>)) {
    let mut words = 0;
    while let Some(run) = next_run(text, words) {
        each_word(&text[words..run.start], words, found);
        each_pair(&text[run.clone()], run.start, found);
        words = run.end;
    }
    each_word(&text[words..], words, found);
}

/// The next run of letters that are paired. UAX #29 takes some of them one by one and others together with their neighbours.
fn next_run(text: &str, from: usize) -> Option<Range<usize>> {
    let text = &text[from..];
    if text.is_ascii() {
        return None;
    }
    let start = text.find(is_paired)?;
    let is_end = |sign| !is_paired(sign) && !is_combining_mark(sign) && !is_joiner(sign);
    let end = text[start..].find(is_end);
    let end = end.map_or(text.len(), |length| start + length);
    Some(from + start..from + end)
}

/// An invisible sign that parts no letters; the zero-width space does.
fn is_joiner(sign: char) -> bool {
    is_invisible(sign) && sign != '\u{200b}'
}

/// Marks belong to the letter before them.
fn each_pair(run: &str, at: usize, found: &mut impl FnMut(Token<'_>)) {
    let letters = run.char_indices().filter(|(_, sign)| is_paired(*sign));
    let mut bounds: Vec<_> = letters.map(|(place, _)| place).collect();
    bounds.push(run.len());
    if bounds.len() == 2 {
        found(Token {
            text: run,
            at,
            kind: TokenKind::Letter,
        });
    }
    for bounds in bounds.windows(3) {
        found(Token {
            text: &run[bounds[0]..bounds[2]],
            at: at + bounds[0],
            kind: TokenKind::Pair,
        });
    }
}

fn each_word(text: &str, at: usize, found: &mut impl FnMut(Token<'_>)) {
    let mut start = 0;
    while start < text.len() {
        let end = end_of_stretch(text, start);
        each_word_of_stretch(&text[start..end], at + start, found);
        start = end;
    }
}

/// Where a stretch ends that is ASCII, or a run without white space. No word goes over white space, and words of ASCII are found
/// several times as quickly as others.
fn end_of_stretch(text: &str, start: usize) -> usize {
    let bytes = &text.as_bytes()[start..];
    let Some(other) = bytes.iter().position(|byte| !byte.is_ascii()) else {
        return text.len();
    };
    let (before, behind) = bytes.split_at(other);
    if let Some(space) = before.iter().rposition(u8::is_ascii_whitespace) {
        return start + space + 1;
    }
    let space = behind.iter().position(u8::is_ascii_whitespace);
    space.map_or(text.len(), |space| start + other + space)
}

fn each_word_of_stretch(text: &str, at: usize, found: &mut impl FnMut(Token<'_>)) {
    if text.is_ascii() {
        return each_ascii_word(text, at, found);
    }
    for (place, word) in text.unicode_word_indices() {
        each_token_of_word(word, at + place, found);
    }
}

/// Letters and digits of ASCII are a word, up to a sign that may go on with it: then the library says what the words are, up to
/// white space.
fn each_ascii_word(text: &str, at: usize, found: &mut impl FnMut(Token<'_>)) {
    let bytes = text.as_bytes();
    let mut start = length(bytes, is_between);
    while start < bytes.len() {
        let mut end = start + length(&bytes[start..], u8::is_ascii_alphanumeric);
        if may_go_on(&bytes[end..]) {
            end += length(&bytes[end..], is_no_space);
            for (place, word) in text[start..end].unicode_word_indices() {
                each_token_of_word(word, at + start + place, found);
            }
        } else {
            each_token_of_word(&text[start..end], at + start, found);
        }
        start = end + length(&bytes[end..], is_between);
    }
}

/// How many bytes at the beginning are so.
fn length(bytes: &[u8], is_so: impl Fn(&u8) -> bool) -> usize {
    let end = bytes.iter().position(|byte| !is_so(byte));
    end.unwrap_or(bytes.len())
}

/// Whether a word that begins or stands before these bytes may have the first of them.
fn may_go_on(bytes: &[u8]) -> bool {
    match bytes {
        [b'_', ..] => true,
        [b'\'' | b'.' | b',' | b':' | b';', next, ..] => next.is_ascii_alphanumeric(),
        _ => false,
    }
}

fn is_between(byte: &u8) -> bool {
    !byte.is_ascii_alphanumeric() && *byte != b'_'
}

fn is_no_space(byte: &u8) -> bool {
    !byte.is_ascii_whitespace()
}

/// The word, and its parts.
fn each_token_of_word(word: &str, at: usize, found: &mut impl FnMut(Token<'_>)) {
    found(Token {
        text: word,
        at,
        kind: TokenKind::Word,
    });
    for part in parts(word) {
        found(Token {
            text: &word[part.clone()],
            at: at + part.start,
            kind: TokenKind::Part,
        });
    }
}

/// A letter or digit of a word, with its marks.
struct WordSign {
    range: Range<usize>,
    class: SignClass,
    /// Whether a sign that is none of both stands before it.
    is_behind_sign: bool,
    /// Whether it is an underscore.
    is_behind_underscore: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SignClass {
    Lower,
    Upper,
    Uncased,
    Digit,
}

/// The parts of a word with an underscore, inner capitals or letters beside digits; none of other words.
fn parts(word: &str) -> Vec<Range<usize>> {
    let bytes = word.as_bytes();
    let is_number = bytes.iter().all(u8::is_ascii_digit);
    if is_number || bytes.iter().skip(1).all(u8::is_ascii_lowercase) {
        return Vec::new();
    }
    let signs = signs(word);
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut is_compound = word.contains('_');
    for (place, sign) in signs.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| signs[before].class);
        let next = signs.get(place + 1).map(|next| next.class);
        let is_turn = before.is_some_and(|before| is_turn(before, sign.class, next));
        is_compound |= is_turn;
        // The point of a number is part of it.
        let is_number = before == Some(SignClass::Digit) && sign.class == SignClass::Digit;
        let is_parted = sign.is_behind_underscore || sign.is_behind_sign && !is_number;
        match parts.last_mut() {
            Some(part) if !is_turn && !is_parted => part.end = sign.range.end,
            _ => parts.push(sign.range.clone()),
        }
    }
    if is_compound { parts } else { Vec::new() }
}

/// Whether a part begins where this sign follows that one, in `aB`, `ABc`, `a1` and `1a`.
fn is_turn(before: SignClass, here: SignClass, next: Option<SignClass>) -> bool {
    use SignClass::{Digit, Lower, Upper};
    match (before, here) {
        (Lower, Upper) => true,
        (Upper, Upper) => next == Some(Lower),
        _ => (before == Digit) != (here == Digit),
    }
}

fn signs(word: &str) -> Vec<WordSign> {
    let mut signs: Vec<WordSign> = Vec::with_capacity(word.len());
    let (mut is_behind_sign, mut is_behind_underscore) = (false, false);
    for (place, sign) in word.char_indices() {
        let range = place..place + sign.len_utf8();
        let class = match sign {
            _ if is_combining_mark(sign) || is_invisible(sign) => {
                if let Some(letter) = signs.last_mut() {
                    letter.range.end = range.end;
                }
                continue;
            }
            _ if sign.is_lowercase() => SignClass::Lower,
            _ if sign.is_uppercase() => SignClass::Upper,
            _ if sign.is_numeric() => SignClass::Digit,
            _ if sign.is_alphabetic() => SignClass::Uncased,
            _ => {
                is_behind_sign = true;
                is_behind_underscore |= sign == '_';
                continue;
            }
        };
        signs.push(WordSign {
            range,
            class,
            is_behind_sign,
            is_behind_underscore,
        });
        (is_behind_sign, is_behind_underscore) = (false, false);
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::{Token, TokenKind, each_token};
    use unicode_segmentation::UnicodeSegmentation;

    fn tokens(text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        each_token(text, &mut |token: Token<'_>| {
            let end = token.at + token.text.len();
            assert_eq!(&text[token.at..end], token.text);
            tokens.push(token.text.to_owned());
        });
        tokens
    }

    #[test]
    fn words_are_those_of_the_library_wherever_it_is_cut() {
        let signs: Vec<char> =
            "aZ09'.,:;_-\"/ \t\n\r\u{c}é\u{301}\u{200d}’·б\u{5d0}½\u{ad}\u{200b}\u{a0}🙂"
                .chars()
                .collect();
        let mut state = 29_u64;
        let mut next = |limit: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % limit
        };
        for round in 0..20_000 {
            let known = if round % 2 == 0 { 18 } else { signs.len() };
            let text: String = (0..next(24)).map(|_| signs[next(known)]).collect();
            let mut words = Vec::new();
            super::each_word(&text, 7, &mut |token| {
                if token.kind == TokenKind::Word {
                    words.push((token.at - 7, token.text.to_owned()));
                }
            });
            let expected = text.unicode_word_indices();
            let expected: Vec<_> = expected.map(|(at, word)| (at, word.to_owned())).collect();
            assert_eq!(words, expected, "{text:?}");
        }
    }

    #[test]
    fn words_are_those_of_uax_29_with_a_letter_or_digit() {
        let cases: [(&str, &[&str]); 4] = [
            (
                "The (quick) fox can't – 3.14!",
                &["The", "quick", "fox", "can't", "3.14"],
            ),
            ("a_ _ ... 🙂 #!", &["a_", "a"]),
            ("foo-bar/baz", &["foo", "bar", "baz"]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn a_run_of_letters_gives_its_overlapping_pairs() {
        let cases: [(&str, &[&str]); 9] = [
            ("中文字", &["中文", "文字"]),
            ("中", &["中"]),
            ("我 是", &["我", "是"]),
            (
                "食べたコーヒー",
                &["食べ", "べた", "たコ", "コー", "ーヒ", "ヒー"],
            ),
            ("한국어", &["한국", "국어"]),
            ("ที่นี่", &["ที่นี่"]),
            ("ພາສາ", &["ພາ", "າສ", "ສາ"]),
            ("中。文", &["中", "文"]),
            ("葛\u{e0100}城市", &["葛\u{e0100}城", "城市"]),
        ];
        for (text, expected) in cases {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn runs_of_letters_part_words() {
        let cases: [(&str, &[&str]); 3] = [
            ("Linux입니다", &["Linux", "입니", "니다"]),
            ("用Rust写", &["用", "Rust", "写"]),
            ("2024年3月", &["2024", "年", "3", "月"]),
        ];
        for (text, expected) in cases {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn identifiers_give_the_whole_and_the_parts() {
        let cases: [(&str, &[&str]); 17] = [
            ("user_id", &["user_id", "user", "id"]),
            ("__init__", &["__init__", "init"]),
            ("getUserName", &["getUserName", "get", "User", "Name"]),
            ("HTTPServer", &["HTTPServer", "HTTP", "Server"]),
            ("utf8", &["utf8", "utf", "8"]),
            ("1.5kg", &["1.5kg", "1.5", "kg"]),
            ("v1.2.3", &["v1.2.3", "v", "1.2.3"]),
            ("1990s", &["1990s", "1990", "s"]),
            ("end.Next", &["end.Next", "end", "Next"]),
            ("O'Reilly", &["O'Reilly", "O", "Reilly"]),
            ("élanVital", &["élanVital", "élan", "Vital"]),
            ("e\u{323}aB", &["e\u{323}aB", "e\u{323}a", "B"]),
            ("USA", &["USA"]),
            ("U.S.A", &["U.S.A"]),
            ("can't", &["can't"]),
            ("example.com", &["example.com"]),
            ("3.14", &["3.14"]),
        ];
        for (text, expected) in cases {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_say_their_kind() {
        let mut kinds = Vec::new();
        each_token("中文 字 a_b", &mut |token: Token<'_>| {
            kinds.push(token.kind);
        });
        use TokenKind::{Letter, Pair, Part, Word};
        assert_eq!(kinds, [Pair, Letter, Word, Part, Part]);
    }
}
