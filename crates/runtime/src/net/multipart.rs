//! Files in a request's body, as forms send them.

use super::NetError;
use ambit_storage::address::hex;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::Rng;
use serde_json::Value;

/// The type and the bytes of a body with these fields and files. A file is `{name, data, filename?, type?}`; its data is base64.
pub fn body(fields: &[(String, String)], files: &[Value]) -> Result<(String, Vec<u8>), NetError> {
    let boundary = boundary();
    let mut body = Vec::new();
    for (name, value) in fields {
        let head = format!("Content-Disposition: form-data; name=\"{}\"", quoted(name));
        part(&mut body, &boundary, &head, value.as_bytes());
    }
    for file in files {
        let text = |name: &str| file.get(name).and_then(Value::as_str);
        let name = text("name").unwrap_or("file");
        let wrong = |what: &str| NetError::invalid(format!("file \"{name}\" {what}"));
        let data =
            text("data").ok_or_else(|| wrong("has no data; files take base64 data, no paths"))?;
        let bytes = STANDARD
            .decode(data)
            .map_err(|_| wrong("has data that is not base64"))?;
        let head = format!(
            "Content-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\nContent-Type: {}",
            quoted(name),
            quoted(text("filename").unwrap_or(name)),
            one_line(text("type").unwrap_or("application/octet-stream")),
        );
        part(&mut body, &boundary, &head, &bytes);
    }
    body.extend(format!("--{boundary}--\r\n").into_bytes());
    Ok((format!("multipart/form-data; boundary={boundary}"), body))
}

fn part(body: &mut Vec<u8>, boundary: &str, head: &str, bytes: &[u8]) {
    body.extend(format!("--{boundary}\r\n{head}\r\n\r\n").into_bytes());
    body.extend(bytes);
    body.extend(b"\r\n");
}

fn boundary() -> String {
    let mut bytes = [0_u8; 16];
    rand::rng().fill_bytes(&mut bytes);
    hex(&bytes)
}

/// As browsers do it.
fn quoted(text: &str) -> String {
    text.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}
