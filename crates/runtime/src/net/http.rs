//! `http.Get`, `http.Post` and their like, as scripts call them. A request that fails is an answer with status 0.

use super::{
    HttpClient, HttpRequest, HttpResponse, NetError, NetErrorKind, RedirectMode, ResponseStream,
    multipart,
};
use crate::value_text;
use ambit_script::{Callback, HostError};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use url::Url;

/// One of the functions of `http`.
struct HttpFunction {
    name: &'static str,
    /// Where its arguments stand, from 0.
    at: ArgumentPositions,
}

/// Places of arguments; what has none is not one of the function's.
#[derive(Clone, Copy, Default)]
struct ArgumentPositions {
    method: Option<usize>,
    url: usize,
    payload: Option<usize>,
    query: Option<usize>,
    headers: Option<usize>,
    files: Option<usize>,
}

const fn at(url: usize, payload: Option<usize>, query: usize, headers: usize) -> ArgumentPositions {
    ArgumentPositions {
        method: None,
        url,
        payload,
        query: Some(query),
        headers: Some(headers),
        files: None,
    }
}

const fn plain(name: &'static str) -> HttpFunction {
    let at = at(0, Some(1), 2, 3);
    HttpFunction { name, at }
}

#[rustfmt::skip]
const FUNCTIONS: &[HttpFunction] = &[
    HttpFunction { name: "Get", at: at(0, None, 1, 2) },
    HttpFunction { name: "Post", at: ArgumentPositions { files: Some(2), ..at(0, Some(1), 3, 4) } },
    plain("Put"),
    plain("Patch"),
    plain("Delete"),
    plain("Head"),
    HttpFunction { name: "Send", at: ArgumentPositions { method: Some(0), files: Some(5), ..at(1, Some(2), 3, 4) } },
    HttpFunction { name: "Stream", at: ArgumentPositions { method: Some(0), ..at(1, Some(3), 4, 5) } },
];

/// Answers one call of a function of `http`.
pub async fn call(
    client: &HttpClient,
    method: &str,
    arguments: &[Value],
    callbacks: &[Callback],
) -> Result<Value, HostError> {
    let name = method.strip_prefix("http.").unwrap_or(method);
    let unknown = || {
        HostError::new(
            "unsupported",
            format!("http.{name} is not available in Ambit"),
        )
    };
    let function = FUNCTIONS.iter().find(|function| function.name == name);
    let function = function.ok_or_else(unknown)?;
    let missing = |what: &str| {
        HostError::new(
            "invalid_argument",
            format!("{name} requires a {what} argument"),
        )
    };
    let argument = |place: Option<usize>| arguments.get(place?).filter(|value| !value.is_null());
    if function.at.method.is_some() && argument(function.at.method).is_none() {
        return Err(missing("method"));
    }
    if argument(Some(function.at.url)).is_none() {
        return Err(missing("url"));
    }
    let request = read(function, arguments);
    if name != "Stream" {
        let answered = match request {
            Ok(request) => client.send(request).await,
            Err(refusal) => Err(refusal),
        };
        return Ok(answered.map_or_else(|refusal| refused(&refusal), answer));
    }
    let callback = callbacks.first().ok_or_else(|| missing("callback"))?;
    let opened = match request {
        Ok(request) => client.open(request).await,
        Err(refusal) => Err(refusal),
    };
    match opened {
        Ok(opened) => lines(opened, callback).await,
        Err(refusal) => Ok(refused(&refusal)),
    }
}

/// Gives each line of the body to the script's function until it returns `false`, 0 or less.
async fn lines(mut opened: ResponseStream, callback: &Callback) -> Result<Value, HostError> {
    let mut rest = Vec::new();
    loop {
        let chunk = match opened.chunk().await {
            Ok(chunk) => chunk,
            Err(refusal) => return Ok(refused(&refusal)),
        };
        let is_end = chunk.is_none();
        rest.extend(chunk.unwrap_or_default());
        while let Some(line) = line(&mut rest, is_end) {
            let goes_on = callback.call(vec![line.into()]).await;
            let goes_on = goes_on.map_err(|thrown| HostError {
                message: thrown.message,
                from_callback: true,
                ..HostError::default()
            })?;
            if goes_on == false || goes_on.as_f64().is_some_and(|number| number <= 0.0) {
                return Ok(answer(opened.head));
            }
        }
        if is_end {
            return Ok(answer(opened.head));
        }
    }
}

