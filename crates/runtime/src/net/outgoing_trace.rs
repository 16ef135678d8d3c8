//! What a request says of the trace that it is part of, where its host may know.

use super::AllowList;
use std::sync::Arc;
use url::Url;

/// The header of the trace and the span that a request is part of.
pub const TRACEPARENT: &str = "traceparent";
/// The header of what vendors have noted of the trace.
pub const TRACESTATE: &str = "tracestate";

/// The trace that a request is part of, for the hosts that may know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingTrace {
    /// Who may know.
    pub hosts: Arc<AllowList>,
    /// The trace and the span.
    pub traceparent: String,
    /// What vendors have noted; empty where there is nothing.
    pub tracestate: String,
}

impl OutgoingTrace {
    /// The headers for a request to this address; none where its host may not know.
    pub fn headers(&self, url: &Url) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            (TRACEPARENT, self.traceparent.as_str()),
            (TRACESTATE, self.tracestate.as_str()),
        ];
        let may_know = self.hosts.allows(url).is_some();
        all.into_iter()
            .filter(move |(_, text)| may_know && !text.is_empty())
    }
}
