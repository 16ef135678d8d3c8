//! Every metric there is, one row each. No label holds the id of a user, a tenant, a chat or a request.

use crate::metric::{Counter, Gauge, Histogram, MetricKind, MetricSpec, MetricUnit};

macro_rules! metrics {
    ($($id:ident: $kind:ident = $name:literal [$($label:literal)*] $(in $unit:ident)? $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $id: $kind<{ <[&str]>::len(&[$($label),*]) }> = $kind(MetricSpec {
                name: $name,
                kind: MetricKind::$kind,
                labels: &[$($label),*],
                help: $help,
                unit: metrics!(@unit $($unit)?),
            });
        )*

        /// All of them.
        pub const METRICS: &[MetricSpec] = &[$($id.0),*];
    };
    (@unit) => { MetricUnit::Things };
    (@unit $unit:ident) => { MetricUnit::$unit };
}

metrics! {
    HTTP_REQUESTS: Counter = "ambit_http_requests_total" ["method" "route" "status"]
        "Requests that were answered.";
    HTTP_REQUEST_SECONDS: Histogram = "ambit_http_request_seconds" ["route"] in Seconds
        "From a request to the first byte of its answer.";
    LIMIT_REFUSALS: Counter = "ambit_limit_refusals_total" ["by" "limit"]
        "Requests that were refused for a limit of the app, by whose it is (key, user or tenant) and what of: requests, turns, tokens, streams or answers.";
    STREAMS_OPEN: Gauge = "ambit_streams_open" []
        "Streams that are being sent.";
    STREAMS_CUT: Counter = "ambit_streams_cut_total" []
        "Readers of streams that fell too far behind and were cut off.";
    STREAM_RESUMES: Counter = "ambit_stream_resumes_total" []
        "Streams that clients went on with behind an entry they had.";

    TURNS: Counter = "ambit_turns_total" ["agent" "status"]
        "Turns that have ended, by the agent that was asked and by what is stored of their end: completed, error or cancelled.";
    TURN_SECONDS: Histogram = "ambit_turn_seconds" ["agent"] in Seconds
        "From the beginning of a turn to its last commit.";
    TURNS_RUNNING: Gauge = "ambit_turns_running" []
        "Turns that run on this node.";
    TURN_RECOVERIES: Counter = "ambit_turn_recoveries_total" ["result"]
        "Turns of nodes that were gone: resumed, or closed where nothing could go on.";
    CHAT_BUSY: Counter = "ambit_chat_busy_total" ["on_busy"]
        "Requests that found another turn in their chat, by what they wanted then: reject, queue or interrupt.";

    MODEL_CALLS: Counter = "ambit_model_calls_total" ["connector" "status"]
        "Calls of models, with their retries: ok, error or cancelled.";
    MODEL_CALL_SECONDS: Histogram = "ambit_model_call_seconds" ["connector"] in Seconds
        "From a call of a model to the end of its answer.";
    MODEL_FIRST_TOKEN_SECONDS: Histogram = "ambit_model_first_token_seconds" ["connector"] in Seconds
        "From a call of a model to the first piece of its answer that can be shown.";
    MODEL_TOKENS: Counter = "ambit_model_tokens_total" ["connector" "kind"] in Tokens
        "Tokens as they are booked: input, output, and of these cached, cache_write and reasoning.";
    MODEL_CALL_TOKENS: Histogram = "ambit_model_call_tokens" ["connector" "kind"] in Tokens
        "Tokens of one call: input or output.";
    MODEL_ERRORS: Counter = "ambit_model_errors_total" ["connector" "code"]
        "Calls of models that have failed for good, by the code of the error.";
    MODEL_RETRIES: Counter = "ambit_model_retries_total" ["connector"]
        "Calls of models that were made again.";

    TOOL_CALLS: Counter = "ambit_tool_calls_total" ["server" "tool" "status"]
        "Calls of tools by models: ok, error or cancelled. Without a server the tool does not exist, and has no name here.";
    TOOL_CALL_SECONDS: Histogram = "ambit_tool_call_seconds" ["server"] in Seconds
        "How long calls of tools took.";

    HOOK_SECONDS: Histogram = "ambit_hook_seconds" ["agent" "hook"] in Seconds
        "How long hooks ran, with what they waited for.";
    HOOK_CPU_SECONDS: Counter = "ambit_hook_cpu_seconds_total" ["agent" "hook"] in Seconds
        "Processor time of hooks.";
    HOOK_FAILURES: Counter = "ambit_hook_failures_total" ["agent" "hook" "code"]
        "Hooks that have failed; a code that a script made up is own.";
    AGENTS_REFUSED: Gauge = "ambit_agents_refused" []
        "Agents that are refused for a minute to callers whose hooks were ended for their limits three times within one; ambit_hook_failures_total names them.";
    SCRIPTS_RUNNING: Gauge = "ambit_scripts_running" []
        "Scripts that have a thread.";
    SCRIPTS_WAITING: Gauge = "ambit_scripts_waiting" []
        "Scripts that wait for a thread.";

    STORE_COMMITS: Counter = "ambit_store_commits_total" ["store" "result"]
        "Commits by store, a chain being a store too: ok, conflict (a check or the store refused it), fenced, partial or unavailable.";
    STORE_COMMIT_SECONDS: Histogram = "ambit_store_commit_seconds" ["store"] in Seconds
        "How long commits took, their wait included.";
    STORE_COMMIT_QUEUE: Gauge = "ambit_store_commit_queue" ["store"]
        "Commits that are under way or wait.";
    STORE_TRANSACTIONS: Counter = "ambit_store_transactions_total" []
        "Transactions of SQLite that wrote; commits that wait at the same time share one.";
    STORE_SYNCED_TRANSACTIONS: Counter = "ambit_store_synced_transactions_total" []
        "Transactions of SQLite that waited for the disk.";
    STORE_STATEMENTS: Counter = "ambit_store_statements_total" []
        "Statements of SQLite, reads included.";
    STORE_PAGES: Counter = "ambit_store_pages_total" []
        "Pages that SQLite has written to its write-ahead log.";

    LEASES_HELD: Gauge = "ambit_leases_held" []
        "Conversations that turns of this node hold.";
    LEASES_LOST: Counter = "ambit_leases_lost_total" []
        "Conversations that this node lost while a turn held them.";
    LEASE_WAIT_SECONDS: Histogram = "ambit_lease_wait_seconds" [] in Seconds
        "How long turns waited for their conversation.";

    TELEMETRY_SPANS: Counter = "ambit_telemetry_spans_total" ["result"]
        "Spans by what became of them: sent, refused by the collector, failed, which are sent again, or dropped: of turns that store nothing only so many wait.";
    TELEMETRY_LAG_SECONDS: Gauge = "ambit_telemetry_lag_seconds" [] in Seconds
        "How long ago the first turn ended whose spans are not sent yet, on the node that sends them; else 0.";
    EVENT_LOOP_LAG_SECONDS: Gauge = "ambit_event_loop_lag_seconds" [] in Seconds
        "How late a timer of the server was, the worst of the last ten seconds.";
    BUILD_INFO: Gauge = "ambit_build_info" ["version"]
        "1, with the version of the program.";

    RESIDENT_MEMORY: Gauge = "process_resident_memory_bytes" []
        "Memory of the process.";
    CPU_SECONDS: Counter = "process_cpu_seconds_total" [] in Seconds
        "Processor time of the process.";
    OPEN_FILES: Gauge = "process_open_fds" []
        "Open files and connections of the process.";
    START_TIME: Gauge = "process_start_time_seconds" [] in Seconds
        "When the process began, in seconds since 1970.";
}

#[cfg(test)]
mod tests {
    use super::{METRICS, MetricUnit};
    use std::collections::BTreeSet;

    #[test]
    fn names_differ_and_say_what_they_count() {
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        for metric in METRICS {
            let is_ours = metric.name.starts_with("ambit_") || metric.name.starts_with("process_");
            let is_total = metric.name.ends_with("_total");
            assert!(is_ours, "{}", metric.name);
            assert_eq!(
                is_total,
                metric.kind == super::MetricKind::Counter,
                "{}",
                metric.name
            );
            assert!(metric.help.ends_with('.'), "{}", metric.name);
            let unit = match metric.name {
                name if name.contains("_seconds") => MetricUnit::Seconds,
                name if name.contains("_tokens") => MetricUnit::Tokens,
                _ => MetricUnit::Things,
            };
            assert_eq!(metric.unit, unit, "{}", metric.name);
        }
    }

    #[test]
    fn no_label_is_an_id() {
        for label in METRICS.iter().flat_map(|metric| metric.labels) {
            let is_id = ["user", "tenant", "chat", "request", "team", "id"].contains(label);
            assert!(!is_id, "{label}");
        }
    }
}
