//! Puts a program together: every import leads to a file that exports what is asked for.

use super::cache::ProgramModules;
use super::compile::CompiledModule;
use super::resolve::{ImportResolver, ImportTarget, unreadable};
use super::{Program, ProgramSource, SourceFiles};
use crate::error::LoadError;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The value names of the built-in modules.
pub struct BuiltInNames<'n>(pub &'n BTreeSet<String>);

/// Loads a file and everything it imports.
pub fn load(
    files: &dyn SourceFiles,
    source: &ProgramSource,
    compiled: &mut ProgramModules<'_>,
    names: &BuiltInNames<'_>,
) -> Result<Program, LoadError> {
    let rules = ImportResolver::new(files, source)?;
    let text = files
        .read(&source.file)
        .map_err(|error| unreadable(&source.file, &error))?;
    let missing = || LoadError {
        at: None,
        message: format!("there is no file {}", source.file),
    };
    let entry = compiled.module(&source.file, &text.ok_or_else(missing)?)?;
    let mut program = Program {
        entry: Arc::clone(&entry),
        modules: HashMap::from([(entry.path.clone(), Arc::clone(&entry))]),
        resolved: HashMap::new(),
    };
    let mut built_in = BTreeMap::<String, BTreeSet<String>>::new();
    let mut open = vec![entry];
    while let Some(module) = open.pop() {
        for (import, at) in &module.imports {
            let path = match rules.find(&module.path, &import.specifier, at)? {
                ImportTarget::BuiltIn => {
                    let asked = built_in.entry(import.specifier.clone()).or_default();
                    if import.whole {
                        asked.extend(names.0.iter().cloned());
                    }
                    asked.extend(import.names.iter().cloned());
                    import.specifier.clone()
                }
                ImportTarget::File(path, text) => {
                    if !program.modules.contains_key(&path) {
                        let next = compiled.module(&path, &text)?;
                        program.modules.insert(path.clone(), Arc::clone(&next));
                        open.push(next);
                    }
                    path
                }
            };
            let known = program.resolved.entry(module.path.clone()).or_default();
            known.insert(import.specifier.clone(), path);
        }
    }
    for (specifier, asked) in built_in {
        let offered = asked.iter().filter(|name| names.0.contains(*name));
        let text: String = offered
            .map(|name| format!("export const {name} = globalThis.{name};\n"))
            .collect();
        let module = compiled.module(&specifier, &text)?;
        program.modules.insert(specifier, module);
    }
    check(&program)?;
    Ok(program)
}

/// Every imported name exists.
fn check(program: &Program) -> Result<(), LoadError> {
    for module in program.modules.values() {
        for (import, at) in &module.imports {
            let target = program.resolved(&module.path, &import.specifier);
            let Some(target) = target.and_then(|path| program.modules.get(&path)) else {
                continue;
            };
            let missing = import
                .names
                .iter()
                .find(|name| !exports(program, target, name));
            if let Some(name) = missing {
                return Err(LoadError {
                    at: Some(at.clone()),
                    message: format!(
                        "{} imports {name} from \"{}\", but {} does not export it",
                        module.path, import.specifier, target.path
                    ),
                });
            }
        }
    }
    Ok(())
}

/// True if a module exports a name, its own or one of a file whose exports it passes on.
pub fn exports(program: &Program, module: &CompiledModule, name: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![module];
    while let Some(module) = open.pop() {
        if !seen.insert(&module.path) {
            continue;
        }
        if module.exports.contains(name) {
            return true;
        }
        // `export *` leaves the default export out.
        let stars = module.stars.iter().filter(|_| name != "default");
        let targets = stars.filter_map(|specifier| program.resolved(&module.path, specifier));
        open.extend(targets.filter_map(|path| program.modules.get(&path).map(AsRef::as_ref)));
    }
    false
}
