//! Which script a character is of, as far as terms depend on it. Blocks of Unicode never change.

use super::Language;
use unicode_normalization::char::is_combining_mark;

/// Blocks of the scripts whose words are found by pairs of letters.
const PAIRED: [(char, char); 20] = [
    // Thai, Lao
    ('\u{0e00}', '\u{0eff}'),
    // Myanmar
    ('\u{1000}', '\u{109f}'),
    // Hangul Jamo
    ('\u{1100}', '\u{11ff}'),
    // Khmer
    ('\u{1780}', '\u{17ff}'),
    // Radicals of Han
    ('\u{2e80}', '\u{2fdf}'),
    // Signs of Han, Hiragana, Katakana
    ('\u{3005}', '\u{3007}'),
    ('\u{3021}', '\u{30ff}'),
    // Hangul Compatibility Jamo
    ('\u{3130}', '\u{318f}'),
    // Katakana Phonetic Extensions
    ('\u{31f0}', '\u{31ff}'),
    // Han
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{9fff}'),
    // Hangul Jamo Extended-A, Myanmar Extended-B
    ('\u{a960}', '\u{a97f}'),
    ('\u{a9e0}', '\u{a9ff}'),
    // Myanmar Extended-A
    ('\u{aa60}', '\u{aa7f}'),
    // Hangul Syllables, Hangul Jamo Extended-B
    ('\u{ac00}', '\u{d7ff}'),
    // Compatibility forms of Han, half-width kana and Hangul
    ('\u{f900}', '\u{faff}'),
    ('\u{ff66}', '\u{ffdc}'),
    // Myanmar Extended-C, kana
    ('\u{116d0}', '\u{116ff}'),
    ('\u{1aff0}', '\u{1b16f}'),
    // Han
    ('\u{20000}', '\u{3ffff}'),
];

/// True for a letter of Han, kana, Hangul, Thai, Lao, Khmer or Myanmar.
pub(super) fn is_paired(sign: char) -> bool {
    if sign < PAIRED[0].0 {
        return false;
    }
    let place = PAIRED.partition_point(|block| block.1 < sign);
    let is_inside = PAIRED.get(place).is_some_and(|block| block.0 <= sign);
    is_inside && sign.is_alphabetic() && !is_combining_mark(sign)
}

/// True for characters that nobody sees: soft hyphens, joiners, signs of direction and variation.
pub(super) fn is_invisible(sign: char) -> bool {
    matches!(
        sign,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// True for Latin letters.
pub(super) fn is_latin(letter: char) -> bool {
    matches!(
        letter,
        'a'..='z'
            | 'A'..='Z'
            | '\u{aa}'
            | '\u{ba}'
            | '\u{c0}'..='\u{2af}'
            | '\u{1d00}'..='\u{1dbf}'
            | '\u{1e00}'..='\u{1eff}'
            | '\u{2c60}'..='\u{2c7f}'
            | '\u{a720}'..='\u{a7ff}'
            | '\u{ab30}'..='\u{ab6f}'
    )
}

/// True for Greek letters.
pub(super) fn is_greek(letter: char) -> bool {
    matches!(letter, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}')
}

/// The language whose stems a word gets where none is set: that of the script of its first letter.
pub(super) fn language_of(word: &str) -> Language {
    match word.chars().find(|sign| sign.is_alphabetic()) {
        Some(letter) if is_latin(letter) => Language::English,
        Some(letter) if is_greek(letter) => Language::Greek,
        Some('\u{400}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' | '\u{a640}'..='\u{a69f}') => {
            Language::Russian
        }
        Some('\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}') => {
            Language::Arabic
        }
        _ => Language::None,
    }
}

#[cfg(test)]
mod tests {
    use super::{PAIRED, is_paired, language_of};
    use crate::terms::Language;

    #[test]
    fn blocks_stand_in_order() {
        for pair in PAIRED.windows(2) {
            assert!(pair[0].0 <= pair[0].1 && pair[0].1 < pair[1].0, "{pair:?}");
        }
    }

    #[test]
    fn letters_of_seven_scripts_are_paired() {
        for letter in "中々〇ひカーｶ한ᄒไລខမ𠀀".chars() {
            assert!(is_paired(letter), "{letter}");
        }
        for other in "aé9б๑၁。、・「\u{3099}\u{e48}　".chars() {
            assert!(!is_paired(other), "{other:?}");
        }
    }

    #[test]
    fn the_first_letter_says_the_language() {
        let cases = [
            ("3rd", Language::English),
            ("école", Language::English),
            ("ёлка", Language::Russian),
            ("ἀρχή", Language::Greek),
            ("كتاب", Language::Arabic),
            ("שלום", Language::None),
            ("2024", Language::None),
        ];
        for (word, language) in cases {
            assert_eq!(language_of(word), language, "{word}");
        }
    }
}
