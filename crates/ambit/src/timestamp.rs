//! Times as people type and read them.

use ambit_storage::clock::Millis;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// A day, `2026-11-21`, which is its beginning in UTC, or an instant, `2026-11-21T09:30:00Z`.
pub fn parse(text: &str) -> Result<Millis, String> {
    let wrong = |_| "write a day as 2026-11-21 or a time as 2026-11-21T09:30:00Z".to_owned();
    // Dates first would take a time without its zone for a day.
    if text.len() == "2026-11-21".len() {
        let day: Date = text.parse().map_err(wrong)?;
        let begins = day.to_zoned(TimeZone::UTC).map_err(wrong)?;
        return Ok(begins.timestamp().as_millisecond());
    }
    let at: Timestamp = text.parse().map_err(wrong)?;
    Ok(at.as_millisecond())
}

/// The instant in UTC, to the second.
pub fn show(at: Millis) -> String {
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn days_and_instants_are_understood() {
        assert_eq!(parse("1970-01-02"), Ok(86_400_000));
        assert_eq!(parse("1970-01-01T01:00:00+01:00"), Ok(0));
        assert_eq!(parse("1970-01-01T00:00:01.5Z"), Ok(1_500));
        assert_eq!(show(86_400_000), "1970-01-02 00:00:00Z");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-02-30",
            "2026-11-21T09:30:00",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
