//! Imports that the TypeScript compiler drops: of names that are types, and of names that nothing uses. What they name must be
//! there all the same; nothing is loaded for that.

use super::Program;
use super::module_syntax::{self, ModuleExports, ModuleImport};
use super::nesting;
use super::resolve::{ImportResolver, ImportTarget};
use crate::error::{LoadError, SourceLocation};
use oxc::allocator::Allocator;
use oxc::parser::Parser;
use oxc::span::SourceType;
use std::collections::{BTreeSet, HashMap};

/// What the compiler has dropped of the imports of a file.
pub fn dropped(written: Vec<ModuleImport>, kept: &[ModuleImport]) -> Vec<ModuleImport> {
    let dropped = written.into_iter().filter_map(|mut import| {
        if let Some(kept) = kept.iter().find(|kept| kept.offset == import.offset) {
            import.names.retain(|name| !kept.names.contains(name));
            import.whole = false;
        }
        (import.whole || !import.names.is_empty()).then_some(import)
    });
    dropped.collect()
}

/// Every file that such an import names is there, and exports what is imported of it. Which types a built-in module has is not
/// known here.
pub fn check(program: &Program, resolver: &ImportResolver<'_>) -> Result<(), LoadError> {
    let mut known: HashMap<String, Option<BTreeSet<String>>> = HashMap::new();
    for module in program.modules.values() {
        for (import, at) in &module.erased {
            let target = resolver.find_types(&module.path, &import.specifier, at)?;
            let ImportTarget::File(path, text) = target else {
                continue;
            };
            let names = known
                .entry(path.clone())
                .or_insert_with(|| exported(resolver, &path, text, at));
            let Some(names) = names else {
                continue;
            };
            let missing = import.names.iter().find(|name| !names.contains(*name));
            if let Some(name) = missing {
                return Err(LoadError {
                    at: Some(at.clone()),
                    message: import.not_exported(&module.path, name, &path),
                });
            }
        }
    }
    Ok(())
}

/// All names that a file exports, types included, its own and those that it passes on; `None` where its source does not tell.
fn exported(
    resolver: &ImportResolver<'_>,
    path: &str,
    text: String,
    at: &SourceLocation,
) -> Option<BTreeSet<String>> {
    let (mut names, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut open = vec![(path.to_owned(), text)];
    while let Some((path, text)) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let mut exports = read(&path, &text)?;
        if seen.len() > 1 {
            // `export *` leaves the default export out.
            exports.names.remove("default");
        }
        names.append(&mut exports.names);
        for specifier in &exports.stars {
            match resolver.find_types(&path, specifier, at) {
                Ok(ImportTarget::File(path, text)) => open.push((path, text)),
                Ok(ImportTarget::BuiltIn) | Err(_) => return None,
            }
        }
    }
    Some(names)
}

/// What one file exports. A file of declarations may export what it does not say to export.
fn read(path: &str, text: &str) -> Option<ModuleExports> {
    if path.ends_with(".d.ts") {
        return None;
    }
    if path.ends_with(".json") {
        return Some(ModuleExports::of_json());
    }
    let kind = SourceType::from_path(path).ok()?;
    let size = nesting::stack_size(path, text).ok()?;
    nesting::on_stack(size, || {
        let allocator = Allocator::default();
        let parsed = Parser::new(&allocator, text, kind.with_module(true)).parse();
        let is_read = parsed.diagnostics.errors().next().is_none();
        is_read.then(|| module_syntax::exports(&parsed.program))
    })?
}
