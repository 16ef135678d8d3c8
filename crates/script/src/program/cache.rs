//! What was compiled and is still in use is not compiled again.

use super::compile::{CompiledModule, ModuleCompiler};
use super::link::{self, BuiltInNames};
use super::nesting::on_stack;
use super::{Program, ProgramSource, SourceFiles};
use crate::error::LoadError;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

/// The engine's compiler has a limit of its own, of eight megabytes.
const STACK: usize = 32 << 20;

type SourceDigest = [u8; 32];

/// Compiled files by what is in them. A file that no program uses any more is forgotten.
pub struct ModuleCache {
    modules: Mutex<HashMap<SourceDigest, Weak<CompiledModule>>>,
    /// Held by who compiles: compiling may take memory, of which two need twice as much.
    compiling: Mutex<()>,
    largest: usize,
    names: BTreeSet<String>,
}

impl ModuleCache {
    /// A cache for programs of at most `largest` bytes of source.
    pub fn new(largest: usize, names: BTreeSet<String>) -> Self {
        Self {
            modules: Mutex::default(),
            compiling: Mutex::default(),
            largest,
            names,
        }
    }

    pub fn load(
        &self,
        files: &dyn SourceFiles,
        source: &ProgramSource,
    ) -> Result<Arc<Program>, LoadError> {
        let load = || {
            let mut compiled = ProgramModules {
                cache: self,
                compiler: None,
                size: 0,
            };
            link::load(files, source, &mut compiled, &BuiltInNames(&self.names)).map(Arc::new)
        };
        let failed = || LoadError {
            at: None,
            message: format!("{}: the compiler failed", source.file),
        };
        on_stack(STACK, load).ok_or_else(failed)?
    }

    fn find(&self, key: &SourceDigest) -> Option<Arc<CompiledModule>> {
        self.modules.lock().get(key).and_then(Weak::upgrade)
    }
}

/// The files compiled for one program.
pub struct ProgramModules<'c> {
    cache: &'c ModuleCache,
    compiler: Option<ModuleCompiler>,
    size: usize,
}

impl ProgramModules<'_> {
    /// The compiled file, from the cache if it has not changed.
    pub fn module(&mut self, path: &str, text: &str) -> Result<Arc<CompiledModule>, LoadError> {
        self.size += text.len();
        if self.size > self.cache.largest {
            return Err(LoadError {
                at: None,
                message: format!(
                    "{path}: the scripts have more than {} bytes in all",
                    self.cache.largest
                ),
            });
        }
        let key = key(path, text);
        if let Some(module) = self.cache.find(&key) {
            return Ok(module);
        }
        let _alone = self.cache.compiling.lock();
        // Another may have compiled it meanwhile.
        if let Some(module) = self.cache.find(&key) {
            return Ok(module);
        }
        if self.compiler.is_none() {
            self.compiler = Some(ModuleCompiler::new()?);
        }
        let Some(compiler) = &self.compiler else {
            return Err(LoadError {
                at: None,
                message: "no compiler".to_owned(),
            });
        };
        let module = Arc::new(compiler.compile(path, text)?);
        let mut modules = self.cache.modules.lock();
        modules.retain(|_, module| module.strong_count() > 0);
        modules.insert(key, Arc::downgrade(&module));
        Ok(module)
    }
}

fn key(path: &str, text: &str) -> SourceDigest {
    let mut hash = Sha256::new();
    hash.update(path.len().to_le_bytes());
    hash.update(path);
    hash.update(text);
    hash.finalize().into()
}
