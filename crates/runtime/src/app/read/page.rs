//! The reference pages of the files of an app: a table for each kind of file, and examples of it.

use super::examples::{FileExamples, KeyExamples};
use crate::config::{ConfigStruct, ValueKind};
use std::collections::BTreeMap;

/// What says that a page is not written by hand.
pub const WRITTEN: &str = "<!-- Written by `cargo xtask generate`. -->";

/// What a page is about.
#[derive(Debug)]
pub struct PageOutline {
    /// The name of its file, without the ending.
    pub name: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What stands below the heading.
    pub about: &'static str,
    /// The kinds of files that it tells of, by their names.
    pub kinds: &'static [&'static str],
}

/// Objects by the names of their types, and how often each is named.
type Objects = BTreeMap<&'static str, (usize, &'static ConfigStruct)>;

/// A page; its examples come from files of all kinds.
pub fn page(outline: &PageOutline, all: &[FileExamples]) -> String {
    let (mut objects, mut named) = (Objects::new(), Objects::new());
    all.iter().for_each(|it| count(&it.kind.kind, &mut objects));
    objects.retain(|_, (times, _)| *times > 1);
    let (title, about) = (outline.title, outline.about);
    let mut page = ReferencePage {
        text: format!("# {title}\n\n{WRITTEN}\n\n{about}\n"),
        objects,
        examples: KeyExamples::of(all),
    };
    let files = all.iter();
    for file in files.filter(|file| outline.kinds.contains(&file.kind.name)) {
        count(&file.kind.kind, &mut named);
        page.file(file);
    }
    for (name, (_, object)) in page.objects.clone() {
        if named.contains_key(name) {
            page.section(&words(name), object.doc);
            page.object_table(object);
        }
    }
    page.text
}

/// Counts the objects of a kind. What is chosen by another key has a table of its own, and so counts twice.
fn count(kind: &'static ValueKind, objects: &mut Objects) {
    match kind {
        ValueKind::Struct(object) => {
            let (times, _) = objects.entry(object.name).or_insert((0, object));
            *times += 1;
            if *times == 1 {
                object
                    .fields()
                    .for_each(|field| count(&field.kind, objects));
            }
        }
        ValueKind::List(inner)
        | ValueKind::Map(inner)
        | ValueKind::Verbatim(inner)
        | ValueKind::Optional(inner) => count(inner, objects),
        ValueKind::With(_, one, other) => {
            [one, other].into_iter().for_each(|it| count(it, objects));
        }
        ValueKind::Either(kinds) => kinds.iter().for_each(|kind| count(kind, objects)),
        ValueKind::By(_, cases) => {
            let cases = cases.iter().flat_map(|(_, kind)| [kind, kind]);
            cases.for_each(|kind| count(kind, objects));
        }
        _ => {}
    }
}

struct ReferencePage {
    text: String,
    /// Objects with a table of their own.
    objects: Objects,
    /// The values that keys have in examples.
    examples: KeyExamples,
}

impl ReferencePage {
    fn section(&mut self, title: &str, doc: &str) {
        self.text += &format!("\n## {title}\n\n{doc}\n\n");
    }

    /// The section of a kind of file.
    fn file(&mut self, row: &FileExamples) {
        let patterns = row.kind.patterns.join("`, `");
        self.section(&format!("`{patterns}`"), row.kind.doc);
        match &row.kind.kind {
            ValueKind::Struct(object) if !self.objects.contains_key(object.name) => {
                self.object_table(object);
            }
            kind => {
                self.text += &format!("Holds: {}.\n\n", self.kind(kind));
                self.table_of(|page, unused| page.below(kind, "", unused));
            }
        }
        for file in &row.files {
            let language = match file.path.ends_with(".yml") {
                true => "yaml",
                false => "jsonc",
            };
            let (path, text) = (&file.path, &file.text);
            self.text += &format!("\nFor example `{path}`:\n\n```{language}\n{text}```\n");
        }
    }

    fn table_of(&mut self, rows: impl FnOnce(&mut Self, &mut Vec<String>)) {
        let head = "| key | is | default | example | means |\n|---|---|---|---|---|\n";
        self.text += head;
        let mut unused = Vec::new();
        rows(self, &mut unused);
        if self.text.ends_with(head) {
            self.text.truncate(self.text.len() - head.len() - 1);
        }
        if !unused.is_empty() {
            self.text += &format!("\nWithout effect: {}.\n", unused.join(", "));
        }
    }

