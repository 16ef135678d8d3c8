//! Spans, and the request that sends them.

use super::attribute::{Attribute, write_attributes};
use super::protobuf::{ProtobufField, ProtobufMessage, fields};
use super::{TelemetryResource, scope};

/// What a span is to those around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Something done within.
    Internal,
    /// A request to somebody else.
    Client,
}

/// A step that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The trace.
    pub trace_id: [u8; 16],
    /// Unique in its trace.
    pub id: [u8; 8],
    /// The span it is part of.
    pub parent_id: Option<[u8; 8]>,
    /// What the caller's vendors have noted.
    pub trace_state: String,
    /// Its name.
    pub name: String,
    /// What it is to those around it.
    pub kind: SpanKind,
    /// Nanoseconds since 1970.
    pub start: u64,
    /// Nanoseconds since 1970.
    pub end: u64,
    /// What is known of it.
    pub attributes: Vec<Attribute>,
    /// Further spans of the trace that it follows.
    pub links: Vec<[u8; 8]>,
    /// Whether it failed.
    pub has_failed: bool,
}

/// The status of what failed.
const ERROR: u64 = 2;
/// About how many bytes the fields have whose length is known.
const FIELDS: usize = 80;
/// The flag of a trace that is sampled.
const SAMPLED: u32 = 1;

impl SpanKind {
    fn number(self) -> u64 {
        match self {
            Self::Internal => 1,
            Self::Client => 3,
        }
    }
}

impl Span {
    /// About how many bytes it has.
    pub fn size(&self) -> usize {
        let attributes = self.attributes.iter();
        let attributes = attributes.map(|it| it.name.len() + it.value.size());
        self.name.len() + attributes.sum::<usize>() + FIELDS
    }

    fn message(&self) -> ProtobufMessage {
        let mut message = ProtobufMessage::default();
        message.bytes(1, &self.trace_id);
        message.bytes(2, &self.id);
        message.text(3, &self.trace_state);
        message.bytes(4, self.parent_id.as_ref().map_or(&[], |id| id));
        message.text(5, &self.name);
        message.number(6, self.kind.number());
        message.fixed_64(7, self.start);
        message.fixed_64(8, self.end);
        write_attributes(&mut message, 9, &self.attributes);
        for id in &self.links {
            let mut link = ProtobufMessage::default();
            link.bytes(1, &self.trace_id);
            link.bytes(2, id);
            message.message(13, &link);
        }
        let mut status = ProtobufMessage::default();
        if self.has_failed {
            status.number(3, ERROR);
        }
        message.message(15, &status);
        message.fixed_32(16, SAMPLED);
        message
    }
}

/// An `ExportTraceServiceRequest` of these spans.
pub fn traces_request(resource: &TelemetryResource, spans: &[Span]) -> Vec<u8> {
    let mut of_scope = ProtobufMessage::default();
    of_scope.message(1, &scope());
    for span in spans {
        of_scope.message(2, &span.message());
    }
    let mut of_resource = ProtobufMessage::default();
    of_resource.message(1, &resource.message());
    of_resource.message(2, &of_scope);
    let mut request = ProtobufMessage::default();
    request.message(1, &of_resource);
    request.into_bytes()
}

/// How many spans or points a collector has refused of a request that it has taken, as its answer says.
pub fn rejected_count(answer: &[u8]) -> u64 {
    let number = |bytes, field| {
        let found = fields(bytes)
            .into_iter()
            .rfind(|(number, _)| *number == field);
        found.map(|(_, value)| value)
    };
    let Some(ProtobufField::Bytes(partial)) = number(answer, 1) else {
        return 0;
    };
    match number(partial, 1) {
        Some(ProtobufField::Number(rejected)) => rejected,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_tells_how_many_were_refused() {
        assert_eq!(rejected_count(&[]), 0);
        let mut partial = ProtobufMessage::default();
        partial.number(1, 7);
        partial.text(2, "too old");
        let mut answer = ProtobufMessage::default();
        answer.message(1, &partial);
        assert_eq!(rejected_count(&answer.into_bytes()), 7);
        assert_eq!(rejected_count(b"<html>not a collector</html>"), 0);
    }
}
