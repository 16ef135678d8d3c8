//! Which web pages of other sites may call with a token, and what they may send (the CORS protocol of browsers).

use super::openapi_file::{CorsSettings, wrong};
use ambit_runtime::app::FileProblem;
use axum::http::header::{HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};

/// What pages may always send.
const SENT: &str = "authorization, content-type, idempotency-key, last-event-id, x-api-key, anthropic-version, anthropic-beta";
/// What they never may, so that no cookie of the console counts there.
const NEVER_SENT: [&str; 2] = ["cookie", "x-ambit-console"];

/// What browsers are told of pages of other sites.
pub struct CorsRules {
    origins: Vec<String>,
    /// The headers that pages may send, with commas between them.
    pub sent: HeaderValue,
    /// Whether browsers may send what they know of the server by themselves, such as cookies of a proxy.
    pub has_credentials: bool,
}

impl CorsRules {
    /// The rules of an app that lists these origins; none where it lists no origin.
    pub fn of(origins: Vec<String>, settings: &CorsSettings) -> Result<Option<Self>, FileProblem> {
        let mut sent = SENT.to_owned();
        for name in &settings.headers {
            let known = HeaderName::from_bytes(name.as_bytes());
            let known = known.map_err(|_| refused(name, "is no name of a header"))?;
            // To browsers it means all headers, those that are refused here too.
            if known.as_str() == "*" {
                return Err(refused(name, "means any header"));
            }
            if NEVER_SENT.contains(&known.as_str()) {
                return Err(refused(name, "is for the server's own pages alone"));
            }
            sent = format!("{sent}, {known}");
        }
        let sent = HeaderValue::try_from(sent)
            .map_err(|_| wrong("\"cors.headers\" must hold names of headers"))?;
        let rules = Self {
            origins,
            sent,
            has_credentials: settings.credentials,
        };
        Ok((!rules.origins.is_empty()).then_some(rules))
    }

    /// The origin of the page that asks, if it is listed, letter for letter.
    pub fn allowed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let told = origin.to_str().ok()?;
        let is_listed = self.origins.iter().any(|known| known == told);
        is_listed.then(|| origin.clone())
    }
}

fn refused(name: &str, why: &str) -> FileProblem {
    wrong(format!(
        "\"cors.headers\" must hold names of headers such as \"x-ambit-metadata\": \"{name}\" {why}"
    ))
}
