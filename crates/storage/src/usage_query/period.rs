//! The time that a question about usage is limited to.

use crate::clock::Millis;
pub(super) use crate::usage::STRETCH;
use crate::{Error, Result};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// Days or instants, as the caller gave them.
#[derive(Clone, Debug, Default)]
pub(super) struct UsagePeriod {
    pub(super) date: Option<String>,
    pub(super) date_from: Option<String>,
    pub(super) date_to: Option<String>,
    pub(super) zone: Option<String>,
    pub(super) from_instant: Option<Millis>,
    pub(super) to_instant: Option<Millis>,
}

impl UsagePeriod {
    /// The zone that days are meant in.
    pub(super) fn zone(&self) -> Result<TimeZone> {
        let Some(name) = &self.zone else {
            return Ok(TimeZone::UTC);
        };
        let unknown = |_| {
            Error::invalid(
                "time_zone",
                format!("\"{name}\" is unknown; use a name such as Europe/Berlin"),
            )
        };
        TimeZone::get(name).map_err(unknown)
    }

    /// The instants between which it lies.
    pub(super) fn bounds(&self) -> Result<PeriodBounds> {
        let has_range = self.date_from.is_some() || self.date_to.is_some();
        if self.date.is_some() && has_range {
            return Err(Error::invalid(
                "date",
                "cannot be given together with date_from or date_to",
            ));
        }
        let has_instants = self.from_instant.is_some() || self.to_instant.is_some();
        if has_instants && (self.date.is_some() || has_range) {
            return Err(Error::invalid(
                "from_instant",
                "instants cannot be given together with dates",
            ));
        }
        let zone = self.zone()?;
        let first = self
            .date
            .as_deref()
            .map(|date| ("date", date))
            .or(self.date_from.as_deref().map(|date| ("date_from", date)));
        let last = self
            .date
            .as_deref()
            .map(|date| ("date", date))
            .or(self.date_to.as_deref().map(|date| ("date_to", date)));
        let from = first
            .map(|(field, date)| start(field, date, 0, &zone))
            .transpose()?
            .or(self.from_instant);
        let to = last
            .map(|(field, date)| start(field, date, 1, &zone))
            .transpose()?
            .or(self.to_instant);
        match (from, to) {
            (Some(from), Some(to)) if from >= to => {
                let field = if has_instants {
                    "to_instant"
                } else {
                    "date_to"
                };
                Err(Error::invalid(
                    field,
                    "lies before the beginning of the range",
                ))
            }
            (from, to) => Ok(PeriodBounds { from, to }),
        }
    }
}

/// The instants between which a period lies, where it has bounds.
#[derive(Clone, Copy)]
pub(super) struct PeriodBounds {
    /// The first that is in it.
    pub(super) from: Option<Millis>,
    /// The first behind it.
    pub(super) to: Option<Millis>,
}

impl PeriodBounds {
    pub(super) fn contains(self, at: Millis) -> bool {
        self.from.is_none_or(|from| at >= from) && self.to.is_none_or(|to| at < to)
    }
}

/// When the day that comes `days` after this one begins.
fn start(field: &str, date: &str, days: i64, zone: &TimeZone) -> Result<Millis> {
    let bad = || {
        Error::invalid(
            field,
            format!("\"{date}\" is not a date, or too late a one; write it as 2026-11-21"),
        )
    };
    let day = date.parse::<Date>().ok();
    // The parser also takes times, weeks and signs, which would then be passed over.
    let day = day
        .filter(|day| day.year() >= 0 && day.to_string() == date)
        .ok_or_else(bad)?;
    let begins = day
        .checked_add(days.days())
        .and_then(|day| day.to_zoned(zone.clone()))
        .map_err(|_| bad())?;
    Ok(begins.timestamp().as_millisecond())
}

pub(super) fn day(at: Millis, zone: &TimeZone) -> String {
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    at.to_zoned(zone.clone()).date().to_string()
}

pub(super) fn hour(at: Millis, zone: &TimeZone) -> String {
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    let at = at.to_zoned(zone.clone());
    format!("{}T{:02}", at.date(), at.hour())
}

/// The beginning of the stretch that an instant lies in.
pub(super) fn stretch_of(at: Millis) -> Millis {
    at.div_euclid(STRETCH).saturating_mul(STRETCH)
}
