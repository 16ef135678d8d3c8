//! What a request says beside its body: its path, its query and its headers.

use crate::format::ai_sdk::AiSdkVersion;
use crate::http::HttpError;
use crate::http::connection::ClientConnection;
use crate::http::idempotency::IdempotencyKey;
use crate::http::input::{self, Id, Text};
use crate::http::middleware::RequestId;
use ambit_runtime::{ClientInfo, Error, RequestOrigin, Result, TraceContext};
use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT_LANGUAGE, USER_AGENT};
use axum::http::request::Parts;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::IntoParams;

/// The language of whoever names none.
const LOCALE: &str = "en-us";
/// Letters of a language tag.
const MAX_LOCALE_LENGTH: usize = 35;
/// What can stand behind `?`. An empty text leaves the usual, but for what names something.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CompletionQuery {
    /// The agent.
    pub assistant_id: Option<Text>,
    /// The chat's name.
    pub chat_id: Option<Text>,
    /// The id of the index row of exactly this conversation's history; the chat is named `-` or not at all then.
    pub context: Option<Id>,
    /// The format of the answer.
    pub accept: Option<String>,
    /// The theme of the page.
    pub theme: Option<String>,
    /// The route of the page.
    pub route: Option<String>,
    /// The mode.
    pub mode: Option<String>,
    /// `jssdk` for Ambit's own library.
    pub referer: Option<String>,
    /// The language.
    pub locale: Option<String>,
    /// The client's version of the AI SDK, from 7 on: `7` for the newest, or a whole one, as `7.0.91`.
    pub v: Option<Text>,
}

/// What a request says beside its body.
pub struct RequestParameters {
    /// The agent that the path names.
    pub assistant: Option<String>,
    /// The connection.
    pub peer: Option<ClientConnection>,
    /// The request's id.
    pub request_id: Option<String>,
    /// What stands behind `?`.
    pub query: CompletionQuery,
    headers: HeaderMap,
}

impl<S: Send + Sync> FromRequestParts<S> for RequestParameters {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        let peer = parts.extensions.get::<ConnectInfo<ClientConnection>>();
        let request_id = parts.extensions.get::<RequestId>();
        Ok(Self {
            assistant: None,
            peer: peer.map(|ConnectInfo(peer)| peer.clone()),
            request_id: request_id.map(|RequestId(id)| id.clone()),
            query: input::query(parts)?,
            headers: parts.headers.clone(),
        })
    }
}

/// What a body says of where the request comes from.
#[derive(Default)]
pub struct BodyOrigin {
    /// The language.
    pub locale: Option<String>,
    /// The theme of the client's pages.
    pub theme: Option<String>,
    /// The page that asks.
    pub route: Option<String>,
}

impl RequestParameters {
    /// A header `X-Ambit-…`, or `X-Yao-…`, which means the same.
    pub fn own_header(&self, name: &str) -> Result<Option<String>> {
        match self.header(&format!("x-ambit-{name}"))? {
            None => self.header(&format!("x-yao-{name}")),
            found => Ok(found),
        }
    }

    /// A header that is text and not empty.
    pub fn header(&self, name: &str) -> Result<Option<String>> {
        let Some(value) = self.headers.get(name) else {
            return Ok(None);
        };
        let text = std::str::from_utf8(value.as_bytes());
        let text = text.map_err(|_| Error::invalid(name, format!("{name} is not UTF-8")))?;
        Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
    }

    /// A value of the query or, without one, of the header.
    pub fn query_or_header(&self, query: Option<&String>, header: &str) -> Result<Option<String>> {
        match query.filter(|text| !text.is_empty()) {
            None => self.own_header(header),
            found => Ok(found.cloned()),
        }
    }

    /// A value of the query, of the header or, without either, of the body.
    pub fn told(
        &self,
        query: &Option<String>,
        header: &str,
        body: Option<String>,
    ) -> Result<Option<String>> {
        Ok(self.query_or_header(query.as_ref(), header)?.or(body))
    }

    /// Where the request comes from. What query and headers do not say is as the body says.
    pub fn origin(
        &self,
        accept: &str,
        metadata: &Map<String, Value>,
        body: BodyOrigin,
    ) -> Result<RequestOrigin> {
        let query = &self.query;
        let theme = self.told(&query.theme, "theme", body.theme)?;
        let route = self.told(&query.route, "route", body.route)?;
        Ok(RequestOrigin {
            locale: self.locale(query.locale.as_ref(), body.locale, metadata)?,
            theme: theme.unwrap_or_default(),
            route: route.unwrap_or_default(),
            accept: accept.to_owned(),
            referer: self.referer()?,
            client: self.client(),
            trace_context: self.trace_context(),
        })
    }

    /// The key under which this request is one with its repetitions.
    pub fn idempotency_key(&self) -> Result<Option<IdempotencyKey>> {
        IdempotencyKey::of(&self.headers)
    }

    /// The metadata of the header: base64 of a JSON object.
    pub fn metadata(&self) -> Result<Map<String, Value>> {
        let Some(text) = self.own_header("metadata")? else {
            return Ok(Map::new());
        };
        let refused =
            |what: &str| Error::invalid("metadata", format!("the metadata header {what}"));
        let bytes = STANDARD.decode(text.trim());
        let bytes = bytes.map_err(|_| refused("is not base64"))?;
        serde_json::from_slice(&bytes).map_err(|_| refused("does not hold a JSON object"))
    }

