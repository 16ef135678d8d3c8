//! The reference page of the files of an app: a table for each.

use crate::config::{ConfigStruct, FileKind, ValueKind};
use std::collections::BTreeMap;

const HEAD: &str = "# The files of an app

<!-- Written by `cargo xtask generate`. -->

An app is a folder. `.yao` files are JSON with comments and trailing commas where they begin with `{` or `[`, else YAML; `.yml` files
are YAML. In place of a value, `$ENV.NAME` stands for a variable of the environment or of the file `.env`, but for prompts, which keep
their variables until a turn needs them. `null` is as good as not given. Keys that are not listed are refused, unless it is said.

A duration is a number of seconds or a text such as `\"30s\"`, with `ms`, `s`, `m`, `h` or `d`. A size is a number of bytes or a text
such as `\"64MiB\"`, with `B`, `kB`, `MB`, `GB`, `KiB`, `MiB` or `GiB`. Keys of a nested object are written with dots; `[]` is each item of
a list and `<name>` each key of an object whose keys one chooses.

`ambit check` says what is wrong in an app, with file and line. `ambit schema`, called in the app's folder, writes JSON Schemas of these
files to `.vscode/schemas`, where editors look for them (`ambit schema FOLDER` to a folder of your choice, for schemas alone); `ambit new`
puts them into a new app.

";

/// Objects by the names of their types, and how often each is named.
type Objects = BTreeMap<&'static str, (usize, &'static ConfigStruct)>;

/// The page about these files.
pub fn page(files: &[&'static FileKind]) -> String {
    let mut objects = Objects::new();
    files
        .iter()
        .for_each(|file| count(&file.kind, &mut objects));
    objects.retain(|_, (times, _)| *times > 1);
    let mut page = ReferencePage {
        text: HEAD.to_owned(),
        objects,
    };
    for file in files {
        page.section(&format!("`{}`", file.patterns.join("`, `")), file.doc);
        match &file.kind {
            ValueKind::Struct(object) if !page.objects.contains_key(object.name) => {
                page.object_table(object);
            }
            kind => {
                page.text += &format!("Holds: {}.\n\n", page.kind(kind));
                page.table_of(|page, unused| page.below(kind, "", unused));
            }
        }
    }
    for (name, (_, object)) in page.objects.clone() {
        page.section(&words(name), object.doc);
        page.object_table(object);
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
        ValueKind::List(inner) | ValueKind::Map(inner) | ValueKind::Verbatim(inner) => {
            count(inner, objects);
        }
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
}

impl ReferencePage {
    fn section(&mut self, title: &str, doc: &str) {
        self.text += &format!("\n## {title}\n\n{doc}\n\n");
    }

    fn table_of(&mut self, rows: impl FnOnce(&mut Self, &mut Vec<String>)) {
        let head = "| key | is | default | means |\n|---|---|---|---|\n";
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
            self.text += &format!("| `{key}` | {kind} | {default} | {doc} |\n");
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
            ValueKind::Verbatim(inner) => self.below(inner, path, unused),
            ValueKind::Either(kinds) => kinds.iter().for_each(|it| self.below(it, path, unused)),
            ValueKind::With(_, one, other) => {
                self.below(one, path, unused);
                self.below(other, &format!("{path}.<name>"), unused);
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
            ValueKind::Verbatim(inner) => self.kind(inner),
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
