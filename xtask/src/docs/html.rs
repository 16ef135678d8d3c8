//! A page as HTML, beside a list of all pages.

use super::page::{Page, parser};
use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

const STYLE: &str = include_str!("site.css");
/// What is no page of the site is shown here.
const SOURCES: &str = "https://github.com/ambit-rs/ambit/blob/main";
/// The parts of the list, and what the paths of their pages begin with: the longest that fits counts.
const PARTS: &[(&str, &str)] = &[
    ("Guides", "docs/guides/"),
    ("Pages", "docs/"),
    ("Reference", "docs/reference/"),
    ("Project", ""),
    ("Decisions", "docs/decisions/"),
];

/// The file of a page.
pub fn document(page: &Page, pages: &[Page]) -> String {
    let (title, list) = (escape(page.title()), list(page, pages));
    let (contents, body) = (contents(page), body(page, pages));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n<nav>\n{list}</nav>\n<main>\n{contents}{body}</main>\n</html>\n"
    )
}

/// The part of the list that a page stands in.
fn part(page: &Page) -> &'static str {
    let fitting = PARTS
        .iter()
        .filter(|(_, begin)| page.path.starts_with(begin));
    let longest = fitting.max_by_key(|(_, begin)| begin.len());
    longest.map_or("", |(name, _)| *name)
}

fn list(page: &Page, pages: &[Page]) -> String {
    let mut list = format!("<p><a href=\"{}\">Ambit</a></p>\n", up(page, "index.html"));
    for (name, _) in PARTS {
        let inside = pages.iter().filter(|other| part(other) == *name);
        let items: String = inside
            .filter(|other| other.path != "README.md")
            .map(|other| {
                let (file, title) = (up(page, &other.file()), escape(other.title()));
                format!("<li><a href=\"{file}\">{title}</a></li>\n")
            })
            .collect();
        let is_open = if part(page) == *name { " open" } else { "" };
        list +=
            &format!("<details{is_open}><summary>{name}</summary>\n<ul>\n{items}</ul></details>\n");
    }
    list
}

/// The sections of a page, where there are several.
fn contents(page: &Page) -> String {
    let sections = page.headings.iter().filter(|heading| heading.level == 2);
    let items: Vec<String> = sections
        .map(|it| {
            format!(
                "<li><a href=\"#{}\">{}</a></li>\n",
                it.anchor,
                escape(&it.text)
            )
        })
        .collect();
    match items.len() {
        0..=2 => String::new(),
        _ => format!(
            "<details><summary>On this page</summary><ul>\n{}</ul></details>\n",
            items.concat()
        ),
    }
}

/// A file of the site as a page of it links to it.
fn up(page: &Page, file: &str) -> String {
    let depth = page.path.matches('/').count();
    format!("{}{file}", "../".repeat(depth))
}

/// Where a link of a page leads in the site.
fn address(page: &Page, pages: &[Page], link: &str) -> String {
    let Some((path, anchor)) = page.target(link) else {
        return link.to_owned();
    };
    let anchor = match anchor.as_str() {
        "" => anchor,
        anchor => format!("#{anchor}"),
    };
    match pages.iter().find(|other| other.path == path) {
        Some(other) => up(page, &other.file()) + &anchor,
        None if path.starts_with(super::IMAGES) => up(page, &path),
        None => format!("{SOURCES}/{path}{anchor}"),
    }
}

fn body(page: &Page, pages: &[Page]) -> String {
    let mut html = String::new();
    let (mut headings, mut cell) = (page.headings.iter(), "td");
    for event in parser(&page.text) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let anchor = headings
                    .next()
                    .map_or("", |heading| heading.anchor.as_str());
                html += &format!("<{level} id=\"{anchor}\">");
            }
            Event::End(TagEnd::Heading(level)) => html += &format!("</{level}>\n"),
            Event::Start(Tag::Link { dest_url, .. }) => {
                html += &format!("<a href=\"{}\">", escape(&address(page, pages, &dest_url)));
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                html += &format!(
                    "<img src=\"{}\" alt=\"",
                    escape(&address(page, pages, &dest_url))
                );
            }
            Event::End(TagEnd::Image) => html += "\">",
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                html += &format!("<pre><code class=\"{}\">", escape(&language));
            }
            Event::Start(Tag::TableHead) => {
                cell = "th";
                html += "<tr>";
            }
            Event::End(TagEnd::TableHead) => {
                cell = "td";
                html += "</tr>\n";
            }
            Event::Start(Tag::TableCell) => html += &format!("<{cell}>"),
            Event::End(TagEnd::TableCell) => html += &format!("</{cell}>"),
            Event::Text(text) => html += &escape(&text),
            Event::Code(text) => html += &format!("<code>{}</code>", escape(&text)),
            Event::Html(text) | Event::InlineHtml(text) => html += &text,
            Event::SoftBreak => html.push('\n'),
            Event::HardBreak => html += "<br>\n",
            Event::Rule => html += "<hr>\n",
            Event::Start(tag) => html += plain(&tag.to_end(), true),
            Event::End(tag) => html += plain(&tag, false),
            _ => {}
        }
    }
    html
}

/// What begins and ends what has no more to say.
fn plain(tag: &TagEnd, is_begin: bool) -> &'static str {
    let (begin, end) = match tag {
        TagEnd::Paragraph => ("<p>", "</p>\n"),
        TagEnd::BlockQuote(_) => ("<blockquote>\n", "</blockquote>\n"),
        TagEnd::CodeBlock => ("<pre><code>", "</code></pre>\n"),
        TagEnd::List(true) => ("<ol>\n", "</ol>\n"),
        TagEnd::List(false) => ("<ul>\n", "</ul>\n"),
        TagEnd::Item => ("<li>", "</li>\n"),
        TagEnd::Table => ("<table>\n", "</table>\n"),
        TagEnd::TableRow => ("<tr>", "</tr>\n"),
        TagEnd::Emphasis => ("<em>", "</em>"),
        TagEnd::Strong => ("<strong>", "</strong>"),
        TagEnd::Strikethrough => ("<del>", "</del>"),
        TagEnd::Link => ("", "</a>"),
        _ => ("", ""),
    };
    if is_begin { begin } else { end }
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::page::Page;
    use super::{body, document};
    use crate::tidy::Source;

    fn page(path: &str, text: &str) -> Page {
        Page::of(&Source {
            path: path.to_owned(),
            text: text.to_owned(),
        })
    }

    #[test]
    fn a_page_becomes_html_with_links_inside_of_the_site() {
        let text = "# A <b>\n\n[b](b.md#two), [x](../x.rs)\n\n| h |\n|---|\n| `c` |\n\n```sh\na > b\n```\n";
        let pages = [page("docs/a.md", text), page("docs/b.md", "# B\n")];
        let expected = "<h1 id=\"a\">A <b></h1>\n<p><a href=\"../docs/b.html#two\">b</a>, \
             <a href=\"https://github.com/ambit-rs/ambit/blob/main/x.rs\">x</a></p>\n<table>\n<tr><th>h</th></tr>\n\
             <tr><td><code>c</code></td></tr>\n</table>\n<pre><code class=\"sh\">a &gt; b\n</code></pre>\n";
        assert_eq!(body(&pages[0], &pages), expected);
        let file = document(&pages[0], &pages);
        assert!(file.contains("<li><a href=\"../docs/b.html\">B</a></li>"));
    }
}
