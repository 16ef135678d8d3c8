//! The files of the built console, as the program holds them.

use crate::gzip;
use ambit_storage::address::digest;
use axum::body::Bytes;
use std::collections::BTreeMap;

/// The page among the files.
const PAGE: &str = "index.html";
/// What the address of the routes is written behind.
const HEAD: &str = "<head>";

/// Files by their names, packed with gzip.
const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/console_files.rs"));

/// The content types of files, by the ends of their names.
const TYPES: &[(&str, &str)] = &[
    ("css", "text/css; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/x-icon"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
];

/// A console as it was built: its page and what that loads. None at all where the program was built without one.
#[derive(Clone, Debug, Default)]
pub struct ConsoleFiles(BTreeMap<String, Bytes>);

impl ConsoleFiles {
    /// Those that the program holds.
    pub fn embedded() -> Self {
        let files = EMBEDDED.iter();
        let files = files.map(|(name, packed)| ((*name).to_owned(), Bytes::from_static(packed)));
        Self(files.collect())
    }

    /// These files, by their names: `index.html`, `assets/page-1a2b3c4d.js`.
    pub fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let files = files.into_iter();
        let files = files.map(|(name, bytes)| (name.to_owned(), gzip::pack(bytes).into()));
        Self(files.collect())
    }

    /// Whether there is a console.
    pub fn has_page(&self) -> bool {
        self.0.contains_key(PAGE)
    }
}

/// A file as it is sent.
pub(super) struct ConsoleFile {
    pub packed: Bytes,
    pub content_type: &'static str,
}

impl ConsoleFile {
    fn of(name: &str, packed: Bytes) -> Self {
        let end = name.rsplit('.').next().unwrap_or_default();
        let mut known = TYPES.iter();
        let known = known.find(|(known, _)| *known == end);
        Self {
            content_type: known.map_or("application/octet-stream", |(_, kind)| *kind),
            packed,
        }
    }

    /// The file for clients that take nothing packed.
    pub fn unpacked(&self) -> Option<Vec<u8>> {
        gzip::unpack(&self.packed)
    }
}

/// A console for a server whose routes are at one base path.
pub(super) struct ConsoleSite {
    pub page: ConsoleFile,
    /// Names the page's content, for clients that have it already.
    pub tag: String,
    /// What the page loads, by its path.
    pub assets: BTreeMap<String, ConsoleFile>,
}

impl ConsoleSite {
    /// A console whose page says where the routes are; none without a page.
    pub fn of(files: &ConsoleFiles, base: &str) -> Option<Self> {
        let page = gzip::unpack(files.0.get(PAGE)?)?;
        let page = with_base(&String::from_utf8(page).ok()?, base);
        let assets = files.0.iter().filter(|(name, _)| *name != PAGE);
        let assets = assets.map(|(name, packed)| {
            let file = ConsoleFile::of(name, packed.clone());
            (format!("/console/{name}"), file)
        });
        Some(Self {
            tag: format!("\"{}\"", digest(&[&page])),
            page: ConsoleFile::of(PAGE, gzip::pack(page.as_bytes()).into()),
            assets: assets.collect(),
        })
    }
}

/// The page with the address of the routes, relative to its own, so that a proxy may put something before both.
fn with_base(page: &str, base: &str) -> String {
    let base = base
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;");
    let meta = format!("{HEAD}<meta name=\"ambit-base\" content=\"..{base}\">");
    page.replacen(HEAD, &meta, 1)
}
