//! What goes to an OpenTelemetry collector: requests of OTLP as Protocol Buffers, and which names they use.
//!
//! Of the protocol a handful of messages is needed, and no answer but one. They are written here field by field; the field
//! numbers are those of `opentelemetry/proto/**.proto`, version 1.

mod attribute;
pub mod conventions;
mod metrics_request;
mod protobuf;
mod span;

pub use attribute::{Attribute, AttributeValue};
pub use metrics_request::{MetricsSnapshot, metrics_request};
pub use span::{Span, SpanKind, rejected_count, traces_request};

use attribute::write_attributes;
use protobuf::ProtobufMessage;

/// What sends: the attributes of the resource, such as `service.name`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TelemetryResource(pub Vec<Attribute>);

/// What the spans and metrics are made by.
const SCOPE: &str = "ambit";

impl TelemetryResource {
    fn message(&self) -> ProtobufMessage {
        let mut message = ProtobufMessage::default();
        write_attributes(&mut message, 1, &self.0);
        message
    }
}

/// The instrumentation scope.
fn scope() -> ProtobufMessage {
    let mut message = ProtobufMessage::default();
    message.text(1, SCOPE);
    message.text(2, env!("CARGO_PKG_VERSION"));
    message
}
