//! Names that nobody knows: G146.

use crate::bed::{Bed, Case, Notes, chat, invalid};
use ambit_storage::driver::{self, DriverOptions};
use ambit_storage::storage::StorageKind;
use ambit_storage::{Context, Error, Stores, UsageField};

pub const CASES: &[Case] = cases![
    g146_an_unknown_driver_is_named_with_the_nearest,
    g146_an_unknown_scope_is_named_with_the_nearest,
    g146_a_setting_without_effect_is_refused,
    g146_an_unknown_field_of_usage_is_named_with_the_nearest,
];

/// The error's words, which must hold both names.
fn names<T: std::fmt::Debug>(result: Result<T, Error>, unknown: &str, nearest: &str) {
    let text = result.unwrap_err().to_string();
    let hint = format!("did you mean \"{nearest}\"?");
    assert!(
        text.contains(&format!("\"{unknown}\"")) && text.contains(&hint),
        "{text}"
    );
}

async fn g146_an_unknown_driver_is_named_with_the_nearest(bed: Bed) {
    let stores = bed.stores().build().unwrap();
    names(stores.chain(&["mian"]), "mian", "main");
    names(stores.chain(&["main", "memry"]), "memry", "memory");
    let opened = driver::open("sqllite:x.db", DriverOptions::default()).await;
    names(opened.map(|_| ()), "sqllite", "sqlite");
    let defaults = [
        bed.stores().default_drivers(&["Main"]),
        bed.stores().temporary_drivers(&["Main"]),
        bed.stores().scope_drivers("usage", &["Main"]),
    ];
    for builder in defaults {
        names(builder.build(), "Main", "main");
    }
    let query = Context::named(bed.ambit(), "Support").with_drivers(&["mian"]);
    names(query.first().await, "mian", "main");
    for set in [&[][..], &["main", "main"]] {
        assert_eq!(invalid(stores.chain(set)), "drivers");
    }
}

async fn g146_an_unknown_scope_is_named_with_the_nearest(bed: Bed) {
    let query = Context::named(bed.ambit(), "Support");
    for (unknown, nearest) in [
        ("chathistory", "chatHistory"),
        ("chat_history", "chatHistory"),
        ("chatHistry", "chatHistory"),
        ("Usage", "usage"),
        ("memroy", "memory"),
    ] {
        let asked = query.for_scope(unknown);
        names(asked.first().await, unknown, nearest);
        names(asked.dry_run().remove().await, unknown, nearest);
        names(
            bed.stores().scope_drivers(unknown, &["main"]).build(),
            unknown,
            nearest,
        );
    }
    assert_eq!(invalid(query.for_scope("no spaces").first().await), "scope");
    // A storage of the application's own is known by its form alone.
    let agent = chat(&bed.ambit(), "c", &[]).await;
    let notes = agent.context().storage::<Notes>().await.unwrap();
    notes.add("n".to_owned()).unwrap();
    notes.save().await.unwrap();
    assert_eq!(query.for_scope(Notes::PREFIX).count().await.unwrap(), 1);
}

async fn g146_a_setting_without_effect_is_refused(bed: Bed) {
    // Memory is kept where its history is.
    let memory = bed.stores().scope_drivers("memory", &["main"]).build();
    assert_eq!(invalid(memory), "scope");
    let known: Result<Stores, Error> = bed.stores().scope_drivers("notes", &["main"]).build();
    assert!(known.is_ok());
}

async fn g146_an_unknown_field_of_usage_is_named_with_the_nearest(_bed: Bed) {
    names(UsageField::parse("modle"), "modle", "model");
    names(UsageField::parse("Day"), "Day", "day");
    for name in ["", "tokens", "'; --"] {
        assert_eq!(invalid(UsageField::parse(name)), "group_by");
    }
}
