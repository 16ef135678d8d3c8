//! Each picture that a page shows is there, and small.

use super::{Finding, Source};
use std::path::Path;

/// How large a picture may be: every clone holds each that there ever was.
const MOST_BYTES: u64 = 200_000;

/// Every picture of these pages that is missing or too large; `size` tells the bytes of a file by its path, none where it is missing.
pub fn check(pages: &[Source], size: impl Fn(&str) -> Option<u64>) -> Vec<Finding> {
    let shown = pages
        .iter()
        .flat_map(|page| images(page).map(move |image| (page, image)));
    let findings = shown.filter_map(|(page, image)| {
        let what = match size(&image) {
            Some(bytes) if bytes <= MOST_BYTES => return None,
            Some(bytes) => format!("{image} has {bytes} bytes, more than {MOST_BYTES}"),
            None => format!("{image} is missing; `cargo xtask screenshots` takes the console's"),
        };
        Some(Finding::new(&page.path, what))
    });
    findings.collect()
}

/// The pictures that a page names, by their paths from the repository's folder.
fn images(page: &Source) -> impl Iterator<Item = String> {
    let folder = page.path.rsplit_once('/').map(|(folder, _)| folder);
    let is_between = |letter: char| letter.is_whitespace() || "\"'()<>`".contains(letter);
    let words = page.text.split(is_between);
    let named = words.filter(|word| {
        let is_here = word.contains('/') && !word.contains("://");
        is_here
            && Path::new(word)
                .extension()
                .is_some_and(|ending| ending == "png")
    });
    named.map(move |path| match folder {
        Some(folder) => format!("{folder}/{path}"),
        None => path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, source};
    use super::{MOST_BYTES, check};

    #[test]
    fn a_picture_that_is_missing_or_too_large_is_found() {
        let readme = "<img src=\"docs/images/a.png\"> ![b](docs/images/b.png) https://x.test/c.png";
        let page = "![a](images/a.png)\n<source srcset=\"images/c.png\">\n`any.png`\n";
        let pages = [source("README.md", readme), source("docs/page.md", page)];
        let size = |path: &str| match path {
            "docs/images/a.png" => Some(MOST_BYTES),
            "docs/images/b.png" => Some(MOST_BYTES + 1),
            _ => None,
        };
        let large = "docs/images/b.png has 200001 bytes, more than 200000";
        let missing = "docs/images/c.png is missing; `cargo xtask screenshots` takes the console's";
        assert_eq!(
            check(&pages, size),
            [
                Finding::new("README.md", large),
                Finding::new("docs/page.md", missing)
            ]
        );
    }
}
