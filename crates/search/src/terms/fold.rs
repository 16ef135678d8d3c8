//! From a token to its term: case folding, the stem, and what is left out of it.

use super::Language;
use super::script::{is_greek, is_invisible, is_latin};
use caseless::Caseless;
use frostem::Stemmer;
use std::borrow::Cow;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// What a term has at most, in bytes.
const LONGEST: usize = 128;

/// What of a longer token is looked at: no term of it could say more.
const LONGEST_TOKEN: usize = 4 * LONGEST;

/// A text in the normal form NFKC.
pub(super) fn normalized(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkc().collect())
}

/// A token without case and without what nobody sees. Stemmers know no apostrophe but `'`.
pub(super) fn folded(token: &str) -> String {
    let token = &token[..token.floor_char_boundary(LONGEST_TOKEN)];
    if token.is_ascii() {
        return token.to_ascii_lowercase();
    }
    let signs = token.chars().filter(|sign| !is_invisible(*sign));
    let signs = signs.map(|sign| match sign {
        '\u{2018}' | '\u{2019}' | '\u{201b}' => '\'',
        other => other,
    });
    signs.default_case_fold().collect()
}

/// The term of a folded word.
pub(super) fn stemmed(folded: String, language: Language) -> String {
    let Some(algorithm) = language.algorithm() else {
        return unmarked(folded);
    };
    let stem = match Stemmer::new(algorithm).stem(&folded) {
        Cow::Owned(stem) if !stem.is_empty() => Some(stem),
        _ => None,
    };
    unmarked(stem.unwrap_or(folded))
}

/// The term without the marks of its Latin and Greek letters.
pub(super) fn unmarked(term: String) -> String {
    if term.is_ascii() {
        return cut(term);
    }
    let mut plain = String::with_capacity(term.len());
    let mut has_marks = true;
    for sign in term.chars() {
        if is_combining_mark(sign) {
            plain.extend(has_marks.then_some(sign));
            continue;
        }
        let letter = letter_of(sign);
        has_marks = !is_latin(letter) && !is_greek(letter);
        plain.push(if has_marks { sign } else { letter });
    }
    cut(plain)
}

/// As much of a term as is indexed.
pub(super) fn cut(mut term: String) -> String {
    term.truncate(term.floor_char_boundary(LONGEST));
    term
}

/// The letter that a character is made of, beside its marks.
fn letter_of(sign: char) -> char {
    let mut letter = None;
    decompose_canonical(sign, |part| {
        letter.get_or_insert(part);
    });
    letter.unwrap_or(sign)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, folded, normalized, stemmed, unmarked};
    use crate::terms::Language;

    #[test]
    fn normal_form_is_nfkc() {
        for (text, expected) in [
            ("plain", "plain"),
            ("ＡＢＣ１", "ABC1"),
            ("ﬁn", "fin"),
            ("ｶﾞ", "ガ"),
            ("e\u{301}", "é"),
            ("㈱", "(株)"),
        ] {
            assert_eq!(normalized(text), expected);
        }
    }

    #[test]
    fn case_is_folded_in_full() {
        for (token, expected) in [
            ("Straße", "strasse"),
            ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
            ("Σίσυφος", "σίσυφοσ"),
            ("ŁÓDŹ", "łódź"),
            ("Ambit’s", "ambit's"),
            ("co\u{ad}operate", "cooperate"),
        ] {
            assert_eq!(folded(token), expected);
        }
    }

    #[test]
    fn marks_of_latin_and_greek_letters_are_dropped_and_others_kept() {
        for (term, expected) in [
            ("naïve", "naive"),
            ("việt", "viet"),
            ("i\u{307}stanbul", "istanbul"),
            ("άνθρωποσ", "ανθρωποσ"),
            ("йод", "йод"),
            ("हिन्दी", "हिन्दी"),
            ("שָׁלוֹם", "שָׁלוֹם"),
            ("ø", "ø"),
        ] {
            assert_eq!(unmarked(term.to_owned()), expected);
        }
    }

    #[test]
    fn marks_are_dropped_behind_the_stemmer_that_needs_them() {
        assert_eq!(stemmed("mangées".to_owned(), Language::French), "mang");
        assert_eq!(stemmed("élève".to_owned(), Language::French), "elev");
        assert_eq!(stemmed("élève".to_owned(), Language::None), "eleve");
    }

    #[test]
    fn terms_end_at_a_character_within_128_bytes() {
        for word in [
            "a".repeat(1_000),
            "é".repeat(1_000),
            "中".repeat(1_000),
            "ΐ".repeat(1_000),
        ] {
            let term = stemmed(folded(&word), Language::None);
            assert!(term.len() <= LONGEST && term.len() > LONGEST - 4, "{term}");
        }
    }
}
