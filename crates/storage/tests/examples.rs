//! The examples run, each as a test.

#[path = "../examples/listeners.rs"]
mod listeners;
#[path = "../examples/own_driver/main.rs"]
mod own_driver;
#[path = "../examples/own_storage_kind.rs"]
mod own_storage_kind;
#[path = "../examples/own_truncation.rs"]
mod own_truncation;
#[path = "../examples/several_stores.rs"]
mod several_stores;
#[path = "../examples/usage_report.rs"]
mod usage_report;

#[test]
fn listeners_change_forbid_and_are_told() {
    listeners::main().unwrap();
}

#[test]
fn a_driver_of_your_own_passes_the_kit() {
    own_driver::main().unwrap();
}

#[test]
fn a_storage_of_your_own_keeps_its_items() {
    own_storage_kind::main().unwrap();
}

#[test]
fn a_truncation_of_your_own_shortens_a_conversation() {
    own_truncation::main().unwrap();
}

#[test]
fn several_stores_keep_what_they_are_told_to() {
    several_stores::main().unwrap();
}

#[test]
fn a_usage_report_adds_up() {
    usage_report::main().unwrap();
}
