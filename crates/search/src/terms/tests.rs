//! The rules of the terms, and that shorter ways lead to the same terms.

use super::{Analyzer, Language, QueryTerm, TermCounts};
use std::fmt::Write;

fn counted(text: &str, language: Language) -> TermCounts {
    let mut counts = TermCounts::new();
    Analyzer::new(language).count(text, 1, &mut counts);
    counts
}

/// The terms of a text in byte order.
fn terms(text: &str, language: Language) -> Vec<String> {
    counted(text, language).into_keys().collect()
}

/// The terms of a query, prefixes with a star.
fn asked(query: &str) -> Vec<String> {
    let terms = Analyzer::default().query(query).into_iter();
    let said = terms.map(|term| match term {
        QueryTerm::Exact(term) => term,
        QueryTerm::Prefix(start) => start + "*",
    });
    said.collect()
}

#[test]
fn each_occurrence_counts_with_its_weight() {
    let mut counts = TermCounts::new();
    let analyzer = Analyzer::new(Language::English);
    analyzer.count("Leases of the leaseholder: a lease.", 1, &mut counts);
    analyzer.count("The lease", 2, &mut counts);
    let counts: Vec<_> = counts
        .iter()
        .map(|(term, count)| (term.as_str(), *count))
        .collect();
    let expected = [
        ("a", 1),
        ("leas", 4),
        ("leasehold", 1),
        ("of", 1),
        ("the", 3),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn counts_do_not_overflow() {
    let mut counts = TermCounts::new();
    Analyzer::default().count("one one", u32::MAX, &mut counts);
    assert_eq!(counts["one"], u32::MAX);
}

#[test]
fn every_language_has_its_stems() {
    let cases = [
        (Language::Arabic, "الكتاب", "كتاب"),
        (Language::Danish, "husene", "hus"),
        (Language::German, "Häuser", "haus"),
        (Language::Greek, "ανθρώπων", "ανθρωπ"),
        (Language::English, "running", "run"),
        (Language::Spanish, "canciones", "cancion"),
        (Language::Finnish, "taloissa", "talo"),
        (Language::French, "mangeaient", "mang"),
        (Language::Hungarian, "házakban", "haz"),
        (Language::Italian, "bambini", "bambin"),
        (Language::Dutch, "boeken", "boek"),
        (Language::Norwegian, "husene", "hus"),
        (Language::Portuguese, "meninos", "menin"),
        (Language::Romanian, "copiilor", "cop"),
        (Language::Russian, "книгами", "книг"),
        (Language::Swedish, "husen", "hus"),
        (Language::Tamil, "மரங்கள்", "மரங்"),
        (Language::Turkish, "kitaplar", "kitap"),
        (Language::None, "running", "running"),
    ];
    for (language, word, stem) in cases {
        assert_eq!(terms(word, language), [stem], "{language}");
    }
}

#[test]
fn auto_takes_the_language_from_the_script() {
    let text = "running книгами ανθρώπων الكتاب שלום";
    let expected = ["run", "ανθρωπ", "книг", "שלום", "كتاب"];
    assert_eq!(terms(text, Language::Auto), expected);
}

#[test]
fn the_whole_and_the_parts_of_identifiers_are_found() {
    let found = terms("maxRetries", Language::English);
    assert_eq!(found, ["max", "maxretri", "retri"]);
    assert_eq!(asked("max_retries"), ["max_retri", "max", "retri"]);
}

#[test]
fn forms_of_a_word_have_one_term() {
    for form in [
        "Café",
        "CAFÉ",
        "cafe\u{301}",
        "ｃａｆé",
        "ca\u{ad}fé",
        "cafe",
    ] {
        assert_eq!(terms(form, Language::None), ["cafe"], "{form}");
    }
    for form in ["Ambit's", "ambit’s", "AMBIT"] {
        assert_eq!(terms(form, Language::English), ["ambit"], "{form}");
    }
}

#[test]
fn stop_words_are_indexed_and_dropped_from_queries() {
    assert_eq!(terms("to be", Language::Auto), ["be", "to"]);
    assert_eq!(asked("What is the lease of it?"), ["leas"]);
    assert_eq!(asked("To be or not to be"), ["to", "be", "or", "not"]);
    assert_eq!(asked("is_valid"), ["is_valid", "valid"]);
}

#[test]
fn a_star_behind_the_last_word_asks_for_what_begins_with_it() {
    let cases: [(&str, &[&str]); 9] = [
        ("open runni*", &["open", "runni*"]),
        ("open Élan* ", &["open", "elan*"]),
        ("the*", &["the*"]),
        ("user_na*", &["user_na*"]),
        ("run* fast", &["run", "fast"]),
        ("c++ *", &["c"]),
        ("rust＊", &["rust*"]),
        ("中文*", &["中文"]),
        ("*", &[]),
    ];
    for (query, expected) in cases {
        assert_eq!(asked(query), expected, "{query}");
    }
}

#[test]
fn a_letter_that_stands_alone_finds_pairs_that_begin_with_it() {
    assert_eq!(terms("江 长江", Language::Auto), ["江", "长江"]);
    assert_eq!(asked("江"), ["江*"]);
    assert_eq!(asked("长江 3 月"), ["长江", "3", "月*"]);
}

#[test]
fn quotes_and_signs_part_words() {
    let expected = ["foo", "bar", "baz", "qux"];
    assert_eq!(asked("\"foo bar\" -baz +qux AND"), expected);
    assert_eq!(asked("(foo|bar)^baz~qux"), expected);
}

#[test]
fn of_a_query_128_distinct_terms_count() {
    let mut query = String::from("the ");
    for number in 0..500 {
        let _ = write!(
            query,
            "w{} ",
            char::from_u32(0x4e00 + number % 300).unwrap()
        );
    }
    let terms = Analyzer::default().query(&query);
    assert_eq!(terms.len(), 128);
    let words = "the of ".repeat(1_000);
    assert_eq!(asked(&words), ["the", "of"]);
}

/// Comparing each of the words with all before it would take minutes.
#[test]
fn words_of_a_query_are_each_once_in_their_order() {
    let mut query = String::from("zebra The zebra of ant ");
    for number in 0..200_000 {
        let _ = write!(query, "w{number} ");
    }
    let found = Analyzer::default().words(&format!("{query}{query}"));
    assert_eq!(found.len(), 200_002);
    assert_eq!(found[..4], ["zebra", "ant", "w0", "w1"]);
    assert_eq!(Analyzer::default().words("the of the"), ["the", "of"]);
}

/// Numbers that look random and are the same in each run: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn text(&mut self, signs: &[char], length: usize) -> String {
        let length = self.below(length + 1);
        (0..length)
            .map(|_| signs[self.below(signs.len())])
            .collect()
    }
}