    /// Whether the client says that it is Ambit's own library; nothing else can be said from outside.
    pub fn referer(&self) -> Result<String> {
        let told = self.query_or_header(self.query.referer.as_ref(), "referer")?;
        let known = told.filter(|told| told == "jssdk");
        Ok(known.unwrap_or_else(|| "api".to_owned()))
    }

    /// The language: query, headers, body, metadata, what the browser prefers, English.
    pub fn locale(
        &self,
        query: Option<&String>,
        body: Option<String>,
        metadata: &Map<String, Value>,
    ) -> Result<String> {
        let told = metadata.get("locale").and_then(Value::as_str);
        let browser = self.header(ACCEPT_LANGUAGE.as_str())?;
        let browser = browser.as_deref().and_then(preferred);
        let all = [
            self.query_or_header(query, "locale")?,
            body,
            told.map(str::to_owned),
            browser,
        ];
        let mut tags = all.into_iter().flatten().filter_map(|text| tag(&text));
        Ok(tags.next().unwrap_or_else(|| LOCALE.to_owned()))
    }

    /// The version of the AI SDK that the client says it has: by `v`, or by a header.
    pub fn ai_sdk(&self, version: Option<&Text>) -> Result<AiSdkVersion> {
        let version = version.map(|version| &version.0);
        let version = self.query_or_header(version, "ai-sdk")?;
        Ok(version.map_or_else(AiSdkVersion::default, |text| AiSdkVersion::read(&text)))
    }

    /// The trace that the request is part of.
    pub fn trace_context(&self) -> Option<TraceContext> {
        let text = |name: &str| self.headers.get(name)?.to_str().ok();
        TraceContext::read(text("traceparent")?, text("tracestate"))
    }

    /// The client program.
    pub fn client(&self) -> ClientInfo {
        let agent = self.headers.get(USER_AGENT).map(|agent| agent.as_bytes());
        let user_agent = String::from_utf8_lossy(agent.unwrap_or_default()).into_owned();
        let ip = self.peer.as_ref().map(|peer| peer.address.ip().to_string());
        ClientInfo {
            kind: kind(&user_agent).to_owned(),
            user_agent,
            ip: ip.unwrap_or_default(),
        }
    }
}

/// A language tag in the form that is used inside: lower case, with `-`; `None` for what is none.
fn tag(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase().replace('_', "-");
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let is_tag = (2..=MAX_LOCALE_LENGTH).contains(&text.len()) && text.chars().all(is_letter);
    is_tag.then_some(text)
}

/// The language of `Accept-Language` with the greatest weight; of equals the first.
fn preferred(text: &str) -> Option<String> {
    let mut best: Option<(f32, &str)> = None;
    for item in text.split(',') {
        let (name, parameter) = item.split_once(';').unwrap_or((item, "q=1"));
        let weight = parameter.trim().strip_prefix("q=");
        let weight: f32 = weight.and_then(|weight| weight.parse().ok()).unwrap_or(0.0);
        if weight > best.map_or(0.0, |(best, _)| best) {
            best = Some((weight, name));
        }
    }
    best.map(|(_, name)| name.to_owned())
}

/// The kind of client that sends this User-Agent.
fn kind(user_agent: &str) -> &'static str {
    const SIGNS: [(&str, &str); 10] = [
        ("agent", "agent"),
        ("jssdk", "jssdk"),
        ("android", "android"),
        ("iphone", "ios"),
        ("ipad", "ios"),
        ("ipod", "ios"),
        ("windows", "windows"),
        ("mac os x", "macos"),
        ("macintosh", "macos"),
        ("linux", "linux"),
    ];
    let text = user_agent.to_ascii_lowercase();
    let found = SIGNS.iter().find(|(sign, _)| text.contains(sign));
    found.map_or("web", |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::{kind, preferred, tag};

    #[test]
    fn the_language_with_the_greatest_weight_is_preferred() {
        for (text, expected) in [
            ("zh-CN,zh;q=0.9,en;q=0.8", Some("zh-CN")),
            ("en;q=0.5, de;q=0.7", Some(" de")),
            ("fr;q=0", None),
            ("", Some("")),
        ] {
            assert_eq!(preferred(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn tags_are_lower_case_with_hyphens() {
        assert_eq!(tag(" zh_CN "), Some("zh-cn".to_owned()));
        for text in ["*", "", "en us", "../etc", "x"] {
            assert_eq!(tag(text), None, "{text}");
        }
    }

    #[test]
    fn clients_are_told_by_their_user_agent() {
        for (text, expected) in [
            ("", "web"),
            ("curl/8.5.0", "web"),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X)",
                "ios",
            ),
            ("Mozilla/5.0 (Linux; Android 14)", "android"),
            ("Mozilla/5.0 (X11; Linux x86_64)", "linux"),
            ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15)", "macos"),
            ("Mozilla/5.0 (Windows NT 10.0)", "windows"),
            ("yao-jssdk/1.0", "jssdk"),
            ("Yao-Agent/1.0", "agent"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
