//! The server as its clients see it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod access;
mod act_as;
mod ag_ui;
mod agent_trials;
mod ai_sdk;
mod answers;
mod anthropic;
mod apart;
mod app_agents;
mod auth;
mod beginning;
mod busy;
mod console;
#[path = "../support/conversation.rs"]
mod conversation;
mod data;
mod document;
mod document_roles;
mod erased;
#[path = "../support/examples.rs"]
mod examples;
mod first_steps;
mod formats;
mod fuzz;
mod hidden;
mod input;
mod item_pages;
mod keys;
mod knowledge;
mod knowledge_example;
mod knowledge_routes;
mod leaving;
mod limits;
mod mcp;
#[path = "../support/mcp.rs"]
mod mcp_requests;
mod meaning;
mod memory_versions;
mod models;
mod named_items;
mod operation;
mod other_sites;
mod process;
mod rate_limits;
mod reasoning;
mod remember;
mod repeat;
mod request_forms;
mod responses;
mod roles;
mod server_failures;
mod session;
mod site;
mod slow;
mod steering;
#[path = "../../../runtime/tests/support/stopwatch.rs"]
mod stopwatch;
mod strict;
mod superseded;
mod system;
mod taken_over;
mod tls;
mod traced_memory;
mod turns;
mod values;
