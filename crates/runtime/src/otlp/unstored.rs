//! Traces of turns that store nothing. They wait in memory for a collector, as many as there is room for.

use crate::lock::lock;
use ambit_storage::clock::Millis;
use ambit_telemetry::otlp::Span;
use std::collections::VecDeque;
use std::sync::Mutex;

/// Spans, and bytes of their attributes, that may wait.
const SPANS: usize = 10_000;
const BYTES: usize = 8 << 20;

/// A trace that can be read nowhere.
#[derive(Debug)]
pub(crate) struct UnstoredTrace {
    pub spans: Vec<Span>,
    /// When its turn ended.
    pub ended_at: Millis,
}

/// Those that wait, oldest first.
#[derive(Default)]
pub(crate) struct UnstoredTraces(Mutex<WaitingTraces>);

#[derive(Default)]
struct WaitingTraces {
    traces: VecDeque<UnstoredTrace>,
    spans: usize,
    bytes: usize,
}

impl UnstoredTrace {
    fn bytes(&self) -> usize {
        self.spans.iter().map(Span::size).sum()
    }
}

impl UnstoredTraces {
    /// Lets a trace wait. False where there is no room for it.
    pub fn add(&self, trace: UnstoredTrace) -> bool {
        let mut waiting = lock(&self.0);
        let spans = waiting.spans + trace.spans.len();
        let bytes = waiting.bytes + trace.bytes();
        if spans > SPANS || bytes > BYTES {
            return false;
        }
        (waiting.spans, waiting.bytes) = (spans, bytes);
        waiting.traces.push_back(trace);
        true
    }

    /// Takes the oldest traces, until they have so many spans.
    pub fn take(&self, spans: usize) -> Vec<UnstoredTrace> {
        let mut waiting = lock(&self.0);
        let (mut taken, mut count) = (Vec::new(), 0);
        while count < spans
            && let Some(trace) = waiting.traces.pop_front()
        {
            count += trace.spans.len();
            waiting.spans -= trace.spans.len();
            waiting.bytes -= trace.bytes();
            taken.push(trace);
        }
        taken
    }

    /// Puts back what could not be sent: it comes first again. Its room may have been given away meanwhile.
    pub fn put_back(&self, traces: Vec<UnstoredTrace>) {
        let mut waiting = lock(&self.0);
        for trace in traces.into_iter().rev() {
            waiting.spans += trace.spans.len();
            waiting.bytes += trace.bytes();
            waiting.traces.push_front(trace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SPANS, UnstoredTrace, UnstoredTraces};
    use ambit_telemetry::otlp::{Span, SpanKind};

    fn trace(ended_at: i64, spans: usize) -> UnstoredTrace {
        let span = Span {
            trace_id: [1; 16],
            id: [1; 8],
            parent_id: None,
            trace_state: String::new(),
            name: "chat".to_owned(),
            kind: SpanKind::Client,
            start: 0,
            end: 1,
            attributes: Vec::new(),
            links: Vec::new(),
            has_failed: false,
        };
        UnstoredTrace {
            spans: vec![span; spans],
            ended_at,
        }
    }

    fn ends(traces: &[UnstoredTrace]) -> Vec<i64> {
        traces.iter().map(|trace| trace.ended_at).collect()
    }

    #[test]
    fn traces_wait_in_their_order_and_come_first_again_where_they_are_not_taken() {
        let waiting = UnstoredTraces::default();
        for at in 1..=3 {
            assert!(waiting.add(trace(at, 10)));
        }
        let taken = waiting.take(11);
        assert_eq!(ends(&taken), [1, 2]);
        waiting.put_back(taken);
        assert_eq!(ends(&waiting.take(SPANS)), [1, 2, 3]);
        assert!(waiting.take(SPANS).is_empty());
    }

    #[test]
    fn what_there_is_no_room_for_does_not_wait() {
        let waiting = UnstoredTraces::default();
        assert!(waiting.add(trace(1, SPANS)));
        assert!(!waiting.add(trace(2, 1)));
        assert_eq!(ends(&waiting.take(1)), [1]);
        assert!(waiting.add(trace(3, 1)));
    }
}
