//! The request that sends what is counted: every metric under its own name, and those that the conventions know under theirs
//! too.

use super::attribute::{Attribute, write_attributes};
use super::conventions::{ConventionVersion, METRIC_NAMES, MetricConvention, MetricSubject};
use super::protobuf::ProtobufMessage;
use super::{TelemetryResource, scope};
use crate::histogram::HistogramCounts;
use crate::metric::{MetricKind, MetricSpec};
use crate::metrics::{Metrics, OTHER};
use crate::series::{MetricFamily, MetricValue};
use crate::table::METRICS;

/// Counts go on from the beginning of the server.
const CUMULATIVE: u64 = 2;

/// When and with which names what is counted is sent.
pub struct MetricsSnapshot<'a> {
    /// When counting began, in nanoseconds since 1970.
    pub began: u64,
    /// Now, in nanoseconds since 1970.
    pub now: u64,
    /// The names.
    pub version: ConventionVersion,
    /// What is known of the connector with this id: `gen_ai.provider.name`, `gen_ai.request.model`.
    pub connector: &'a dyn Fn(&str) -> Vec<Attribute>,
}

/// An `ExportMetricsServiceRequest` of all that is counted.
pub fn metrics_request(
    resource: &TelemetryResource,
    metrics: &Metrics,
    snapshot: &MetricsSnapshot<'_>,
) -> Vec<u8> {
    let mut of_scope = ProtobufMessage::default();
    of_scope.message(1, &scope());
    for spec in METRICS {
        let family = metrics.family(spec);
        let points = snapshot.own_points(spec, &family);
        snapshot.write(&mut of_scope, spec, &SentMetric::own(spec), &points);
    }
    for row in METRIC_NAMES {
        let Some(name) = row.name(snapshot.version) else {
            continue;
        };
        let family = metrics.family(row.source);
        let points = snapshot.points_of(row, &family);
        let sent = SentMetric {
            name,
            help: row.source.help,
            unit: row.source.unit.as_str(),
        };
        snapshot.write(&mut of_scope, row.source, &sent, &points);
    }
    let mut of_resource = ProtobufMessage::default();
    of_resource.message(1, &resource.message());
    of_resource.message(2, &of_scope);
    let mut request = ProtobufMessage::default();
    request.message(1, &of_resource);
    request.into_bytes()
}

/// What a metric is called where it goes.
struct SentMetric<'a> {
    name: &'a str,
    help: &'a str,
    unit: &'a str,
}

impl<'a> SentMetric<'a> {
    fn own(spec: &'a MetricSpec) -> Self {
        Self {
            name: spec.name,
            help: spec.help,
            unit: spec.unit.as_str(),
        }
    }
}

/// A series as it is sent.
type Point<'a> = (Vec<Attribute>, &'a MetricValue);

impl MetricsSnapshot<'_> {
    fn own_points<'a>(&self, spec: &MetricSpec, family: &'a MetricFamily) -> Vec<Point<'a>> {
        let series = family.iter();
        let points = series.map(|(labels, value)| {
            let names = spec.labels.iter().zip(labels);
            let attributes = names.map(|(name, label)| Attribute::text(*name, label.as_str()));
            (attributes.collect(), value)
        });
        points.collect()
    }

    fn points_of<'a>(&self, row: &MetricConvention, family: &'a MetricFamily) -> Vec<Point<'a>> {
        let series = family.iter();
        let points = series.filter_map(|(labels, value)| {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            Some((self.attributes(row.subject, &labels)?, value))
        });
        points.collect()
    }

    /// The labels in the conventions' words; `None` for a series that is none of theirs.
    fn attributes(&self, subject: MetricSubject, labels: &[&str]) -> Option<Vec<Attribute>> {
        let operation = |name: &str| Attribute::text("gen_ai.operation.name", name);
        let of_model = |connector: &str| {
            let mut attributes = vec![operation("chat")];
            match connector {
                OTHER => attributes.push(Attribute::text("gen_ai.provider.name", OTHER)),
                connector => attributes.extend((self.connector)(connector)),
            }
            attributes
        };
        match (subject, labels) {
            (MetricSubject::ModelCall, [connector]) => Some(of_model(connector)),
            (MetricSubject::Tokens(wanted), [connector, kind]) => {
                (wanted == *kind).then(|| of_model(connector))
            }
            (MetricSubject::TokenTypes, [connector, kind]) => {
                let mut attributes = of_model(connector);
                attributes.push(Attribute::text("gen_ai.token.type", *kind));
                Some(attributes)
            }
            (MetricSubject::Agent, [agent]) => {
                let name = Attribute::text("gen_ai.agent.name", *agent);
                Some(vec![operation("invoke_agent"), name])
            }
            (MetricSubject::ToolCall, [server]) => {
                let server = Attribute::text("ambit.mcp.server", *server);
                Some(vec![operation("execute_tool"), server])
            }
            _ => None,
        }
    }

    /// Writes a metric; one that has nothing to show is left out.
    fn write(
        &self,
        into: &mut ProtobufMessage,
        spec: &MetricSpec,
        sent: &SentMetric<'_>,
        points: &[Point<'_>],
    ) {
        if points.is_empty() {
            return;
        }
        let mut metric = ProtobufMessage::default();
        metric.text(1, sent.name);
        metric.text(2, sent.help);
        metric.text(3, sent.unit);
        let mut data = ProtobufMessage::default();
        for (attributes, value) in points {
            let point = match value {
                MetricValue::Number(number) => self.number(attributes, *number),
                MetricValue::Sizes(sizes) => self.histogram(attributes, sizes),
            };
            data.message(1, &point);
        }
        let field = match spec.kind {
            MetricKind::Gauge => 5,
            MetricKind::Counter => {
                data.number(2, CUMULATIVE);
                data.number(3, 1);
                7
            }
            MetricKind::Histogram => {
                data.number(2, CUMULATIVE);
                9
            }
        };
        metric.message(field, &data);
        into.message(2, &metric);
    }

    fn number(&self, attributes: &[Attribute], number: f64) -> ProtobufMessage {
        let mut point = ProtobufMessage::default();
        point.fixed_64(2, self.began);
        point.fixed_64(3, self.now);
        point.present_double(4, number);
        write_attributes(&mut point, 7, attributes);
        point
    }

    fn histogram(&self, attributes: &[Attribute], sizes: &HistogramCounts) -> ProtobufMessage {
        let mut point = ProtobufMessage::default();
        point.fixed_64(2, self.began);
        point.fixed_64(3, self.now);
        point.fixed_64(4, sizes.buckets.iter().sum());
        point.present_double(5, sizes.sum);
        point.packed(6, sizes.buckets.iter().map(|count| count.to_le_bytes()));
        point.packed(7, sizes.bounds.iter().map(|bound| bound.to_le_bytes()));
        write_attributes(&mut point, 9, attributes);
        point
    }
}
