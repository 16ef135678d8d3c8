//! The web console's page and files.

use crate::site::{Answer, Site, TOKENS, client};
use ambit::http::ConsoleFiles;
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, Method};
use serde_json::json;

const PAGE: &str = "<!doctype html><html><head><title>Ambit</title></head><body></body></html>";
const SCRIPT: &str = "console.log('a script that repeats itself, a script that repeats itself')";
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html dompurify";

/// Small files in the place of the built ones.
fn files() -> ConsoleFiles {
    ConsoleFiles::of([
        ("index.html", PAGE.as_bytes()),
        ("assets/page-1a2b3c4d.js", SCRIPT.as_bytes()),
        ("assets/icon-1a2b3c4d.svg", b"<svg/>"),
    ])
}

async fn site(files_of_app: &[(&str, &str)]) -> Site {
    Site::set(files_of_app, |settings| settings.console = files()).await
}

/// A file of the console; it is in no document.
async fn read(site: &Site, path: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap, Vec<u8>) {
    let mut request = plain().request(Method::GET, format!("{}{path}", site.url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, response.bytes().await.unwrap().to_vec())
}

/// A client that follows nothing.
fn plain() -> Client {
    drop(client());
    Client::builder().redirect(Policy::none()).build().unwrap()
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn the_page_is_for_everybody_and_says_where_the_routes_are() {
    let site = site(&[TOKENS]).await;
    let (status, headers, _) = read(&site, "/", &[]).await;
    assert_eq!(
        (status, header(&headers, "location")),
        (307, Some("console/"))
    );
    let (status, headers, _) = read(&site, "/console", &[]).await;
    assert_eq!(
        (status, header(&headers, "location")),
        (308, Some("console/"))
    );
    let (status, headers, page) = read(&site, "/console/", &[]).await;
    let expected = PAGE.replace(
        "<head>",
        "<head><meta name=\"ambit-base\" content=\"../v1\">",
    );
    assert_eq!((status, String::from_utf8(page).unwrap()), (200, expected));
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-cache"),
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(header(&headers, name), Some(value), "{name}");
    }
    let tag = header(&headers, "etag").unwrap().to_owned();
    let (status, _, page) = read(&site, "/console/", &[("if-none-match", &tag)]).await;
    assert_eq!((status, page.len()), (304, 0));
    let (status, ..) = read(&site, "/console/", &[("if-none-match", "\"other\"")]).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn files_are_kept_forever_and_packed_for_clients_that_take_it() {
    let site = site(&[]).await;
    let path = "/console/assets/page-1a2b3c4d.js";
    let (status, headers, whole) = read(&site, path, &[]).await;
    assert_eq!((status, whole.as_slice()), (200, SCRIPT.as_bytes()));
    let forever = "public, max-age=31536000, immutable";
    assert_eq!(header(&headers, "cache-control"), Some(forever));
    let kind = header(&headers, "content-type");
    assert_eq!(kind, Some("text/javascript; charset=utf-8"));
    assert_eq!(header(&headers, "vary"), Some("accept-encoding"));
    for (accepted, is_packed) in [
        ("gzip", true),
        ("br, gzip;q=0.5", true),
        ("gzip;q=0", false),
        ("identity", false),
    ] {
        let (_, headers, bytes) = read(&site, path, &[("accept-encoding", accepted)]).await;
        let encoding = header(&headers, "content-encoding");
        assert_eq!(encoding, is_packed.then_some("gzip"), "{accepted}");
        assert_eq!(bytes.starts_with(&[0x1f, 0x8b]), is_packed, "{accepted}");
    }
}

#[tokio::test]
async fn other_paths_are_not_there() {
    let site = site(&[]).await;
    for path in [
        "/console/index.html",
        "/console/assets",
        "/console/assets/other.js",
        "/console/../Cargo.toml",
        "/console/x",
    ] {
        assert_eq!(site.get(path).await.status, 404, "{path}");
    }
    let written = Answer::of(site.request(Method::POST, "/console/")).await;
    assert_eq!(written.status, 405);
}

#[tokio::test]
async fn an_app_without_a_console_and_a_program_without_one_have_none() {
    let off = r#"{"ambit": {"console": {"enabled": false}}}"#;
    let without = [
        site(&[("app.yao", off)]).await,
        Site::set(&[], |settings| settings.console = ConsoleFiles::default()).await,
    ];
    for site in without {
        for path in [
            "/",
            "/console",
            "/console/",
            "/console/assets/page-1a2b3c4d.js",
        ] {
            assert_eq!(site.get(path).await.status, 404, "{path}");
        }
    }
}

#[tokio::test]
async fn pictures_come_from_origins_that_the_app_names() {
    let app = r#"{"ambit": {"console": {"images": ["https://images.test", "https://x.test; script-src *"]}}}"#;
    let site = site(&[("app.yao", app)]).await;
    let (_, headers, _) = read(&site, "/console/", &[]).await;
    let policy = POLICY.replace("data: blob:", "data: blob: https://images.test");
    assert_eq!(
        header(&headers, "content-security-policy"),
        Some(policy.as_str())
    );
    let session = site.get("/v1/session").await.json();
    assert_eq!(session["images"], json!(["https://images.test"]));
    let problems = site.runtime.problems();
    let told = problems.iter().map(ToString::to_string);
    let told: Vec<String> = told.filter(|told| told.contains("images[1]")).collect();
    assert_eq!(told.len(), 1, "{problems:?}");
}

#[tokio::test]
async fn the_page_names_the_base_path_of_the_app() {
    let base = ("openapi/openapi.yao", r#"{"baseurl": "/api/v2"}"#);
    let site = site(&[base]).await;
    let (_, _, page) = read(&site, "/console/", &[]).await;
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("content=\"../api/v2\""), "{page}");
}
