//! The modules of a run.

use super::run_context::RunContext;
use crate::task::RunTask;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Module};
use std::rc::Rc;
use std::sync::Arc;

/// Finds modules in the program that runs.
pub(super) struct ProgramLoader(pub Rc<RunContext>);

impl Resolver for ProgramLoader {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        // A module that could not be linked for want of memory is taken for linked when it is imported again.
        let is_ending = |task: Arc<RunTask>| task.budget.stopped().is_some();
        if self.0.task().is_some_and(is_ending) {
            return Err(rquickjs::Error::new_resolving(base, name));
        }
        let program = self.0.program();
        let found = program
            .as_ref()
            .and_then(|program| program.resolved(base, name));
        found.ok_or_else(|| rquickjs::Error::new_resolving(base, name))
    }
}

impl Loader for ProgramLoader {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        match self.0.program() {
            Some(program) => {
                let code = program.code(name)?;
                self.0.load_whole(|| code.load(ctx))
            }
            None => Err(rquickjs::Error::new_loading(name)),
        }
    }
}
