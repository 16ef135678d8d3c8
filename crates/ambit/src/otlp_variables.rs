//! The standard variables of OpenTelemetry's exporters: where traces and metrics go.

use ambit_runtime::{Error, OtlpEndpoint, OtlpSettings, Result};
use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;
use std::time::Duration;

/// The only protocol that is spoken.
const PROTOCOL: &str = "http/protobuf";
/// Milliseconds that a request may take where nothing else is said.
const TIMEOUT: u64 = 10_000;
/// Milliseconds from one sending of the metrics to the next where nothing else is said.
const INTERVAL: u64 = 60_000;
/// What the service is called where nothing else is said.
const SERVICE: &str = "ambit";

/// Returns what these variables say. Nothing is sent where no endpoint is named, or `OTEL_SDK_DISABLED` is `true`.
pub fn otlp_settings(variables: &BTreeMap<String, String>) -> Result<OtlpSettings> {
    let variables = OtlpVariables(variables);
    let disabled = variables.value("OTEL_SDK_DISABLED");
    if disabled.is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        return Ok(OtlpSettings::default());
    }
    let interval = variables.millis("OTEL_METRIC_EXPORT_INTERVAL", INTERVAL)?;
    Ok(OtlpSettings {
        traces: variables.endpoint("TRACES", "v1/traces")?,
        metrics: variables.endpoint("METRICS", "v1/metrics")?,
        metrics_interval: interval,
        resource: variables.resource()?,
    })
}

struct OtlpVariables<'a>(&'a BTreeMap<String, String>);

impl OtlpVariables<'_> {
    /// A variable that says something.
    fn value(&self, name: &str) -> Option<&str> {
        let text = self.0.get(name).map(|text| text.trim());
        text.filter(|text| !text.is_empty())
    }

    /// A variable of one signal or, without it, that of all, and its name.
    fn of_signal(&self, signal: &str, what: &str) -> Option<(String, &str)> {
        let own = format!("OTEL_EXPORTER_OTLP_{signal}_{what}");
        let all = format!("OTEL_EXPORTER_OTLP_{what}");
        let mut names = [own, all].into_iter();
        names.find_map(|name| {
            let value = self.value(&name)?;
            Some((name, value))
        })
    }

    fn endpoint(&self, signal: &str, path: &str) -> Result<Option<OtlpEndpoint>> {
        if self.value(&format!("OTEL_{signal}_EXPORTER")) == Some("none") {
            return Ok(None);
        }
        let own = format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT");
        let all = "OTEL_EXPORTER_OTLP_ENDPOINT";
        let (name, url) = match (self.value(&own), self.value(all)) {
            (Some(url), _) => (own.as_str(), url.to_owned()),
            (None, Some(url)) => (all, format!("{}/{path}", url.trim_end_matches('/'))),
            (None, None) => return Ok(None),
        };
        let is_address = url.starts_with("http://") || url.starts_with("https://");
        if !is_address {
            return Err(refused(
                name,
                "must be an address such as http://localhost:4318",
            ));
        }
        if let Some((name, protocol)) = self.of_signal(signal, "PROTOCOL")
            && protocol != PROTOCOL
        {
            let why = format!(
                "is {protocol}, but only {PROTOCOL} is spoken; set it to that, and the endpoint to the collector's port for HTTP, usually 4318"
            );
            return Err(refused(&name, &why));
        }
        Ok(Some(OtlpEndpoint {
            url,
            headers: match self.of_signal(signal, "HEADERS") {
                Some((name, text)) => pairs(&name, text)?,
                None => Vec::new(),
            },
            timeout: match self.of_signal(signal, "TIMEOUT") {
                Some((name, _)) => self.millis(&name, TIMEOUT)?,
                None => Duration::from_millis(TIMEOUT),
            },
            is_compressed: match self.of_signal(signal, "COMPRESSION") {
                None | Some((_, "none")) => false,
                Some((_, "gzip")) => true,
                Some((name, _)) => return Err(refused(&name, "must be gzip or none")),
            },
        }))
    }

    fn millis(&self, name: &str, usual: u64) -> Result<Duration> {
        let Some(text) = self.value(name) else {
            return Ok(Duration::from_millis(usual));
        };
        let millis = text.parse().ok().filter(|millis| *millis > 0);
        let millis = millis.ok_or_else(|| refused(name, "must be a number of milliseconds"))?;
        Ok(Duration::from_millis(millis))
    }

    /// The attributes of the resource. The name of the service counts before one among them.
    fn resource(&self) -> Result<Vec<(String, String)>> {
        let name = "OTEL_RESOURCE_ATTRIBUTES";
        let given = self.value(name).map(|text| pairs(name, text)).transpose()?;
        let mut resource = BTreeMap::from([
            ("service.name".to_owned(), SERVICE.to_owned()),
            (
                "service.version".to_owned(),
                env!("CARGO_PKG_VERSION").to_owned(),
            ),
        ]);
        resource.extend(given.unwrap_or_default());
        if let Some(service) = self.value("OTEL_SERVICE_NAME") {
            resource.insert("service.name".to_owned(), service.to_owned());
        }
        Ok(resource.into_iter().collect())
    }
}

