//! What the doctor finds and mends.

use crate::place::{Place, converse, held, identity, row, spaces};
use ambit_storage::Ambit;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::directory::{IndexRow, TrackRequest};
use ambit_storage::doctor::{DoctorMode, Finding, examine};
use std::collections::BTreeMap;
use std::time::Duration;

async fn findings(ambit: &Ambit, mode: DoctorMode) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut tell = |finding: &Finding| found.push(finding.clone());
    examine(ambit, mode, &mut tell).await.unwrap();
    found
}

#[tokio::test]
async fn a_healthy_store_has_no_findings() {
    for (index, data) in [
        (["a"].as_slice(), ["a"].as_slice()),
        (&["a", "b"], &["a", "b"]),
        (&["c"], &["a", "b"]),
    ] {
        let place = Place::new();
        let ambit = place.open(index, data);
        converse(&ambit).await;
        place.clock.advance(Duration::from_secs(3_600));
        assert_eq!(
            findings(&ambit, DoctorMode::Report).await,
            [],
            "{index:?} {data:?}"
        );
        let cleared = ambit_storage::Context::named(&ambit, "Support")
            .clear()
            .await
            .unwrap();
        assert_eq!(cleared.failed, []);
        place.clock.advance(Duration::from_secs(3_600));
        assert_eq!(
            findings(&ambit, DoctorMode::Repair).await,
            [],
            "cleared: {index:?} {data:?}"
        );
    }
}

/// A row as a first write makes it that is killed before its data.
fn begun() -> BatchWrite {
    BatchWrite::Track(Box::new(TrackRequest {
        id: "begun".to_owned(),
        tenant: "default".to_owned(),
        identity: identity("notes"),
        agent: "Support".to_owned(),
        base: identity("notes").base(),
        placement: vec!["a".to_owned()],
        created_by: None,
        team: None,
        labels: BTreeMap::new(),
    }))
}

#[tokio::test]
async fn g031_a_row_whose_data_never_came_is_found_and_swept() {
    for index in ["a", "c"] {
        let place = Place::new();
        let ambit = place.open(&[index], &["a"]);
        place
            .driver(index)
            .commit(Batch::of([begun()]))
            .await
            .unwrap();
        assert_eq!(
            findings(&ambit, DoctorMode::Repair).await,
            [],
            "its data may still come"
        );
        place.clock.advance(Duration::from_secs(61));
        let mut expected = Finding {
            place: format!("context begun ({})", identity("notes").key()),
            what: "is tracked, but its first write never came".to_owned(),
            is_mended: false,
        };
        assert_eq!(
            findings(&ambit, DoctorMode::Report).await,
            [expected.clone()]
        );
        expected.is_mended = true;
        assert_eq!(findings(&ambit, DoctorMode::Repair).await, [expected]);
        assert_eq!(findings(&ambit, DoctorMode::Report).await, []);
    }
}

#[tokio::test]
async fn a_row_of_an_index_that_is_older_than_the_data_is_found_and_brought_level() {
    let place = Place::new();
    let ambit = place.open(&["c"], &["a"]);
    converse(&ambit).await;
    let older = row(&ambit, "chatHistory").await;
    place.clock.advance(Duration::from_secs(2 * 3_600));
    converse(&ambit).await;
    assert_eq!(findings(&ambit, DoctorMode::Report).await, []);
    let restored = BatchWrite::mirror_row(older.clone());
    place
        .driver("c")
        .commit(Batch::of([restored]))
        .await
        .unwrap();
    let mut expected = Finding {
        place: format!("context {} ({})", older.id, older.identity.key()),
        what: "its data in a is more than an hour newer than its index row: the index is of an older backup than that store"
            .to_owned(),
        is_mended: false,
    };
    assert_eq!(
        findings(&ambit, DoctorMode::Report).await,
        [expected.clone()]
    );
    expected.is_mended = true;
    assert_eq!(findings(&ambit, DoctorMode::Repair).await, [expected]);
    assert_eq!(findings(&ambit, DoctorMode::Report).await, []);
}

#[tokio::test]
async fn a_copy_that_lost_something_is_found_and_brought_level() {
    let place = Place::new();
    let ambit = place.open(&["c"], &["a", "b"]);
    converse(&ambit).await;
    // Its own, of messages and memory.
    let spaces = &spaces("chatHistory")[..2];
    let before = held(place.driver("a").as_ref(), spaces).await;
    for space in spaces {
        let lost = BatchWrite::Remove {
            space: space.clone(),
        };
        place.driver("b").commit(Batch::of([lost])).await.unwrap();
    }
    let found = findings(&ambit, DoctorMode::Report).await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found
            .iter()
            .all(|finding| finding.what.starts_with("the copy in b: ")),
        "{found:?}"
    );
    let mended = findings(&ambit, DoctorMode::Repair).await;
    assert_eq!(
        mended.iter().filter(|finding| finding.is_mended).count(),
        2,
        "{mended:?}"
    );
    assert_eq!(held(place.driver("b").as_ref(), spaces).await, before);
    assert_eq!(findings(&ambit, DoctorMode::Report).await, []);
}

#[tokio::test]
async fn an_index_row_that_a_secondary_lost_is_found_and_copied() {
    let place = Place::new();
    let ambit = place.open(&["a", "b"], &["a", "b"]);
    converse(&ambit).await;
    let history = row(&ambit, "chatHistory").await;
    let lost = BatchWrite::untrack("default", history.id.clone());
    place.driver("b").commit(Batch::of([lost])).await.unwrap();
    let mut expected = Finding {
        place: format!("context {} ({})", history.id, history.identity.key()),
        what: "its index row in b is not the one in a".to_owned(),
        is_mended: false,
    };
    assert_eq!(
        findings(&ambit, DoctorMode::Report).await,
        [expected.clone()]
    );
    expected.is_mended = true;
    assert_eq!(findings(&ambit, DoctorMode::Repair).await, [expected]);
    assert_eq!(findings(&ambit, DoctorMode::Report).await, []);
}

#[tokio::test]
async fn a_row_whose_drivers_are_not_set_up_is_a_finding_and_stays() {
    let place = Place::new();
    let ambit = place.open(&["a"], &["a"]);
    converse(&ambit).await;
    let history = row(&ambit, "chatHistory").await;
    let elsewhere = IndexRow {
        placement: vec!["gone".to_owned()],
        ..history.clone()
    };
    let write = BatchWrite::mirror_row(elsewhere);
    place.driver("a").commit(Batch::of([write])).await.unwrap();
    let expected = Finding {
        place: format!("context {} ({})", history.id, history.identity.key()),
        what: "drivers \"gone\" is unknown; set up are a, b, c, memory; name one of them, or set it up with `--store gone=URL`"
            .to_owned(),
        is_mended: false,
    };
    for mode in [DoctorMode::Repair, DoctorMode::Report] {
        let found = findings(&ambit, mode).await;
        assert_eq!(found, std::slice::from_ref(&expected));
    }
}
