//! The languages that terms are made for.

use frostem::Algorithm;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

/// The language of a collection: it says how words are stemmed and which of them are stop words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Language {
    /// Each word by its script: English for Latin, Russian for Cyrillic, and Greek and Arabic for theirs.
    #[default]
    Auto,
    /// Words stay as they are, and none is a stop word.
    None,
    /// `ar`
    Arabic,
    /// `da`
    Danish,
    /// `nl`
    Dutch,
    /// `en`
    English,
    /// `fi`
    Finnish,
    /// `fr`
    French,
    /// `de`
    German,
    /// `el`
    Greek,
    /// `hu`
    Hungarian,
    /// `it`
    Italian,
    /// `no`
    Norwegian,
    /// `pt`
    Portuguese,
    /// `ro`
    Romanian,
    /// `ru`
    Russian,
    /// `es`
    Spanish,
    /// `sv`
    Swedish,
    /// `ta`
    Tamil,
    /// `tr`
    Turkish,
}

impl Language {
    /// All of them, by their codes.
    pub const ALL: [Self; 20] = [
        Self::Arabic,
        Self::Auto,
        Self::Danish,
        Self::German,
        Self::Greek,
        Self::English,
        Self::Spanish,
        Self::Finnish,
        Self::French,
        Self::Hungarian,
        Self::Italian,
        Self::Dutch,
        Self::Norwegian,
        Self::None,
        Self::Portuguese,
        Self::Romanian,
        Self::Russian,
        Self::Swedish,
        Self::Tamil,
        Self::Turkish,
    ];

    /// Its name in settings.
    pub fn code(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Arabic => "ar",
            Self::Danish => "da",
            Self::Dutch => "nl",
            Self::English => "en",
            Self::Finnish => "fi",
            Self::French => "fr",
            Self::German => "de",
            Self::Greek => "el",
            Self::Hungarian => "hu",
            Self::Italian => "it",
            Self::Norwegian => "no",
            Self::Portuguese => "pt",
            Self::Romanian => "ro",
            Self::Russian => "ru",
            Self::Spanish => "es",
            Self::Swedish => "sv",
            Self::Tamil => "ta",
            Self::Turkish => "tr",
        }
    }

    /// What makes stems of its words.
    pub(super) fn algorithm(self) -> Option<Algorithm> {
        let algorithm = match self {
            Self::Auto | Self::None => return None,
            Self::Arabic => Algorithm::Arabic,
            Self::Danish => Algorithm::Danish,
            Self::Dutch => Algorithm::Dutch,
            Self::English => Algorithm::English,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Greek => Algorithm::Greek,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Italian => Algorithm::Italian,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Romanian => Algorithm::Romanian,
            Self::Russian => Algorithm::Russian,
            Self::Spanish => Algorithm::Spanish,
            Self::Swedish => Algorithm::Swedish,
            Self::Tamil => Algorithm::Tamil,
            Self::Turkish => Algorithm::Turkish,
        };
        Some(algorithm)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(code: &str) -> Result<Self, UnknownLanguage> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|language| language.code() == code);
        found.ok_or_else(|| UnknownLanguage(code.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Language {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let code = String::deserialize(reader)?;
        code.parse().map_err(|_| {
            let known = Self::ALL.map(Self::code).join(" ");
            let expected = format!("one of {known}");
            D::Error::invalid_value(Unexpected::Str(&code), &expected.as_str())
        })
    }
}

/// A text that names no language.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown language \"{0}\": it must be one of {known}", known = Language::ALL.map(Language::code).join(" "))]
pub struct UnknownLanguage(pub String);

#[cfg(test)]
mod tests {
    use super::{Language, UnknownLanguage};

    #[test]
    fn each_code_names_its_language() {
        for language in Language::ALL {
            assert_eq!(language.to_string().parse(), Ok(language));
        }
    }

    #[test]
    fn unknown_codes_are_told_the_known_ones() {
        for unknown in ["zh", "EN", "english", ""] {
            let refused: Result<Language, _> = unknown.parse();
            assert_eq!(refused, Err(UnknownLanguage(unknown.to_owned())));
        }
        let said = UnknownLanguage("zh".to_owned()).to_string();
        let expected = "unknown language \"zh\": it must be one of \
                        ar auto da de el en es fi fr hu it nl no none pt ro ru sv ta tr";
        assert_eq!(said, expected);
    }
}
