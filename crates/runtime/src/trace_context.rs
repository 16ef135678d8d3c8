//! The W3C's trace context: what a caller says of the trace that a request belongs to, and by which ids a turn's steps are
//! known outside.
//!
//! The ids come from those of the stored trace, so that a trace that is sent twice is the same trace.

use crate::net::{AllowList, OutgoingTrace};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Bytes of what vendors have noted; the specification asks that so many are passed on.
const MAX_TRACESTATE: usize = 512;
/// The trace flag of what is recorded.
const SAMPLED: u8 = 1;
/// The bits of a trace id that decide whether it is recorded.
const RANDOM_BITS: u32 = 56;

/// The id of a trace outside.
pub type ExternalTraceId = [u8; 16];
/// The id of a span outside.
pub type ExternalSpanId = [u8; 8];

/// The trace that a request belongs to, as its caller says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TraceHeaders", into = "TraceHeaders")]
pub struct TraceContext {
    /// The trace.
    pub trace_id: ExternalTraceId,
    /// The caller's span.
    pub span_id: ExternalSpanId,
    /// Whether the caller records the trace.
    pub is_sampled: bool,
    /// What vendors have noted; empty where there is nothing.
    pub state: String,
}

/// The same as headers have it.
#[derive(Serialize, Deserialize)]
struct TraceHeaders {
    traceparent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tracestate: String,
}

impl TraceContext {
    /// What the headers `traceparent` and `tracestate` say. What is no trace context says nothing, as the specification wants it.
    pub fn read(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let mut parts = traceparent.trim().splitn(5, '-');
        let version = bytes::<1>(parts.next()?)?[0];
        let trace_id = bytes(parts.next()?)?;
        let span_id = bytes(parts.next()?)?;
        let flags = bytes::<1>(parts.next()?)?[0];
        let is_whole = version != 0 || parts.next().is_none();
        if version == u8::MAX || !is_whole || trace_id == [0; 16] || span_id == [0; 8] {
            return None;
        }
        let state = tracestate.map(str::trim).filter(|state| {
            let is_plain = |letter: u8| (0x20..0x7f).contains(&letter);
            state.len() <= MAX_TRACESTATE && state.bytes().all(is_plain)
        });
        Some(Self {
            trace_id,
            span_id,
            is_sampled: flags & SAMPLED != 0,
            state: state.unwrap_or_default().to_owned(),
        })
    }
}

impl From<TraceContext> for TraceHeaders {
    fn from(context: TraceContext) -> Self {
        Self {
            traceparent: traceparent(context.trace_id, context.span_id, context.is_sampled),
            tracestate: context.state,
        }
    }
}

impl TryFrom<TraceHeaders> for TraceContext {
    type Error = &'static str;

    fn try_from(headers: TraceHeaders) -> Result<Self, Self::Error> {
        let read = Self::read(&headers.traceparent, Some(&headers.tracestate));
        read.ok_or("traceparent is no trace context")
    }
}

/// The trace of a turn as it is known outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalTrace {
    id: String,
    /// The trace.
    pub trace_id: ExternalTraceId,
    /// What the caller says.
    pub caller: Option<TraceContext>,
}

impl ExternalTrace {
    /// Of a stored trace, as part of its caller's where that has one.
    pub fn of(id: &str, caller: Option<TraceContext>) -> Self {
        let own = || digest(&[id]);
        Self {
            id: id.to_owned(),
            trace_id: caller.as_ref().map_or_else(own, |caller| caller.trace_id),
            caller,
        }
    }

    /// The span of a node.
    pub fn span_id(&self, node: &str) -> ExternalSpanId {
        digest(&[&self.id, node])
    }

    /// Whether it is one of the share of traces that are recorded. What a caller says counts before that.
    pub fn is_sampled(&self, share: f64) -> bool {
        if let Some(caller) = &self.caller {
            return caller.is_sampled;
        }
        let [.., a, b, c, d, e, f, g] = self.trace_id;
        let random = u64::from_be_bytes([0, a, b, c, d, e, f, g]);
        random as f64 >= (1.0 - share) * (1_u64 << RANDOM_BITS) as f64
    }
}

/// Passes the trace context on to hosts that may know.
#[derive(Clone, Debug)]
pub struct TracePropagation {
    /// Who may know.
    pub hosts: Arc<AllowList>,
    /// The trace.
    pub trace: ExternalTrace,
    /// Whether the trace is sent to a collector; if not, requests are part of the caller's span.
    pub is_sent: bool,
}

