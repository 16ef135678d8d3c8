//! How long a value lives, as scripts and settings write it.

use crate::clock::Millis;
use crate::{Error, Result};

/// How long a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// Until it is deleted.
    Never,
    /// So many milliseconds.
    After(Millis),
}

/// Units, longest suffix first, so that `ms` is not read as `s`.
const UNITS: &[(&str, f64)] = &[
    ("ms", 1.0),
    ("s", 1_000.0),
    ("m", 60_000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
];

/// Ten thousand years: what any store can add to a time of today.
const LONGEST: f64 = 10_000.0 * 365.25 * 86_400_000.0;

impl Ttl {
    /// A number of seconds, a text such as `"500ms"`, `"30s"`, `"5m"`, `"2h"`, `"7d"`, or `null` for the default.
    pub fn of(ttl: &serde_json::Value) -> Result<Option<Self>> {
        use serde_json::Value::{Null, Number, String};
        match ttl {
            Null => Ok(None),
            Number(number) => Self::seconds(number.as_f64().unwrap_or(f64::NAN)).map(Some),
            String(text) => Self::parse(text).map(Some),
            other => Err(invalid(other)),
        }
    }

    /// So many seconds, fractions allowed; 0 is for ever.
    pub fn seconds(seconds: f64) -> Result<Self> {
        Self::millis(seconds * 1_000.0).ok_or_else(|| invalid(&seconds))
    }

    /// A number with a unit: `ms`, `s`, `m`, `h` or `d`.
    pub fn parse(text: &str) -> Result<Self> {
        let unit = UNITS.iter().find_map(|(unit, millis)| {
            let number = text.strip_suffix(unit)?;
            let is_plain = number
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.');
            Some(number.parse::<f64>().ok().filter(|_| is_plain)? * millis)
        });
        unit.and_then(Self::millis).ok_or_else(|| invalid(&text))
    }

    /// A life above zero is at least one millisecond, or it would mean "for ever".
    fn millis(millis: f64) -> Option<Self> {
        if !(0.0..=LONGEST).contains(&millis) {
            return None;
        }
        if millis == 0.0 {
            return Some(Self::Never);
        }
        Some(Self::After(millis.round().max(1.0) as Millis))
    }

    /// What a write carries.
    pub fn life(self) -> Option<Millis> {
        match self {
            Self::Never => None,
            Self::After(millis) => Some(millis),
        }
    }
}

/// The field holds the whole beginning of the text that the reference fixes: `invalid ttl <ttl>`.
fn invalid(ttl: &impl ToString) -> Error {
    Error::invalid("invalid ttl", ttl.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_seconds_and_texts_have_a_unit() {
        for (ttl, expected) in [
            (json!(null), None),
            (json!(0), Some(Ttl::Never)),
            (json!(0.0), Some(Ttl::Never)),
            (json!("0s"), Some(Ttl::Never)),
            (json!(1.5), Some(Ttl::After(1_500))),
            (json!(0.0001), Some(Ttl::After(1))),
            (json!(60), Some(Ttl::After(60_000))),
            (json!("500ms"), Some(Ttl::After(500))),
            (json!("30s"), Some(Ttl::After(30_000))),
            (json!("5m"), Some(Ttl::After(300_000))),
            (json!("2h"), Some(Ttl::After(7_200_000))),
            (json!("7d"), Some(Ttl::After(604_800_000))),
        ] {
            assert_eq!(Ttl::of(&ttl).unwrap(), expected, "{ttl}");
        }
    }

    #[test]
    fn anything_else_is_an_invalid_ttl() {
        for (ttl, text) in [
            (json!(-1), "invalid ttl -1"),
            (json!("soon"), "invalid ttl soon"),
            (json!("30"), "invalid ttl 30"),
            (json!("-5s"), "invalid ttl -5s"),
            (json!("1e3s"), "invalid ttl 1e3s"),
            (json!("infs"), "invalid ttl infs"),
            (json!("s"), "invalid ttl s"),
            (json!(" 5s"), "invalid ttl  5s"),
            (json!(true), "invalid ttl true"),
            (json!([1]), "invalid ttl [1]"),
            (json!("99999999999999d"), "invalid ttl 99999999999999d"),
        ] {
            assert_eq!(Ttl::of(&ttl).unwrap_err().to_string(), text);
        }
    }
}
