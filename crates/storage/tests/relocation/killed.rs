//! Moves that are killed at a point, and what repairs them. The killed one's lease lives on, as a dead process's does.

use crate::place::{Place, converse, held, notes, placements, row, spaces};
use ambit_storage::doctor::{DoctorMode, DoctorReport, examine};
use ambit_storage::lease::LEASE_LIFE;
use ambit_storage::relocation::relocate;
use ambit_storage::{Ambit, Context};
use futures::FutureExt;

const POINTS: [&str; 5] = [
    "move.noted",
    "move.copied",
    "move.frozen",
    "move.switched",
    "move.erased",
];

/// Places of the index, with the data in `a`.
const INDEXES: [&str; 3] = ["a", "b", "c"];

/// Moves `scope` to `b` and is killed at this point.
async fn killed_at(place: &Place, index: &'static str, scope: &'static str, point: &'static str) {
    place.at_points(move |reached| assert_ne!(reached, point, "killed"));
    let ambit = place.open(&[index], &["a"]);
    let id = row(&ambit, scope).await.id;
    let killed = tokio::spawn(async move { relocate(&ambit, &id, &["b"]).await }).await;
    assert!(killed.unwrap_err().is_panic());
    place.pass_points();
    place.clock.advance(LEASE_LIFE);
}

/// A session, what `a` has of it, and a move of it to `b` that is killed.
async fn after_a_kill(
    index: &'static str,
    scope: &'static str,
    point: &'static str,
) -> (Place, Ambit, Vec<String>) {
    let place = Place::new();
    let ambit = place.open(&[index], &["a"]);
    converse(&ambit).await;
    let before = held(place.driver("a").as_ref(), &spaces(scope)).await;
    killed_at(&place, index, scope, point).await;
    (place, ambit, before)
}

#[tokio::test]
async fn a_move_killed_at_any_point_and_repeated_ends_as_an_undisturbed_one() {
    for scope in ["chatHistory", "usage"] {
        for (index, point) in every_case() {
            let (place, ambit, before) = after_a_kill(index, scope, point).await;
            let id = row(&ambit, scope).await.id;
            relocate(&ambit, &id, &["b"]).await.unwrap();
            let case = format!("{scope}, index in {index}, {point}");
            assert_eq!(
                held(place.driver("b").as_ref(), &spaces(scope)).await,
                before,
                "{case}"
            );
            let left = held(place.driver("a").as_ref(), &spaces(scope)).await;
            assert_eq!(left, Vec::<String>::new(), "{case}");
            let driver = place.driver(index).as_ref();
            assert_eq!(notes(driver).await, Vec::<String>::new(), "{case}");
            assert_eq!(placements(driver).await[scope], ["b"], "{case}");
        }
    }
}

#[tokio::test]
async fn what_was_cleared_in_the_new_place_does_not_come_back_from_the_old() {
    let (place, ambit, _) = after_a_kill("c", "chatHistory", "move.switched").await;
    let history = row(&ambit, "chatHistory").await;
    let definition = ambit.agent("Support").unwrap();
    let agent = definition.from_identity(&history.identity).await.unwrap();
    agent.clear().await.unwrap();
    relocate(&ambit, &history.id, &["b"]).await.unwrap();
    assert_eq!(agent.history().count().await.unwrap(), 0);
    let left = held(place.driver("a").as_ref(), &spaces("chatHistory")).await;
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test]
async fn after_a_kill_another_target_can_be_named() {
    for (index, point) in every_case() {
        let (place, ambit, before) = after_a_kill(index, "chatHistory", point).await;
        let id = row(&ambit, "chatHistory").await.id;
        relocate(&ambit, &id, &["c"]).await.unwrap();
        let spaces = spaces("chatHistory");
        assert_eq!(
            held(place.driver("c").as_ref(), &spaces).await,
            before,
            "{index} {point}"
        );
        for name in ["a", "b"] {
            let left = held(place.driver(name).as_ref(), &spaces).await;
            assert_eq!(left, Vec::<String>::new(), "{name}: {index} {point}");
        }
    }
}

#[tokio::test]
async fn after_a_kill_a_removal_leaves_nothing_anywhere() {
    for (index, point) in every_case() {
        let (place, ambit, _) = after_a_kill(index, "chatHistory", point).await;
        let of_history = Context::named(&ambit, "Support").for_scope("chatHistory");
        let report = of_history.remove().await.unwrap();
        assert_eq!(
            (report.done.len(), report.failed),
            (1, Vec::new()),
            "{index} {point}"
        );
        for name in ["a", "b"] {
            let left = held(place.driver(name).as_ref(), &spaces("chatHistory")).await;
            assert_eq!(left, Vec::<String>::new(), "{name}: {index} {point}");
        }
        assert_eq!(
            notes(place.driver(index).as_ref()).await,
            Vec::<String>::new()
        );
    }
}

#[tokio::test]
async fn the_doctor_finds_an_interrupted_move_and_mends_it() {
    for (index, point) in every_case() {
        let (place, ambit, before) = after_a_kill(index, "chatHistory", point).await;
        // Rows that were frozen are findings of their own until the move is settled.
        let found = examine(&ambit, DoctorMode::Report, &mut |_| {})
            .await
            .unwrap();
        assert!(
            found.unmended >= 1 && found.mended == 0,
            "{found:?} {index} {point}"
        );
        let mended = examine(&ambit, DoctorMode::Repair, &mut |_| {})
            .await
            .unwrap();
        let expected = DoctorReport {
            rows: 3,
            mended: 1,
            unmended: 0,
            swept: mended.swept,
        };
        assert_eq!(mended, expected, "{index} {point}");
        let again = examine(&ambit, DoctorMode::Report, &mut |_| {})
            .await
            .unwrap();
        assert_eq!((again.unmended, again.mended), (0, 0), "{index} {point}");
        let mut held_now = Vec::new();
        for name in ["a", "b"] {
            held_now.extend(held(place.driver(name).as_ref(), &spaces("chatHistory")).await);
        }
        assert_eq!(held_now, before, "{index} {point}");
    }
}

#[tokio::test]
async fn a_session_whose_move_was_interrupted_says_what_to_do() {
    let (_place, ambit, _) = after_a_kill("c", "chatHistory", "move.frozen").await;
    let identity = row(&ambit, "chatHistory").await.identity;
    let agent = ambit.agent("Support").unwrap();
    let refused = agent.from_identity(&identity).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "drivers are on record as \"moving from a to b\": nobody can use them until that is over; \
         if it was interrupted, repeat `ambit context move` or run `ambit doctor --repair`"
    );
}

#[tokio::test]
async fn a_move_that_fails_is_undone_at_once() {
    let place = Place::new();
    let ambit = place.open(&["c"], &["a"]);
    converse(&ambit).await;
    let before = held(place.driver("a").as_ref(), &spaces("chatHistory")).await;
    let target = place.driver("b").clone();
    place.at_points(move |reached| {
        if reached == "move.copied" {
            let closed = target.close().now_or_never();
            closed.expect("memory answers at once").unwrap();
        }
    });
    let id = row(&ambit, "chatHistory").await.id;
    relocate(&ambit, &id, &["b"]).await.unwrap_err();
    place.pass_points();
    assert_eq!(
        held(place.driver("a").as_ref(), &spaces("chatHistory")).await,
        before
    );
}

fn every_case() -> impl Iterator<Item = (&'static str, &'static str)> {
    INDEXES
        .into_iter()
        .flat_map(|index| POINTS.map(|point| (index, point)))
}
