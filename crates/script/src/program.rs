//! A file and everything it imports, compiled and linked.

mod cache;
mod compile;
mod diagnostics;
mod erased_imports;
mod files;
mod link;
mod module_syntax;
mod nesting;
mod resolve;
mod source_map;

pub use cache::ModuleCache;
pub use files::{SourceFiles, SourceFolder};

use crate::bare::Bytecode;
use crate::error::SourceLocation;
use compile::CompiledModule;
use std::collections::HashMap;
use std::sync::Arc;

/// Which program to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramSource {
    /// The file whose functions are called, relative to the root of the files.
    pub file: String,
    /// The folder that its relative imports may not leave, such as that of an agent; empty for the root.
    pub folder: String,
}

/// A loaded program. It does not change; a changed file needs a new one.
pub struct Program {
    entry: Arc<CompiledModule>,
    modules: HashMap<String, Arc<CompiledModule>>,
    /// From a file and what it says to the file that is meant.
    resolved: HashMap<String, HashMap<String, String>>,
}

/// How a function is found in the entry file.
pub enum FunctionExport {
    /// It is exported under its name.
    Named,
    /// It may be a member of the default export; else the plain function exported under this name.
    MemberOfDefault(Option<String>),
    /// It is a plain top-level function, exported under this name.
    Plain(String),
    /// There is nothing of that name.
    None,
}

impl Program {
    /// The file whose functions are called.
    pub fn entry(&self) -> &str {
        &self.entry.path
    }

    /// True if the program has a function of this name, or may have: what a computed default export holds is known only when
    /// the program runs, and then [`crate::Error::NoFunction`] says that it has not.
    pub fn has(&self, function: &str) -> bool {
        !matches!(self.export(function), FunctionExport::None)
    }

    /// The names of the entry file that may be functions, for messages that help. What a computed default export holds, and
    /// what is passed on from other files, is not among them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let members = self.entry.default.members();
        let exported = self.entry.exports.difference(&self.entry.types);
        let own = exported.chain(&self.entry.plain);
        own.chain(members).map(String::as_str)
    }

    /// Whether other modules can import this value of the entry file by its name.
    pub fn exports_value(&self, name: &str) -> bool {
        self.entry.exports.contains(name) && !self.entry.types.contains(name)
    }

    /// The names of the values that the entry file exports itself, and the members of its default export as far as they are
    /// known.
    pub fn exported(&self) -> impl Iterator<Item = &str> {
        let own = self.entry.exports.difference(&self.entry.types);
        let own = own.map(String::as_str);
        let own = own.filter(|name| *name != "default");
        own.chain(self.entry.default.members().map(String::as_str))
    }

    /// The line of the entry file on which the function of this name begins, as far as the file itself says it.
    pub fn line(&self, function: &str) -> Option<u32> {
        self.entry.lines.get(function).copied()
    }

    pub(crate) fn export(&self, name: &str) -> FunctionExport {
        let plain = self
            .entry
            .plain
            .contains(name)
            .then(|| module_syntax::plain(name));
        if self.exports(name) {
            FunctionExport::Named
        } else if self.entry.default.may_have(name) {
            FunctionExport::MemberOfDefault(plain)
        } else {
            plain.map_or(FunctionExport::None, FunctionExport::Plain)
        }
    }

    /// True if the entry file exports a value of this name, its own or another file's.
    pub(crate) fn exports(&self, name: &str) -> bool {
        link::exports(self, &self.entry, name)
    }

    pub(crate) fn code(&self, path: &str) -> rquickjs::Result<&Bytecode> {
        match self.modules.get(path) {
            Some(module) => Ok(&module.code),
            None => Err(rquickjs::Error::new_loading(path)),
        }
    }

    /// The file that an import means.
    pub(crate) fn resolved(&self, base: &str, specifier: &str) -> Option<String> {
        self.resolved.get(base)?.get(specifier).cloned()
    }

    /// The names with dots between them that stand in the source at this place, such as `ctx.Send`.
    pub(crate) fn expression_at(&self, at: &SourceLocation) -> Option<String> {
        let module = self.modules.get(&at.file)?;
        let index = |number: u32| usize::try_from(number).ok()?.checked_sub(1);
        let line = module.text.lines().nth(index(at.line)?)?;
        let letters: Vec<char> = line.chars().collect();
        let is_of_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
        let (before, after) = letters.split_at_checked(index(at.column)?)?;
        let start = before.iter().rev();
        let start = start.take_while(|letter| is_of_name(**letter) || **letter == '.');
        let end = after
            .iter()
            .take_while(|letter| is_of_name(**letter))
            .count();
        let expression = &letters[before.len() - start.count()..before.len() + end];
        let expression: String = expression.iter().collect();
        let expression = expression.trim_matches('.');
        (!expression.is_empty()).then(|| expression.to_owned())
    }

    /// The place in the source of a place in the code that runs.
    pub(crate) fn original(&self, file: &str, line: u32, column: u32) -> Option<SourceLocation> {
        let module = self.modules.get(file)?;
        let (line, column) = module.map.original(line, column)?;
        Some(SourceLocation {
            file: file.to_owned(),
            line,
            column,
        })
    }
}
