//! What the prelude's web globals leave to the host: text coding, random ids, URLs.

use rand::Rng;
use rquickjs::{Ctx, Function, Object, Result, TypedArray};
use url::{Url, form_urlencoded, quirks};

/// Adds the functions to what the prelude is given.
pub fn add<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> Result<()> {
    let encode = |ctx: Ctx<'js>, string: rquickjs::String<'js>| {
        let text = crate::value::text(&ctx, &string)?;
        TypedArray::<u8>::new_copy(ctx, text.as_bytes())
    };
    native.set("encode", Function::new(ctx.clone(), encode)?)?;
    native.set("uuid", Function::new(ctx.clone(), uuid)?)?;
    let random = || rand::random::<f64>();
    native.set("random", Function::new(ctx.clone(), random)?)?;
    let parse = |input: String, base: Option<String>| {
        let base = base.map(|base| Url::parse(&base)).transpose().ok()?;
        let url = Url::options().base_url(base.as_ref()).parse(&input).ok()?;
        Some(parts(&url))
    };
    native.set("parseUrl", Function::new(ctx.clone(), parse)?)?;
    let change = |href: String, part: String, value: String| {
        let mut url = Url::parse(&href).ok()?;
        change(&mut url, &part, &value).then(|| parts(&url))
    };
    native.set("changeUrl", Function::new(ctx.clone(), change)?)?;
    let read = |text: String| {
        let pairs = form_urlencoded::parse(text.as_bytes());
        pairs
            .map(|(name, value)| vec![name.into_owned(), value.into_owned()])
            .collect::<Vec<_>>()
    };
    native.set("parseQuery", Function::new(ctx.clone(), read)?)?;
    let write = |pairs: Vec<Vec<String>>| {
        let mut text = form_urlencoded::Serializer::new(String::new());
        for pair in &pairs {
            if let [name, value] = pair.as_slice() {
                text.append_pair(name, value);
            }
        }
        text.finish()
    };
    native.set("writeQuery", Function::new(ctx.clone(), write)?)?;
    Ok(())
}

/// A random id of version 4.
fn uuid() -> String {
    let mut bytes = [0_u8; 16];
    rand::rng().fill_bytes(&mut bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let ranges = [0..4, 4..6, 6..8, 8..10, 10..16];
    ranges.map(|range| hex(&bytes[range])).join("-")
}

/// The parts of a URL, in the order in which the prelude names them.
fn parts(url: &Url) -> Vec<String> {
    let parts = [
        quirks::href(url),
        &quirks::origin(url),
        quirks::protocol(url),
        quirks::username(url),
        quirks::password(url),
        quirks::host(url),
        quirks::hostname(url),
        quirks::port(url),
        quirks::pathname(url),
        quirks::search(url),
        quirks::hash(url),
    ];
    parts.map(str::to_owned).to_vec()
}

/// Changes one part, by the rules of the URL standard; false if the value does not fit, and then nothing has changed.
fn change(url: &mut Url, part: &str, value: &str) -> bool {
    match part {
        "href" => quirks::set_href(url, value).is_ok(),
        "protocol" => quirks::set_protocol(url, value).is_ok(),
        "username" => quirks::set_username(url, value).is_ok(),
        "password" => quirks::set_password(url, value).is_ok(),
        "host" => quirks::set_host(url, value).is_ok(),
        "hostname" => quirks::set_hostname(url, value).is_ok(),
        "port" => quirks::set_port(url, value).is_ok(),
        "pathname" => {
            quirks::set_pathname(url, value);
            true
        }
        "search" => {
            quirks::set_search(url, value);
            true
        }
        "hash" => {
            quirks::set_hash(url, value);
            true
        }
        _ => false,
    }
}
