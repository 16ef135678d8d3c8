//! `kb/<id>.kb.yao`: collections of knowledge whose documents are files of the app.

mod document_files;
mod glob;

pub use document_files::document_files;
pub use glob::DocumentPattern;

use super::loader::AppLoader;
use super::package::AgentShare;
use super::problem::{FileProblem, ItemsById, ProblemReport, Severity};
use super::read::{ConfigNode, Setting, ValueKind};
use super::{AppCollection, references};
use crate::config;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// The folder of collections.
const FOLDER: &str = "kb";
/// The ending of their files.
const ENDING: &str = ".kb.yao";
/// The lengths that chunks may have, in tokens.
const CHUNK_SIZES: std::ops::RangeInclusive<u64> = 50..=2000;
/// The codes of languages.
const LANGUAGES: &[&str] = &[
    "auto", "none", "ar", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt",
    "ro", "ru", "sv", "ta", "tr",
];

config! {
    /// A collection of knowledge whose documents are files of the app.
    pub struct CollectionFile {
        /// What people call it; its id where nothing is said.
        name: String,
        /// What it holds.
        description: String,
        /// Its documents: patterns of files below the app's folder, such as `docs/**/*.md`. Links are not followed.
        documents: Vec<DocumentPattern>,
        /// How its documents are cut.
        chunk: ChunkSizes,
        /// The language of its documents; `auto` takes each word by its letters, `none` leaves words as they are.
        language: String = "auto" as ValueKind::OneOf(LANGUAGES),
        /// Who makes its vectors: a connector's id, or an object; without it words alone find.
        embedding: Option<CollectionVectors>,
        /// Whether everybody may use it; without it and `share`, as `ambit.visibility` says.
        public: Option<bool>,
        /// Who may use it beside callers without constraints: nobody (`private`) or their team.
        share: Option<AgentShare>,
        /// What is known of it.
        metadata: Map<String, Value>,
    }

    /// How documents are cut.
    pub struct ChunkSizes {
        /// The most tokens of a chunk, 50 to 2000.
        size: u64 = 300,
        /// The most tokens that a chunk repeats of the one before, at most half of its size.
        overlap: u64 = 50,
    }

    /// Who makes the vectors of a collection.
    pub struct VectorOptions {
        /// The connector.
        #[required]
        connector: String,
        /// How many numbers a vector has; the model's own number where nothing is said.
        dimensions: Option<u32>,
        /// What stands before each query.
        query_prefix: String,
        /// What stands before each text of a document.
        document_prefix: String,
    }
}

/// Who makes the vectors of a collection, also as the connector's id alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectionVectors(pub VectorOptions);

impl Setting for CollectionVectors {
    const KIND: ValueKind = ValueKind::Either(&[ValueKind::Text, VectorOptions::KIND]);

    fn read(value: Value) -> Option<Self> {
        let options = match value {
            Value::String(connector) => VectorOptions {
                connector,
                ..VectorOptions::default()
            },
            value => VectorOptions::read(value)?,
        };
        Some(Self(options))
    }

    fn is_nothing(&self) -> bool {
        self.0.connector.is_empty()
    }
}

impl Setting for DocumentPattern {
    const KIND: ValueKind = ValueKind::Text;

    fn read(value: Value) -> Option<Self> {
        value.as_str().and_then(|text| Self::parse(text).ok())
    }
}

/// Reads all collections.
pub fn load(loader: &mut AppLoader) -> ItemsById<Arc<AppCollection>> {
    let collections = loader.load_items(FOLDER, &[ENDING], |loader, id, file| {
        read_collection(loader, id, file).map(Arc::new)
    });
    // Documents beside the collections are read, and nothing is to be told of them.
    let files = loader.files.iter();
    let read = files.filter(|file| {
        let mut usable = collections.values().flatten();
        usable.any(|collection| collection.has(file))
    });
    let read: Vec<String> = read.cloned().collect();
    loader.leave_out(read);
    collections
}

fn read_collection(
    loader: &mut AppLoader,
    id: &str,
    name: &str,
) -> Result<AppCollection, FileProblem> {
    let (file, node) = loader.read::<CollectionFile>(name)?;
    let mut report = ProblemReport::new(name);
    check_id(id, &node, &mut report);
    check_chunk(&file.chunk, &node, &mut report);
    check_documents(loader.root(), &file.documents, &node, &mut report);
    if let Some(embedding) = node.get("embedding") {
        let connector = embedding.get("connector").unwrap_or(embedding);
        references::connector(loader, name, "embedding", connector);
    }
    let collection = AppCollection {
        id: id.to_owned(),
        file,
    };
    loader.take(report).map(|()| collection)
}

fn check_id(id: &str, node: &ConfigNode, report: &mut ProblemReport) {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if id.len() > 128 || !id.bytes().all(is_plain) {
        let message = format!(
            "its id \"{id}\" may have 128 letters, digits, '.', '_' and '-'; rename the file"
        );
        report.error(node.at, message);
    }
}

fn check_documents(
    root: &Path,
    documents: &[DocumentPattern],
    node: &ConfigNode,
    report: &mut ProblemReport,
) {
    // What cannot be listed is told where it is to be read.
    let files = document_files(root, documents).ok();
    for (at, pattern) in node.list("documents").iter().enumerate() {
        let text = pattern.value();
        let has_file = |read: &DocumentPattern| {
            let mut files = files.iter().flatten();
            files.any(|file| read.matches(&file.path))
        };
        match text.as_str().map(DocumentPattern::parse) {
            Some(Err(rule)) => report.error(pattern.at, format!("\"documents[{at}]\" {rule}")),
            Some(Ok(read)) if files.is_some() && !has_file(&read) => {
                let message = format!("\"documents[{at}]\": the app has no such file");
                report.push(Severity::Warning, pattern.at, message);
            }
            _ => {}
        }
    }
}

fn check_chunk(chunk: &ChunkSizes, node: &ConfigNode, report: &mut ProblemReport) {
    let nothing = ConfigNode::nothing();
    let written = node.get("chunk").unwrap_or(&nothing);
    if !CHUNK_SIZES.contains(&chunk.size) {
        let at = written.position("size");
        report.error(at, "\"chunk.size\" must be 50 to 2000");
    } else if chunk.overlap > chunk.size / 2 {
        let at = written.position("overlap");
        report.error(
            at,
            "\"chunk.overlap\" must be at most half of \"chunk.size\"",
        );
    }
}

impl AppCollection {
    /// Whether a file of the app is one of its documents.
    pub fn has(&self, file: &str) -> bool {
        let mut patterns = self.file.documents.iter();
        patterns.any(|pattern| pattern.matches(file))
    }
}
