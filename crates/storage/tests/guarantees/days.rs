//! Days of usage in any zone, and dates that make no sense: G90, G153.

use crate::bed::{Bed, Case, chat, invalid};
use ambit_storage::storage::UsageRecord;
use ambit_storage::{LiveAgent, Usage, UsageField};
use std::collections::BTreeMap;

pub const CASES: &[Case] = cases![
    g090_a_day_holds_all_of_it_and_nothing_of_its_neighbours,
    g090_both_ends_of_a_range_of_days_are_whole,
    g090_a_range_of_instants_is_half_open,
    g090_hours_are_those_of_the_zone,
    g153_dates_that_make_no_sense_are_invalid,
    g153_filters_of_usage_that_contradict_each_other_are_invalid,
];

/// A day: its zone, and the first instants of it and of the next day.
const DAYS: [(&str, &str, &str, &str); 11] = [
    (
        "UTC",
        "2026-11-21",
        "2026-11-21T00:00:00Z",
        "2026-11-22T00:00:00Z",
    ),
    // The clock goes forward: 23 hours; and back: 25 hours.
    (
        "Europe/Berlin",
        "2026-03-29",
        "2026-03-28T23:00:00Z",
        "2026-03-29T22:00:00Z",
    ),
    (
        "Europe/Berlin",
        "2026-10-25",
        "2026-10-24T22:00:00Z",
        "2026-10-25T23:00:00Z",
    ),
    (
        "America/New_York",
        "2026-03-08",
        "2026-03-08T05:00:00Z",
        "2026-03-09T04:00:00Z",
    ),
    // Half hours and quarters.
    (
        "Asia/Kolkata",
        "2026-02-28",
        "2026-02-27T18:30:00Z",
        "2026-02-28T18:30:00Z",
    ),
    (
        "Asia/Kathmandu",
        "2026-02-28",
        "2026-02-27T18:15:00Z",
        "2026-02-28T18:15:00Z",
    ),
    (
        "America/St_Johns",
        "2026-07-01",
        "2026-07-01T02:30:00Z",
        "2026-07-02T02:30:00Z",
    ),
    // A change by half an hour.
    (
        "Australia/Lord_Howe",
        "2026-04-05",
        "2026-04-04T13:00:00Z",
        "2026-04-05T13:30:00Z",
    ),
    // The ends of the world's calendar.
    (
        "Pacific/Kiritimati",
        "2026-01-01",
        "2025-12-31T10:00:00Z",
        "2026-01-01T10:00:00Z",
    ),
    (
        "Pacific/Niue",
        "2026-12-31",
        "2026-12-31T11:00:00Z",
        "2027-01-01T11:00:00Z",
    ),
    // A day that begins at one o'clock.
    (
        "America/Sao_Paulo",
        "2018-11-04",
        "2018-11-04T03:00:00Z",
        "2018-11-05T02:00:00Z",
    ),
];

