//! Puts a program together: every import leads to a file that exports what is asked for.

use super::cache::ProgramModules;
use super::compile::CompiledModule;
use super::erased_imports;
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
    let resolver = ImportResolver::new(files, source)?;
    let entry = compiled.module(&source.file, &read_entry(files, source)?)?;
    let mut linker = Linker {
        program: Program {
            entry: Arc::clone(&entry),
            modules: HashMap::from([(entry.path.clone(), Arc::clone(&entry))]),
            resolved: HashMap::new(),
        },
        built_in: BTreeMap::new(),
        unlinked: vec![entry],
    };
    while let Some(module) = linker.unlinked.pop() {
        linker.link(&module, &resolver, compiled)?;
    }
    linker.add_built_in(compiled, names)?;
    check(&linker.program)?;
    erased_imports::check(&linker.program, &resolver)?;
    Ok(linker.program)
}

fn read_entry(files: &dyn SourceFiles, source: &ProgramSource) -> Result<String, LoadError> {
    let text = files.read(&source.file);
    let text = text.map_err(|error| unreadable(&source.file, &error))?;
    text.ok_or_else(|| LoadError {
        at: None,
        message: format!("there is no file {}", source.file),
    })
}

/// What is imported of a built-in module.
#[derive(Default)]
struct BuiltInImports {
    names: BTreeSet<String>,
    whole: bool,
}

struct Linker {
    program: Program,
    /// What is imported of each built-in module.
    built_in: BTreeMap<String, BuiltInImports>,
    /// Modules whose imports were not followed yet.
    unlinked: Vec<Arc<CompiledModule>>,
}

impl Linker {
    /// Follows the imports of one module.
    fn link(
        &mut self,
        module: &CompiledModule,
        resolver: &ImportResolver<'_>,
        compiled: &mut ProgramModules<'_>,
    ) -> Result<(), LoadError> {
        for (import, at) in &module.imports {
            let path = match resolver.find(&module.path, &import.specifier, at)? {
                ImportTarget::BuiltIn => {
                    let imports = self.built_in.entry(import.specifier.clone()).or_default();
                    imports.whole |= import.whole;
                    imports.names.extend(import.names.iter().cloned());
                    import.specifier.clone()
                }
                ImportTarget::File(path, text) => {
                    if !self.program.modules.contains_key(&path) {
                        let imported = compiled.module(&path, &text)?;
                        self.program
                            .modules
                            .insert(path.clone(), Arc::clone(&imported));
                        self.unlinked.push(imported);
                    }
                    path
                }
            };
            let resolved = self.program.resolved.entry(module.path.clone());
            resolved.or_default().insert(import.specifier.clone(), path);
        }
        Ok(())
    }

    /// Makes the built-in modules, each with the names that are imported of it.
    fn add_built_in(
        &mut self,
        compiled: &mut ProgramModules<'_>,
        names: &BuiltInNames<'_>,
    ) -> Result<(), LoadError> {
        for (specifier, imports) in std::mem::take(&mut self.built_in) {
            let exported = names.0.iter();
            let exported = exported.filter(|name| imports.whole || imports.names.contains(*name));
            let text: String = exported
                .map(|name| format!("export const {name} = globalThis.{name};\n"))
                .collect();
            let module = compiled.module(&specifier, &text)?;
            self.program.modules.insert(specifier, module);
        }
        Ok(())
    }
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
                    message: import.not_exported(&module.path, name, &target.path),
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
