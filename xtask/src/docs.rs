//! `cargo xtask docs`: the pages of the project as one site in `target/docs`, and what is wrong with their links.

mod html;
mod links;
mod page;

use crate::process::{Result, root, target_folder};
use crate::tidy::{open, read};
use page::Page;
use std::fs;
use std::path::Path;

/// Pages beside those of `docs`.
const BESIDE: [&str; 4] = ["ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "README"];
/// An app whose files are examples; what it holds is no page.
const EXAMPLE: &str = "docs/reference/app/";
/// The pictures of pages.
const IMAGES: &str = "docs/images";

/// Writes the site, unless a link is wrong.
pub fn run(_arguments: &[String]) -> Result<bool> {
    let pages = pages()?;
    if !report(&pages) {
        return Ok(false);
    }
    let site = target_folder()?.join("docs");
    // What is left of pages that are gone would still be found.
    match fs::remove_dir_all(&site) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(format!("cannot remove {}: {error}", site.display()));
        }
        _ => {}
    }
    for page in &pages {
        let html = html::document(page, &pages);
        write(&site.join(page.file()), html.as_bytes())?;
    }
    let failed = |error| format!("cannot read {IMAGES}: {error}");
    for entry in fs::read_dir(root().join(IMAGES)).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.file_name().unwrap_or_default();
        write(&site.join(IMAGES).join(name), &bytes)?;
    }
    let (count, site) = (pages.len(), site.join("index.html"));
    println!("{count} pages: {}", site.display());
    Ok(true)
}

/// Prints each wrong link, and is true where there is none.
pub fn check() -> Result<bool> {
    Ok(report(&pages()?))
}

fn report(pages: &[Page]) -> bool {
    let findings = links::wrong(pages, |path| root().join(path).exists());
    findings.iter().for_each(|finding| println!("{finding}"));
    findings.is_empty()
}

fn pages() -> Result<Vec<Page>> {
    let mut sources = read(&root(), "docs", "md")?;
    sources.retain(|source| !source.path.starts_with(EXAMPLE));
    for name in BESIDE {
        let path = root().join(format!("{name}.md"));
        sources.push(open(&root(), &path)?);
    }
    Ok(sources.iter().map(Page::of).collect())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |error| format!("cannot write {}: {error}", path.display());
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    fs::write(path, bytes).map_err(failed)
}