impl TracePropagation {
    /// What requests of a node say, or of no node that is recorded.
    pub fn at(&self, node: Option<&str>) -> Option<OutgoingTrace> {
        let caller = self.trace.caller.as_ref();
        let traceparent = match (node.filter(|_| self.is_sent), caller) {
            (Some(node), _) => traceparent(self.trace.trace_id, self.trace.span_id(node), true),
            (None, Some(caller)) => traceparent(caller.trace_id, caller.span_id, caller.is_sampled),
            (None, None) => return None,
        };
        Some(OutgoingTrace {
            hosts: self.hosts.clone(),
            traceparent,
            tracestate: caller
                .map(|caller| caller.state.clone())
                .unwrap_or_default(),
        })
    }
}

fn traceparent(trace: ExternalTraceId, span: ExternalSpanId, is_sampled: bool) -> String {
    let (trace, span) = (hex(&trace), hex(&span));
    format!("00-{trace}-{span}-{:02x}", u8::from(is_sampled))
}

/// The first bytes of the SHA-256 of these texts, one behind the other.
fn digest<const N: usize>(parts: &[&str]) -> [u8; N] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    let mut first = [0; N];
    first.copy_from_slice(&hash.finalize()[..N]);
    first
}

/// The first 16 bytes of the SHA-256 of a text, in hexadecimal digits.
pub(crate) fn hashed(text: &str) -> String {
    hex(&digest::<16>(&[text]))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of as many lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_digit = |letter: u8| matches!(letter, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 2 * N || !text.bytes().all(is_digit) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_trace_context_is_read_and_written_as_it_came() {
        let context = TraceContext::read(PARENT, Some("a=1,b=2")).unwrap();
        assert!(context.is_sampled);
        let text = serde_json::to_string(&context).unwrap();
        let expected = format!(r#"{{"traceparent":"{PARENT}","tracestate":"a=1,b=2"}}"#);
        assert_eq!(text, expected);
        assert_eq!(
            serde_json::from_str::<TraceContext>(&text).unwrap(),
            context
        );
    }

    #[test]
    fn what_is_no_trace_context_says_nothing() {
        let zero_trace = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        let zero_span = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{}-01", "0".repeat(16));
        let upper = PARENT.to_uppercase();
        let longer = format!("{PARENT}-more");
        let unknown = format!("ff{}", &PARENT[2..]);
        let broken = [
            "",
            "00",
            "garbage",
            &zero_trace,
            &zero_span,
            &upper,
            &longer,
            &unknown,
            &PARENT[..PARENT.len() - 1],
        ];
        for text in broken {
            assert_eq!(TraceContext::read(text, None), None, "{text}");
        }
        // A later version may say more behind what is known.
        let later = format!("01{}-more", &PARENT[2..]);
        assert!(TraceContext::read(&later, None).is_some());
        let large = "x".repeat(MAX_TRACESTATE + 1);
        for state in [large.as_str(), "a=\r\nb: c", "a=ü"] {
            let context = TraceContext::read(PARENT, Some(state)).unwrap();
            assert_eq!(context.state, "", "{state:?}");
        }
    }

    #[test]
    fn ids_are_the_first_bytes_of_digests() {
        let trace = ExternalTrace::of("abc", None);
        // The digest of "abc" that the standard gives.
        assert_eq!(hex(&trace.trace_id), "ba7816bf8f01cfea414140de5dae2223");
        assert_eq!(
            ExternalTrace::of("a", None).span_id("bc"),
            trace.trace_id[..8]
        );
    }

    #[test]
    fn a_share_of_traces_is_recorded_unless_the_caller_decides() {
        let ids: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
        let count = |share: f64| {
            let traces = ids.iter().map(|id| ExternalTrace::of(id, None));
            traces.filter(|trace| trace.is_sampled(share)).count()
        };
        assert_eq!((count(0.0), count(1.0)), (0, 1_000));
        assert!((200..300).contains(&count(0.25)), "{}", count(0.25));
        let caller = TraceContext::read(PARENT, None);
        assert!(ExternalTrace::of("abc", caller.clone()).is_sampled(0.0));
        let silent = caller.map(|caller| TraceContext {
            is_sampled: false,
            ..caller
        });
        assert!(!ExternalTrace::of("abc", silent).is_sampled(1.0));
    }
}
