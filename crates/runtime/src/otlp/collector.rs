//! Sending a request to a collector, and what its answer means.

use super::{OtlpEndpoint, gzip};
use crate::error::{Error, Result};
use crate::net::tls;
use ambit_telemetry::otlp::rejected_count;
use reqwest::header::{
    CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use reqwest::{Client, Response, StatusCode, redirect};
use std::time::Duration;
use url::Url;

/// Bytes of an answer that are looked at.
const ANSWER: usize = 64 << 10;

/// A collector, for one kind of data.
pub(crate) struct Collector {
    client: Client,
    url: Url,
    headers: HeaderMap,
    is_compressed: bool,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// It was taken, but for so many of its spans or points.
    Taken(u64),
    /// The collector does not want this request, and would not want it again.
    Refused(String),
    /// It was not taken and is to be sent again, not before this time.
    Failed {
        why: String,
        retry_after: Option<Duration>,
    },
}

impl Collector {
    /// The collector behind an endpoint.
    pub fn new(endpoint: &OtlpEndpoint) -> Result<Self> {
        let failed = |error: &dyn std::error::Error| {
            Error::internal(format!("no HTTP client can be made: {error}"))
        };
        let mut headers = HeaderMap::new();
        for (name, text) in &endpoint.headers {
            let refused = || {
                Error::invalid(
                    "headers",
                    format!("the header {name} of a collector cannot be sent"),
                )
            };
            let header = HeaderName::try_from(name).map_err(|_| refused())?;
            let mut value = HeaderValue::try_from(text).map_err(|_| refused())?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-protobuf"),
        );
        if endpoint.is_compressed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let client = Client::builder()
            .tls_backend_preconfigured(tls().map_err(|error| failed(&error))?)
            .timeout(endpoint.timeout)
            // A redirect would carry headers with credentials to another host.
            .redirect(redirect::Policy::none())
            .no_proxy()
            .user_agent(concat!("ambit/", env!("CARGO_PKG_VERSION")))
            .build();
        let url = Url::parse(&endpoint.url)
            .ok()
            .filter(|url| url.has_host() && url.scheme().starts_with("http"));
        let no_address = || {
            let message = "the endpoint of a collector is no address such as http://host:4318";
            Error::invalid("endpoint", message)
        };
        Ok(Self {
            client: client.map_err(|error| failed(&error))?,
            url: url.ok_or_else(no_address)?,
            headers,
            is_compressed: endpoint.is_compressed,
        })
    }

    /// Sends a request and waits for its answer.
    pub async fn send(&self, body: Vec<u8>) -> Delivery {
        let body = match self.is_compressed {
            true => gzip::compressed(&body),
            false => body,
        };
        let request = self.client.post(self.url.clone());
        let sent = request.headers(self.headers.clone()).body(body).send();
        let response = match sent.await {
            Ok(response) => response,
            Err(error) => return Delivery::failed(words(&error), None),
        };
        let status = response.status();
        let retry_after = retry_after(&response);
        match status {
            status if status.is_success() => match answer(response).await {
                Ok(answer) => Delivery::Taken(rejected_count(&answer)),
                Err(error) => Delivery::failed(words(&error), None),
            },
            StatusCode::BAD_REQUEST
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNPROCESSABLE_ENTITY => Delivery::Refused(of_status(status)),
            // What else it answers says something of the collector or of the way to it, and may be put right.
            _ => Delivery::failed(of_status(status), retry_after),
        }
    }
}

impl Delivery {
    fn failed(why: impl Into<String>, retry_after: Option<Duration>) -> Self {
        Self::Failed {
            why: why.into(),
            retry_after,
        }
    }
}

async fn answer(mut response: Response) -> reqwest::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() < ANSWER {
            body.extend_from_slice(&chunk);
        }
    }
    Ok(body)
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

fn of_status(status: StatusCode) -> String {
    format!("it answers with status {}", status.as_u16())
}

/// What an error says without the address, which may hold a key.
fn words(error: &reqwest::Error) -> &'static str {
    match error {
        error if error.is_timeout() => "it does not answer in time",
        error if error.is_connect() => "it cannot be reached",
        _ => "the connection to it broke",
    }
}