    fn object_table(&mut self, object: &ConfigStruct) {
        self.table_of(|page, unused| page.rows(object, "", unused));
        if !object.others.is_empty() {
            self.text += &format!("\n{}\n", object.others);
        }
    }

    fn rows(&mut self, object: &ConfigStruct, path: &str, unused: &mut Vec<String>) {
        for field in object.fields() {
            let key = format!("{}{}", path.trim_start_matches('.'), field.name);
            if let ValueKind::Unused(_) = field.kind {
                unused.push(format!("`{key}`"));
                continue;
            }
            let default = match field.default {
                Some(default) => format!("`{}`", default()),
                None if field.is_required => "required".to_owned(),
                None => String::new(),
            };
            let (kind, doc) = (self.kind(&field.kind), field.doc);
            let example = self.examples.shown(object, field);
            self.text += &format!("| `{key}` | {kind} | {default} | {example} | {doc} |\n");
            self.below(&field.kind, &key, unused);
        }
    }

    /// The keys of objects in a value, unless they have a table of their own.
    fn below(&mut self, kind: &ValueKind, path: &str, unused: &mut Vec<String>) {
        match kind {
            ValueKind::Struct(object) if self.objects.contains_key(object.name) => {}
            ValueKind::Struct(object) => self.rows(object, &format!("{path}."), unused),
            ValueKind::List(inner) => self.below(inner, &format!("{path}[]"), unused),
            ValueKind::Map(inner) => self.below(inner, &format!("{path}.<name>"), unused),
            ValueKind::Verbatim(inner) | ValueKind::Optional(inner) => {
                self.below(inner, path, unused);
            }
            ValueKind::Either(kinds) => kinds.iter().for_each(|it| self.below(it, path, unused)),
            ValueKind::With(_, one, other) => {
                self.below(one, path, unused);
                self.below(other, path, unused);
            }
            _ => {}
        }
    }

    /// What a value is, in a few words.
    fn kind(&self, kind: &ValueKind) -> String {
        match kind {
            ValueKind::Text => "text".to_owned(),
            ValueKind::Pattern => "regular expression".to_owned(),
            ValueKind::Boolean => "`true` or `false`".to_owned(),
            ValueKind::Number => "number".to_owned(),
            ValueKind::Count => "whole number from 0 on".to_owned(),
            ValueKind::Whole => "whole number".to_owned(),
            ValueKind::Duration => "duration".to_owned(),
            ValueKind::Size => "size".to_owned(),
            ValueKind::OneOf(texts) => format!("`{}`", texts.join("`, `")),
            ValueKind::List(inner) => format!("list: {}", self.kind(inner)),
            ValueKind::Map(inner) => format!("object with names: {}", self.kind(inner)),
            ValueKind::Struct(object) if self.objects.contains_key(object.name) => {
                let title = words(object.name);
                let anchor = title.to_lowercase().replace(' ', "-");
                format!("[{title}](#{anchor})")
            }
            ValueKind::Either(kinds) => {
                let kinds: Vec<String> = kinds.iter().map(|kind| self.kind(kind)).collect();
                kinds.join(", or ")
            }
            ValueKind::With(_, one, other) => {
                format!("{}, or {}", self.kind(one), self.kind(other))
            }
            ValueKind::By(key, cases) => {
                let cases = cases.iter().map(|(texts, kind)| {
                    let texts = texts.join("`, `");
                    format!("with `{key}` `{texts}`: {}", self.kind(kind))
                });
                cases.collect::<Vec<_>>().join("; ")
            }
            ValueKind::Verbatim(inner) | ValueKind::Optional(inner) => self.kind(inner),
            ValueKind::Any | ValueKind::Unused(_) => "anything".to_owned(),
            ValueKind::Struct(_) => "object".to_owned(),
        }
    }
}

/// The name of a type as words: `LimitSettings` is "Limit settings".
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        match letter.is_ascii_uppercase() && !words.is_empty() {
            true => {
                words.push(' ');
                words.push(letter.to_ascii_lowercase());
            }
            false => words.push(letter),
        }
    }
    words
}
