//! The program as people run it: what it prints, and how it ends.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod app;
mod apps;
mod backup;
mod blocks;
mod chat;
mod chats;
#[path = "../support/conversation.rs"]
mod conversation;
mod data;
mod doctor;
mod erase;
mod events;
mod extract;
mod health;
mod hostile_documents;
#[path = "../../../extract/tests/support/mod.rs"]
#[expect(dead_code, reason = "some of it is for the tests of readers")]
mod hostile_files;
mod hostile_sizes;
mod image;
mod knowledge;
mod models;
#[path = "../support/page.rs"]
mod page;
mod pages;
mod place;
mod quality;
mod read;
mod reference;
mod refused;
mod relocate;
mod restore;
mod search;
mod shell;
mod usage;
mod why;