fn at(instant: &str) -> i64 {
    instant.parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

/// One record at each of these instants, worth 1, 10, 100 … tokens.
async fn spent(bed: &Bed, instants: &[i64]) -> LiveAgent {
    let agent = chat(&bed.ambit(), "c", &[]).await;
    for (place, instant) in instants.iter().enumerate() {
        let record = UsageRecord {
            prompt_tokens: 10_i64.pow(u32::try_from(place).unwrap()),
            recorded_at: *instant,
            ..UsageRecord::default()
        };
        agent.context().usage().record(record).unwrap();
    }
    agent.context().save().await.unwrap();
    agent
}

async fn tokens(usage: Usage) -> i64 {
    usage.aggregate().await.unwrap().unwrap().prompt_tokens
}

async fn g090_a_day_holds_all_of_it_and_nothing_of_its_neighbours(bed: Bed) {
    for (number, (zone, day, begins, ends)) in DAYS.into_iter().enumerate() {
        let (begins, ends) = (at(begins), at(ends));
        let instants = [begins - 1, begins, (begins + ends) / 2, ends - 1, ends];
        let agent = bed.ambit().agent("Support").unwrap();
        let agent = agent.for_chat(format!("c{number}")).await.unwrap();
        for (place, instant) in instants.into_iter().enumerate() {
            let record = UsageRecord {
                prompt_tokens: 10_i64.pow(u32::try_from(place).unwrap()),
                recorded_at: instant,
                ..UsageRecord::default()
            };
            agent.context().usage().record(record).unwrap();
        }
        agent.context().save().await.unwrap();
        let usage = || agent.usage().time_zone(zone);
        assert_eq!(tokens(usage().date(day)).await, 1_110, "{zone} {day}");
        let range = usage().date_from(day).date_to(day);
        assert_eq!(tokens(range).await, 1_110, "{zone} {day}");
        let by_day = usage().group_by(UsageField::Day).await.unwrap().unwrap();
        let of_day = by_day.get(day).map(|totals| totals.prompt_tokens);
        assert_eq!((of_day, by_day.len()), (Some(1_110), 3), "{zone} {day}");
    }
}

async fn g090_both_ends_of_a_range_of_days_are_whole(bed: Bed) {
    let (first, behind) = (at("2026-03-27T23:00:00Z"), at("2026-03-30T22:00:00Z"));
    let agent = spent(&bed, &[first - 1, first, behind - 1, behind]).await;
    let usage = || agent.usage().time_zone("Europe/Berlin");
    let range = usage().date_from("2026-03-28").date_to("2026-03-30");
    let days = range.group_by(UsageField::Day).await.unwrap().unwrap();
    let days: BTreeMap<String, i64> = days
        .into_iter()
        .map(|(day, totals)| (day, totals.prompt_tokens))
        .collect();
    let expected = [
        ("2026-03-28".to_owned(), 10),
        ("2026-03-30".to_owned(), 100),
    ];
    assert_eq!(days, BTreeMap::from(expected));
    assert_eq!(tokens(usage().date_from("2026-03-28")).await, 1_110);
    assert_eq!(tokens(usage().date_to("2026-03-30")).await, 111);
}

async fn g090_a_range_of_instants_is_half_open(bed: Bed) {
    let (from, to) = (
        at("2026-11-21T10:07:00.123Z"),
        at("2026-11-21T10:52:00.456Z"),
    );
    let agent = spent(&bed, &[from - 1, from, to - 1, to]).await;
    let usage = || agent.usage();
    assert_eq!(tokens(usage().from_instant(from).to_instant(to)).await, 110);
    assert_eq!(tokens(usage().from_instant(to)).await, 1_000);
    assert_eq!(tokens(usage().to_instant(from)).await, 1);
}

async fn g090_hours_are_those_of_the_zone(bed: Bed) {
    let instants = [
        "2026-11-21T22:59:59.999Z",
        "2026-11-21T23:00:00Z",
        "2026-11-21T23:59:00Z",
    ];
    let agent = spent(&bed, &instants.map(at)).await;
    let usage = agent.usage().time_zone("Asia/Kolkata");
    let by_hour = usage.group_by(UsageField::Hour).await.unwrap().unwrap();
    let hours: Vec<&str> = by_hour.keys().map(String::as_str).collect();
    assert_eq!(hours, ["2026-11-22T04", "2026-11-22T05"]);
    let fields = [UsageField::Hour, UsageField::Agent];
    let groups = usage.group_by_all(&fields).await.unwrap().unwrap();
    let groups: Vec<(String, i64)> = groups
        .into_iter()
        .map(|(values, totals)| (values.join(" "), totals.prompt_tokens))
        .collect();
    let expected = [
        ("2026-11-22T04 Support".to_owned(), 11),
        ("2026-11-22T05 Support".to_owned(), 100),
    ];
    assert_eq!(groups, expected);
}

async fn g153_dates_that_make_no_sense_are_invalid(bed: Bed) {
    let ambit = bed.ambit();
    let all = || Usage::all(&ambit);
    let words = [
        "",
        "today",
        "2026-13-01",
        "2026-02-30",
        "2026-2-3",
        "21.11.2026",
        "20261121",
        "2026-W10-1",
        "2026-11-21T10:00:00",
        "2026-11-21T10:00:00Z",
        " 2026-11-21",
        "2026-11-21 ",
        "9999-12-31",
        "-002026-11-21",
        "+002026-11-21",
        "2026-11-21[UTC]",
    ];
    for word in words {
        assert_eq!(
            invalid(all().date(word).aggregate().await),
            "date",
            "{word}"
        );
        assert_eq!(
            invalid(all().date_to(word).aggregate().await),
            "date_to",
            "{word}"
        );
        if word != "9999-12-31" {
            assert_eq!(
                invalid(all().date_from(word).aggregate().await),
                "date_from",
                "{word}"
            );
        }
    }
    let reversed = all().date_from("2026-11-22").date_to("2026-11-21");
    assert_eq!(invalid(reversed.aggregate().await), "date_to");
    let reversed = all().from_instant(2).to_instant(1);
    assert_eq!(
        invalid(reversed.group_by(UsageField::Day).await),
        "to_instant"
    );
    for zone in ["", "Mars/Olympus", "+99:00", "Europe"] {
        assert_eq!(
            invalid(all().time_zone(zone).aggregate().await),
            "time_zone",
            "{zone}"
        );
    }
}

async fn g153_filters_of_usage_that_contradict_each_other_are_invalid(bed: Bed) {
    let ambit = bed.ambit();
    let day = || Usage::all(&ambit).date("2026-11-21");
    assert_eq!(
        invalid(day().date_from("2026-11-21").aggregate().await),
        "date"
    );
    assert_eq!(
        invalid(day().date_to("2026-11-21").aggregate().await),
        "date"
    );
    assert_eq!(invalid(day().date("2026-11-22").aggregate().await), "date");
    assert_eq!(
        invalid(day().from_instant(1).aggregate().await),
        "from_instant"
    );
    assert!(day().date("2026-11-21").aggregate().await.is_ok());
    let agent = chat(&ambit, "c", &[]).await;
    let narrowed = [
        ("user", agent.usage().for_user("ann")),
        ("chat", agent.usage().for_chat("other")),
        ("group", agent.usage().for_group("desk")),
        ("model", agent.usage().for_model("a").for_model("b")),
        (
            "provider",
            Usage::all(&ambit).for_provider("a").for_provider("b"),
        ),
        (
            "user",
            Usage::of(&ambit, "Support").for_user("a").for_user("b"),
        ),
    ];
    for (field, usage) in narrowed {
        assert_eq!(invalid(usage.aggregate().await), field);
    }
    assert!(
        agent
            .usage()
            .for_chat("c")
            .aggregate()
            .await
            .unwrap()
            .is_some()
    );
}
