//! Decimal numbers as texts with a fixed number of digits behind the point.

use serde_json::Number;
use std::cmp::Ordering;

/// The name of [`compare`] in SQLite.
pub const COLLATION: &str = "ambit_decimal";

/// A number as a text with so many digits behind the point, rounded.
pub fn of_number(number: &Number, scale: u32) -> Option<String> {
    let plain = number.to_string();
    let is_whole = plain
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_whole {
        return parse(&plain, scale).ok();
    }
    let number = number.as_f64().filter(|number| number.is_finite())?;
    let rounded = format!("{number:.*}", usize::try_from(scale).ok()?);
    parse(&rounded, scale).ok()
}

/// A text as it is kept: without leading zeros and with all digits behind the point.
pub fn parse(text: &str, scale: u32) -> Result<String, String> {
    let wrong = || "must be a decimal number such as \"12.50\"".to_owned();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (whole, behind) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    if !is_number(whole) || !is_number(behind) {
        return Err(wrong());
    }
    let scale = usize::try_from(scale).map_err(|_| wrong())?;
    let behind = behind.trim_end_matches('0');
    if behind.len() > scale {
        return Err(format!("must have at most {scale} digits behind the point"));
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let sign = match whole == "0" && behind.is_empty() {
        true => "",
        false => sign,
    };
    Ok(match scale {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{behind:0<scale$}"),
    })
}

/// How many digits stand in front of the point.
pub fn whole_digits(text: &str) -> usize {
    let whole = text.split('.').next().unwrap_or_default();
    let whole = whole.trim_start_matches('-');
    match whole {
        "0" => 0,
        whole => whole.len(),
    }
}

/// Which of two is the larger number.
pub fn compare(one: &str, other: &str) -> Ordering {
    match (one.strip_prefix('-'), other.strip_prefix('-')) {
        (Some(one), Some(other)) => size(other, one),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => size(one, other),
    }
}

fn size(one: &str, other: &str) -> Ordering {
    let (one, other) = (split(one), split(other));
    let length = one.0.len().cmp(&other.0.len());
    length.then_with(|| one.cmp(&other))
}

fn split(text: &str) -> (&str, &str) {
    let (whole, behind) = text.split_once('.').unwrap_or((text, ""));
    (whole.trim_start_matches('0'), behind.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_kept_with_all_their_digits() {
        for (given, kept) in [
            ("1", "1.00"),
            ("-0.0", "0.00"),
            ("007.5", "7.50"),
            ("12345678901234567890.12", "12345678901234567890.12"),
            ("-3.1000", "-3.10"),
        ] {
            assert_eq!(parse(given, 2).as_deref(), Ok(kept));
        }
        for wrong in ["", ".", "1.", ".5", "1e3", "+1", "1.234", "--1", "1,5"] {
            assert!(parse(wrong, 2).is_err(), "{wrong}");
        }
    }

    #[test]
    fn decimals_are_ordered_as_numbers() {
        let ordered = [
            "-100.00", "-20.50", "-20.05", "0.00", "0.50", "9.99", "10.00", "100.01",
        ];
        let mut shuffled = ordered;
        shuffled.reverse();
        shuffled.sort_by(|one, other| compare(one, other));
        assert_eq!(shuffled, ordered);
    }
}
