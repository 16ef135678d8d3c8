//! Dates and times, read as people write them and kept as `YYYY-MM-DD HH:MM:SS` UTC.

use crate::model::database::{DATE, MOMENT, TIME};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

/// A moment; those without an offset are UTC already.
pub fn moment(text: &str) -> Option<String> {
    Some(parse(text)?.strftime(MOMENT).to_string())
}

/// A date, or that of a moment.
pub fn date(text: &str) -> Option<String> {
    Some(parse(text)?.strftime(DATE).to_string())
}

/// A time of the day, or that of a moment.
pub fn time(text: &str) -> Option<String> {
    let time = match text.parse::<Time>() {
        Ok(time) => time,
        Err(_) => parse(text)?.time(),
    };
    Some(time.strftime(TIME).to_string())
}

fn parse(text: &str) -> Option<DateTime> {
    let moment = match text.parse::<Timestamp>() {
        Ok(moment) => moment.to_zoned(TimeZone::UTC).datetime(),
        Err(_) => match text.parse::<DateTime>() {
            Ok(moment) => moment,
            Err(_) => text.parse::<Date>().ok()?.to_datetime(Time::midnight()),
        },
    };
    // Databases have no year 0, and this one has no sign.
    (moment.year() > 0).then_some(moment)
}