/// A Greek letter keeps a text from all shorter ways, and gives a term that no ASCII text has.
#[test]
fn ascii_texts_have_the_same_terms_on_the_short_way() {
    let signs: Vec<_> = "aabbeiinorstyABST'''...::,,;__119 \n\r\t-\"*"
        .chars()
        .collect();
    let mut numbers = Numbers(15);
    for _ in 0..4_000 {
        let text = numbers.text(&signs, 40);
        for language in [Language::Auto, Language::English, Language::None] {
            let mut long = counted(&format!("{text} λ"), language);
            assert_eq!(long.remove("λ"), Some(1), "{text:?}");
            assert_eq!(counted(&text, language), long, "{text:?}");
        }
    }
}

#[test]
fn ascii_words_fold_the_same_on_the_short_way() {
    for sign in '\0'..'\u{80}' {
        let long = super::folded(&format!("{sign}é"));
        assert_eq!(long, super::folded(&sign.to_string()) + "é");
    }
}

/// What a stemmer makes of a text, it must make of any text without a panic.
#[test]
fn no_text_is_refused() {
    let alphabets = [
        "abcdefghijklmnopqrstuvwxyz'",
        "aeiousltnrmgedåäöæøéèêçßüőűáíóúñãõâîșțğışb",
        "абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїє",
        "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊΐϋΰ",
        "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءآأإؤئًٌٍَُِّْـ",
        "அஆஇஈஉஊஎஏஐஒஓகஙசஞடணதநபமயரலவழளறனாிீுூெேைொோௌ்",
        "aZ0_.'’\u{301}\u{308}\u{ad}\u{200b}\u{200d}\u{fe0f}中かカ한ที่😀\u{e0100}ﬁ㈱İŉΐ \n",
    ];
    let mut numbers = Numbers(2015);
    for alphabet in alphabets {
        let signs: Vec<_> = alphabet.chars().collect();
        for _ in 0..400 {
            let text = numbers.text(&signs, 24);
            for language in Language::ALL {
                let found = terms(&text, language);
                assert!(
                    found
                        .iter()
                        .all(|term| !term.is_empty() && term.len() <= 128)
                );
                Analyzer::new(language).query(&text);
            }
        }
    }
}

#[test]
fn a_query_finds_the_terms_of_its_own_words() {
    let signs: Vec<_> = "abisS_1. 'é中文字ガคน".chars().collect();
    let mut numbers = Numbers(7);
    for _ in 0..2_000 {
        let text = numbers.text(&signs, 30);
        let found = counted(&text, Language::Auto);
        for term in Analyzer::default().query(&text) {
            let is_there = match &term {
                QueryTerm::Exact(term) => found.contains_key(term),
                QueryTerm::Prefix(start) => found.keys().any(|term| term.starts_with(start)),
            };
            assert!(is_there, "{text:?}: {term:?}");
        }
    }
}
