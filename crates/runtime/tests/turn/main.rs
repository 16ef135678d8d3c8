//! Turns from request to stream: real hooks and stores, a scripted model.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod anew;
mod automatic_search;
mod basics;
mod bounded;
mod boxed;
mod broken_off;
mod budget;
mod called;
mod cancelled;
mod carried;
mod client;
mod client_ids;
#[path = "../support/collector.rs"]
mod collector;
mod continued;
mod created;
mod deadline;
mod delegates;
mod earlier;
mod erased;
mod events;
mod failing_step;
mod fallback;
mod faults;
mod fetched;
mod finished;
mod fitting;
mod grown;
mod large;
mod late;
mod left_behind;
mod listeners;
mod manifest_cuts;
mod manifest_dropped;
mod manifest_options;
mod manifest_sources;
mod manifests;
mod memory;
mod metrics;
mod named_messages;
mod nested;
mod nexted;
mod nodes;
mod place;
mod plain;
mod reloads;
mod removed;
mod retention;
#[path = "../../../storage/tests/support/run_tally.rs"]
mod run_tally;
mod scripts;
mod search_assistants;
mod search_holdups;
mod search_printed;
mod search_references;
mod search_shown;
mod search_steps;
mod search_stops;
mod search_strangers;
mod search_tools;
mod searched;
mod searched_queries;
mod searched_rows;
#[expect(dead_code, reason = "the tests of providers use all of it")]
#[path = "../llm/server.rs"]
mod server;
mod servers;
mod shared_state;
mod stops;
#[path = "../support/stopwatch.rs"]
mod stopwatch;
mod superseded;
mod telemetry;
mod telemetry_content;
mod telemetry_context;
mod telemetry_export;
mod titles;
mod toolbox;
mod tools;
mod unstored;
mod usage;
mod uses;
mod web;