/// `name=value,name=value`, the values percent-encoded. They may be secrets, so that no message repeats them.
fn pairs(variable: &str, text: &str) -> Result<Vec<(String, String)>> {
    let wrong = || {
        refused(
            variable,
            "must be a list such as name=value,other=value, its values percent-encoded",
        )
    };
    let items = text.split(',').map(str::trim);
    let items = items.filter(|item| !item.is_empty());
    let pairs = items.map(|item| {
        let (name, value) = item.split_once('=').ok_or_else(wrong)?;
        let value = percent_decode_str(value.trim()).decode_utf8();
        let value = value.map_err(|_| wrong())?.into_owned();
        match name.trim() {
            "" => Err(wrong()),
            name => Ok((name.to_owned(), value)),
        }
    });
    pairs.collect()
}

fn refused(variable: &str, why: &str) -> Error {
    Error::invalid(variable, format!("{variable} {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(given: &[(&str, &str)]) -> Result<OtlpSettings> {
        let given = given.iter();
        let given = given.map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        otlp_settings(&given.collect())
    }

    fn urls(given: &[(&str, &str)]) -> [Option<String>; 2] {
        let settings = settings(given).unwrap();
        [settings.traces, settings.metrics].map(|endpoint| endpoint.map(|it| it.url))
    }

    #[test]
    fn an_endpoint_switches_on_what_it_is_for() {
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/x");
        let [of_traces, of_metrics] =
            ["http://c:4318/v1/traces", "http://c:4318/v1/metrics"].map(|url| Some(url.to_owned()));
        assert_eq!(urls(&[]), [None, None]);
        assert_eq!(urls(&[all]), [of_traces.clone(), of_metrics.clone()]);
        let own = Some("https://t/x".to_owned());
        assert_eq!(urls(&[traces]), [own.clone(), None]);
        assert_eq!(urls(&[all, traces]), [own, of_metrics.clone()]);
        assert_eq!(urls(&[all, ("OTEL_SDK_DISABLED", "TRUE")]), [None, None]);
        assert_eq!(urls(&[all, ("OTEL_SDK_DISABLED", "no")])[0], of_traces);
        let off = urls(&[all, ("OTEL_TRACES_EXPORTER", "none")]);
        assert_eq!(off, [None, of_metrics]);
    }

    #[test]
    fn the_standard_variables_say_how_it_is_sent() {
        let given = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Basic%20YQ==, x-a=1",
            ),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-b=2"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1000"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "service.name=no,deployment.environment.name=a%2Cb",
            ),
            ("OTEL_SERVICE_NAME", "shop"),
        ];
        let settings = settings(&given).unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let traces = settings.traces.unwrap();
        assert_eq!(
            traces.headers,
            [pair("authorization", "Basic YQ=="), pair("x-a", "1")]
        );
        assert_eq!(traces.timeout, Duration::from_millis(2_500));
        assert!(traces.is_compressed);
        assert_eq!(settings.metrics.unwrap().headers, [pair("x-b", "2")]);
        assert_eq!(settings.metrics_interval, Duration::from_secs(1));
        assert_eq!(
            settings.resource,
            [
                pair("deployment.environment.name", "a,b"),
                pair("service.name", "shop"),
                pair("service.version", env!("CARGO_PKG_VERSION")),
            ]
        );
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_the_variables_name() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
        for (name, text) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret"),
            ("OTEL_RESOURCE_ATTRIBUTES", "=a"),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "collector:4317"),
        ] {
            let error = settings(&[endpoint, (name, text)]).unwrap_err();
            assert!(error.message.starts_with(name), "{}", error.message);
            assert!(!error.message.contains("secret"), "{}", error.message);
            // Without an endpoint there is nothing to refuse.
            let alone = settings(&[(name, text)]);
            assert_eq!(
                alone.is_err(),
                name.contains("RESOURCE") || name.contains("METRICS"),
                "{name}"
            );
        }
    }
}