/// Takes the first line of what has come; at the end also one without an end of its own.
fn line(rest: &mut Vec<u8>, is_end: bool) -> Option<String> {
    let end = rest.iter().position(|byte| *byte == b'\n');
    let taken: Vec<u8> = match end {
        Some(end) => rest.drain(..=end).collect(),
        None if is_end && !rest.is_empty() => std::mem::take(rest),
        None => return None,
    };
    let text = String::from_utf8_lossy(&taken);
    Some(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn read(function: &HttpFunction, arguments: &[Value]) -> Result<HttpRequest, NetError> {
    let at = function.at;
    let argument = |place: Option<usize>| {
        let value = place.and_then(|place| arguments.get(place));
        value.unwrap_or(&Value::Null)
    };
    let method = match at.method {
        Some(place) => argument(Some(place)).as_str().unwrap_or_default(),
        None => function.name,
    };
    let mut headers = pairs(argument(at.headers));
    let files = argument(at.files).as_array().map_or(&[][..], Vec::as_slice);
    let typed = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let typed = typed.map(|(_, value)| value.to_ascii_lowercase());
    let body = body(argument(at.payload), files, typed.as_deref())?;
    if let Some((kind, _)) = body.as_ref().filter(|(kind, _)| !kind.is_empty()) {
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        headers.push(("content-type".to_owned(), kind.clone()));
    }
    Ok(HttpRequest {
        method: method.to_owned(),
        url: with_query(argument(Some(at.url)), argument(at.query))?,
        headers,
        body: body.map(|(_, bytes)| bytes),
        redirect: RedirectMode::Follow,
    })
}

/// A body and its type; no type where the caller's holds.
fn body(
    payload: &Value,
    files: &[Value],
    typed: Option<&str>,
) -> Result<Option<(String, Vec<u8>)>, NetError> {
    let is = |kind: &str| typed.is_some_and(|typed| typed.starts_with(kind));
    if !files.is_empty() || is("multipart/form-data") {
        return multipart::body(&pairs(payload), files).map(Some);
    }
    let unless_typed = |kind: &str| match typed {
        Some(_) => String::new(),
        None => kind.to_owned(),
    };
    Ok(match payload {
        Value::Null => None,
        Value::String(text) => {
            let kind = unless_typed("text/plain;charset=UTF-8");
            Some((kind, text.clone().into_bytes()))
        }
        form if is("application/x-www-form-urlencoded") => {
            let mut text = url::form_urlencoded::Serializer::new(String::new());
            text.extend_pairs(pairs(form));
            Some((String::new(), text.finish().into_bytes()))
        }
        json => {
            let kind = unless_typed("application/json");
            Some((kind, json.to_string().into_bytes()))
        }
    })
}

fn with_query(url: &Value, query: &Value) -> Result<String, NetError> {
    let text = url.as_str().unwrap_or_default();
    let query = match query {
        Value::String(text) => {
            let read = url::form_urlencoded::parse(text.trim_start_matches('?').as_bytes());
            read.into_owned().collect()
        }
        other => pairs(other),
    };
    if query.is_empty() {
        return Ok(text.to_owned());
    }
    let mut url =
        Url::parse(text).map_err(|_| NetError::invalid("the URL is not one of http or https"))?;
    url.query_pairs_mut().extend_pairs(query);
    Ok(url.into())
}

/// The members of an object, or of the objects of a list; a member that is a list comes once for each item.
fn pairs(value: &Value) -> Vec<(String, String)> {
    let objects: Vec<&Map<String, Value>> = match value {
        Value::Object(object) => vec![object],
        Value::Array(list) => list.iter().filter_map(Value::as_object).collect(),
        _ => Vec::new(),
    };
    let mut pairs = Vec::new();
    for (name, value) in objects.into_iter().flatten() {
        match value {
            Value::Null => {}
            Value::Array(items) => {
                pairs.extend(
                    items
                        .iter()
                        .map(|item| (name.clone(), value_text::value_text(item))),
                );
            }
            one => pairs.push((name.clone(), value_text::value_text(one))),
        }
    }
    pairs
}

/// What a script gets of an answer.
fn answer(response: HttpResponse) -> Value {
    let mut headers: Map<String, Value> = Map::new();
    let mut is_json = false;
    for (name, value) in &response.headers {
        let kind = value.split(';').next().unwrap_or_default().trim();
        is_json |=
            name == "content-type" && (kind == "application/json" || kind.ends_with("+json"));
        let all = headers.entry(canonical(name)).or_insert_with(|| json!([]));
        if let Some(all) = all.as_array_mut() {
            all.push(value.as_str().into());
        }
    }
    let message = match response.status {
        400.. => response.status_text.as_str(),
        _ => "",
    };
    json!({
        "status": response.status, "code": response.status, "data": data(response.body, is_json),
        "headers": headers, "message": message,
    })
}

/// A body as a value: JSON, else text, else base64; `null` without one.
fn data(body: Vec<u8>, is_json: bool) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    if let Some(value) = is_json
        .then(|| serde_json::from_slice(&body).ok())
        .flatten()
    {
        return value;
    }
    match String::from_utf8(body) {
        Ok(text) => text.into(),
        Err(error) => STANDARD.encode(error.as_bytes()).into(),
    }
}

/// `Content-Type` for `content-type`: how Yao's scripts know headers.
fn canonical(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    name.split('-').map(word).collect::<Vec<_>>().join("-")
}

/// What a script gets where there is no answer.
fn refused(refusal: &NetError) -> Value {
    let code = match refusal.kind {
        NetErrorKind::Denied => 403,
        NetErrorKind::Invalid | NetErrorKind::Limited | NetErrorKind::Failed => 0,
    };
    json!({"status": 0, "code": code, "data": null, "headers": {}, "message": refusal.message})
}
