//! A page: its text, its headings with their anchors, and where its links lead.

use crate::tidy::Source;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::BTreeMap;

/// A page in Markdown.
#[derive(Debug)]
pub struct Page {
    /// Its path from the repository's folder.
    pub path: String,
    pub text: String,
    pub headings: Vec<Heading>,
    /// Where links and pictures lead.
    pub links: Vec<String>,
}

/// A heading of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Heading {
    /// 1 for the page's title.
    pub level: usize,
    pub text: String,
    /// What a link to it ends with, as GitHub has it.
    pub anchor: String,
}

/// The parser of all that pages may hold.
pub fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

impl Page {
    pub fn of(source: &Source) -> Self {
        let (mut headings, mut links) = (Vec::new(), Vec::new());
        let (mut open, mut times) = (None::<String>, BTreeMap::new());
        for event in parser(&source.text) {
            match event {
                Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    links.push(dest_url.to_string());
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut open {
                        heading.push_str(&text);
                    }
                }
                Event::End(TagEnd::Heading(level)) => {
                    let text = open.take().unwrap_or_default();
                    headings.push(Heading {
                        level: level as usize,
                        anchor: anchor(&text, &mut times),
                        text,
                    });
                }
                _ => {}
            }
        }
        Self {
            path: source.path.clone(),
            text: source.text.clone(),
            headings,
            links,
        }
    }

    /// What it is called.
    pub fn title(&self) -> &str {
        match self.headings.first() {
            Some(heading) => &heading.text,
            None => &self.path,
        }
    }

    /// The file of the site that it becomes.
    pub fn file(&self) -> String {
        match self.path.strip_suffix(".md") {
            Some("README") => "index.html".to_owned(),
            Some(path) => format!("{path}.html"),
            None => self.path.clone(),
        }
    }

    /// The path from the repository's folder of what a link leads to, and the anchor there; none for links to elsewhere.
    pub fn target(&self, link: &str) -> Option<(String, String)> {
        if link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        if path.is_empty() {
            return Some((self.path.clone(), anchor.to_owned()));
        }
        let mut parts: Vec<&str> = self.path.split('/').collect();
        parts.pop();
        for part in path.split('/') {
            match part {
                ".." => {
                    parts.pop();
                }
                "." | "" => {}
                part => parts.push(part),
            }
        }
        Some((parts.join("/"), anchor.to_owned()))
    }
}

/// The anchor of a heading: of several with the same words all but the first are numbered.
fn anchor(text: &str, times: &mut BTreeMap<String, usize>) -> String {
    let letters = text.trim().to_lowercase();
    let is_kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    let words: String = letters.chars().filter(is_kept).collect();
    let words = words.replace(' ', "-");
    let before = times.entry(words.clone()).or_insert(0);
    *before += 1;
    match *before {
        1 => words,
        count => format!("{words}-{}", count - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::Page;
    use crate::tidy::Source;

    #[test]
    fn a_page_has_anchors_and_says_where_links_lead() {
        let text = "# A `b`, c!\n\n## Two\n\n## Two\n\n[x](../y.md#z) ![p](images/p.png)\n\n```\n# no\n```\n";
        let page = Page::of(&Source {
            path: "docs/a/b.md".to_owned(),
            text: text.to_owned(),
        });
        let anchors: Vec<&str> = page.headings.iter().map(|it| it.anchor.as_str()).collect();
        assert_eq!(anchors, ["a-b-c", "two", "two-1"]);
        assert_eq!(page.title(), "A b, c!");
        assert_eq!(page.file(), "docs/a/b.html");
        let targets: Vec<_> = page.links.iter().map(|link| page.target(link)).collect();
        let pair = |path: &str, anchor: &str| Some((path.to_owned(), anchor.to_owned()));
        assert_eq!(
            targets,
            [pair("docs/y.md", "z"), pair("docs/a/images/p.png", "")]
        );
        assert_eq!(page.target("https://example.com/"), None);
        assert_eq!(page.target("#two"), pair("docs/a/b.md", "two"));
    }
}
