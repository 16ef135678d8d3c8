//! Links of pages that lead nowhere.

use super::page::Page;

/// What is wrong, a line for each link. `exists` tells whether there is a file or folder of this path.
pub fn wrong(pages: &[Page], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for page in pages {
        for link in &page.links {
            let Some((path, anchor)) = page.target(link) else {
                continue;
            };
            let target = pages.iter().find(|page| page.path == path);
            let headings = target.map(|target| &target.headings);
            let is_there = anchor.is_empty()
                || headings.is_none_or(|all| all.iter().any(|it| it.anchor == anchor));
            if !exists(&path) {
                found.push(format!("{}: ({link}): there is no {path}", page.path));
            } else if !is_there {
                found.push(format!(
                    "{}: ({link}): {path} has no such heading",
                    page.path
                ));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::page::Page;
    use super::wrong;
    use crate::tidy::Source;

    #[test]
    fn a_link_to_a_file_or_a_heading_that_is_not_there_is_found() {
        let page = |path: &str, text: &str| {
            Page::of(&Source {
                path: path.to_owned(),
                text: text.to_owned(),
            })
        };
        let links = "# A\n\n[1](b.md#two) [2](b.md#three) [3](c.md) [4](#a) [5](code.rs#L1) [6](https://x.test)";
        let pages = [page("docs/a.md", links), page("docs/b.md", "## Two\n")];
        let there = ["docs/a.md", "docs/b.md", "docs/code.rs"];
        let expected = [
            "docs/a.md: (b.md#three): docs/b.md has no such heading",
            "docs/a.md: (c.md): there is no docs/c.md",
        ];
        assert_eq!(wrong(&pages, |path| there.contains(&path)), expected);
    }
}
