//! Metrics as Prometheus reads them: its text format, version 0.0.4.

use crate::metric::MetricSpec;
use crate::series::{MetricFamily, MetricValue};
use std::fmt::Write;

/// Writes a metric; one that has nothing to show is left out.
pub(crate) fn write(text: &mut String, spec: &MetricSpec, family: &MetricFamily) {
    if family.is_empty() {
        return;
    }
    // Writing into a text does not fail.
    let _ = writeln!(text, "# HELP {} {}", spec.name, spec.help);
    let _ = writeln!(text, "# TYPE {} {}", spec.name, spec.kind.as_str());
    for (values, value) in family {
        let labels = labels(spec, values);
        match value {
            MetricValue::Number(number) => {
                let _ = writeln!(text, "{}{} {number}", spec.name, braced(&labels));
            }
            MetricValue::Sizes(sizes) => {
                let mut count = 0;
                let bounds = sizes.bounds.iter().map(f64::to_string);
                let bounds = bounds.chain(std::iter::once("+Inf".to_owned()));
                for (bound, bucket) in bounds.zip(&sizes.buckets) {
                    count += bucket;
                    let mut labels = labels.clone();
                    labels.push(format!("le=\"{bound}\""));
                    let _ = writeln!(text, "{}_bucket{} {count}", spec.name, braced(&labels));
                }
                let labels = braced(&labels);
                let _ = writeln!(text, "{}_sum{labels} {}", spec.name, sizes.sum);
                let _ = writeln!(text, "{}_count{labels} {count}", spec.name);
            }
        }
    }
    text.push('\n');
}

fn labels(spec: &MetricSpec, values: &[String]) -> Vec<String> {
    let labels = spec.labels.iter().zip(values);
    labels
        .map(|(name, value)| {
            let value = value.replace('\\', "\\\\");
            let value = value.replace('"', "\\\"").replace('\n', "\\n");
            format!("{name}=\"{value}\"")
        })
        .collect()
}

fn braced(labels: &[String]) -> String {
    match labels {
        [] => String::new(),
        labels => format!("{{{}}}", labels.join(",")),
    }
}
