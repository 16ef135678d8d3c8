//! The limits that an app may set and an agent may narrow.

use super::read::ByteSize;
use crate::config;
use std::time::Duration;

config! {
    /// What scripts may use. A package may only lower what the app allows.
    pub struct LimitSettings {
        /// How long a turn may take.
        turn: Duration = "1h",
        /// How long a run of a script may compute, without waiting.
        cpu: Duration = "5s",
        /// How long a run of a script may take, with waiting.
        wall: Duration = "10m",
        /// The memory of a run.
        heap: ByteSize = "64MiB",
        /// The stack of a run.
        stack: ByteSize = "1MiB",
        /// How deep processes may call processes.
        process_depth: usize = 32,
        /// How deep agents may call, or hand over to, agents.
        delegate_depth: usize = 10,
        /// The size of one message.
        message: ByteSize = "1MiB",
        /// The size of all messages of a turn.
        output: ByteSize = "16MiB",
        /// The most messages of a turn.
        messages: usize = 10000,
        /// The size of what a hook returns.
        returned: ByteSize = "4MiB",
        /// The size of one value of memory or of a store.
        memory_value: ByteSize = "1MiB",
        /// The most nodes of a turn's trace.
        trace_nodes: usize = 5000,
        /// The most log lines of a turn's trace.
        trace_logs: usize = 20000,
        /// The size of one field of a trace.
        trace_field: ByteSize = "64KiB",
        /// The size of what a run writes to the log.
        log: ByteSize = "1MiB",
        /// The most timers of a run.
        timers: usize = 1000,
        /// The most HTTP requests of a run at once.
        http_calls: usize = 16,
        /// How long an HTTP request may take.
        http_timeout: Duration = "30s",
        /// The size of an HTTP answer.
        http_body: ByteSize = "16MiB",
        /// The most redirects of an HTTP request.
        http_redirects: usize = 5,
        /// The most calls of one `All`, `Any`, `Race` or `CallToolsParallel`.
        calls: usize = 64,
        /// How many of them run at once.
        calls_at_once: usize = 16,
        /// The size of the scripts of an agent with what they import.
        program: ByteSize = "2MiB",
        unused { memory_list: ": a list of memory has at most 100000 items" }
    }
}
