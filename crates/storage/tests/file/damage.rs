//! Killed at any point, damaged anywhere.

use super::{ALL, append, file_of, identity, ids, items, open, track};
use ambit_storage::Error;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::directory::RowFilter;
use ambit_storage::driver::file::FileDriver;
use ambit_storage::driver::{Driver, DriverOptions, FaultPoints, LogRange};

#[tokio::test]
async fn g028_killed_at_every_point_a_reader_sees_old_or_new_and_all_of_a_batch() {
    let points = [
        ("file.begin", false),
        ("file.redo_unnamed", false),
        ("file.redo_written", true),
        ("file.partly_applied", true),
        ("file.applied", true),
    ];
    for (point, is_new) in points {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (items("a", "one"), items("a", "two"));
        let calm = open(folder.path());
        let first = [append(&one, "1"), append(&two, "1"), track("a", "one")];
        calm.commit(Batch::of(first)).await.unwrap();
        let fault_points = FaultPoints::new(move |at| assert_ne!(at, point, "killed here"));
        let options = DriverOptions {
            fault_points,
            ..DriverOptions::default()
        };
        let killed = FileDriver::open(&folder.path().display().to_string(), options).unwrap();
        let second = [append(&one, "2"), append(&two, "2"), track("a", "two")];
        let cut_off = killed.commit(Batch::of(second)).await.unwrap_err();
        assert!(
            matches!(cut_off, Error::Internal { .. }),
            "{point}: {cut_off}"
        );
        let reader = open(folder.path());
        let expected = if is_new { vec!["1", "2"] } else { vec!["1"] };
        assert_eq!(ids(&reader, &one).await, expected, "{point}");
        assert_eq!(ids(&calm, &two).await, expected, "{point}");
        let rows = calm.count(&RowFilter::default()).await.unwrap();
        assert_eq!(rows, expected.len() as u64, "{point}");
        assert!(!folder.path().join("redo.json").exists(), "{point}");
        calm.commit(Batch::of([append(&one, "3")])).await.unwrap();
        assert_eq!(
            reader.check().await.unwrap(),
            Vec::<String>::new(),
            "{point}"
        );
    }
}

#[tokio::test]
async fn g028_a_record_cut_at_any_byte_before_it_has_its_name_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log = items("a", "one");
    let driver = open(folder.path());
    driver.commit(Batch::of([append(&log, "1")])).await.unwrap();
    for length in [0, 1, 40, 200] {
        std::fs::write(folder.path().join("redo.json.tmp"), "x".repeat(length)).unwrap();
        assert_eq!(ids(&driver, &log).await, ["1"]);
    }
    driver.commit(Batch::of([append(&log, "2")])).await.unwrap();
    assert_eq!(ids(&driver, &log).await, ["1", "2"]);
}

#[tokio::test]
async fn g027_damage_anywhere_in_a_file_blocks_its_own_space_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (bad, good) = (items("a", "bad"), items("a", "good"));
    let driver = open(folder.path());
    let writes = [
        append(&bad, "1"),
        append(&good, "1"),
        track("a", "bad"),
        track("a", "good"),
    ];
    driver.commit(Batch::of(writes)).await.unwrap();
    let path = file_of(folder.path(), &bad.space);
    let whole = std::fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let error = driver.read(&bad, LogRange::last(1)).await.unwrap_err();
        let names_it =
            matches!(&error, Error::Corrupt { place, .. } if *place == path.display().to_string());
        assert!(names_it, "cut at {cut}: {error}");
    }
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        let error = driver.read(&bad, LogRange::last(1)).await;
        assert!(
            matches!(error, Err(Error::Corrupt { .. })),
            "flipped at {at}: {error:?}"
        );
    }
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    for write in [
        append(&bad, "2"),
        BatchWrite::Remove {
            space: bad.space.clone(),
        },
    ] {
        let both = driver.commit(Batch::of([append(&good, "no"), write])).await;
        assert!(matches!(both, Err(Error::Corrupt { .. })), "{both:?}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), &whole[..whole.len() / 2]);
    driver
        .commit(Batch::of([append(&good, "2")]))
        .await
        .unwrap();
    assert_eq!(ids(&driver, &good).await, ["1", "2"]);
    assert_eq!(
        driver
            .identities(&RowFilter::default(), &ALL)
            .await
            .unwrap()
            .len(),
        2
    );
    let found = driver.check().await.unwrap();
    assert!(
        found.len() == 1 && found[0].contains(&path.display().to_string()),
        "{found:?}"
    );
}

#[tokio::test]
async fn g027_a_damaged_row_is_told_to_those_who_ask_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let driver = open(folder.path());
    driver
        .commit(Batch::of([track("a", "bad"), track("a", "good")]))
        .await
        .unwrap();
    let space = Space::of("default", &identity("a", "bad"));
    let path = folder
        .path()
        .join("rows")
        .join(format!("{}.json", space.digest()));
    std::fs::write(&path, "{}").unwrap();
    let exact = RowFilter {
        storage_key: Some(space.path.clone()),
        ..RowFilter::tenant("default")
    };
    let asked = driver.identities(&exact, &ALL).await;
    assert!(matches!(asked, Err(Error::Corrupt { .. })), "{asked:?}");
    let again = driver.commit(Batch::of([track("a", "bad")])).await;
    assert!(matches!(again, Err(Error::Corrupt { .. })), "{again:?}");
    assert_eq!(
        driver
            .identities(&RowFilter::default(), &ALL)
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
}

#[tokio::test]
async fn g027_a_lost_counter_stops_writes_instead_of_giving_numbers_twice() {
    let folder = tempfile::tempdir().unwrap();
    let log = items("a", "one");
    let driver = open(folder.path());
    driver.commit(Batch::of([append(&log, "1")])).await.unwrap();
    std::fs::remove_file(folder.path().join("counter.json")).unwrap();
    let refused = driver.commit(Batch::of([append(&log, "2")])).await;
    assert!(matches!(refused, Err(Error::Corrupt { .. })), "{refused:?}");
    assert_eq!(ids(&driver, &log).await, ["1"]);
}
