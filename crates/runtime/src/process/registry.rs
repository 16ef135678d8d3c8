//! The processes of one version of an app: its scripts compiled, its stores, and which of them scripts may call.

use super::store::OpenStores;
use crate::app::App;
use crate::app::find::ProcessFunction;
use crate::error::{Error, ErrorCode, Result};
use crate::model::{ModelBackend, TableModels, system};
use ambit_script::{Engine, Program, SourceFiles};
use ambit_storage::pattern::Pattern;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The processes of one version of an app.
pub struct ProcessRegistry {
    pub app: Arc<App>,
    /// What runs its scripts.
    pub engine: Engine,
    /// Its stores that are open.
    pub stores: Arc<OpenStores>,
    pub models: Arc<TableModels>,
    programs: BTreeMap<String, Result<Arc<Program>>>,
    permitted: Vec<Pattern>,
}

/// The models of an app, over the database that all its versions share.
fn models(app: &App, stores: &OpenStores) -> TableModels {
    let roles = app.access.0.get(system::ROLES_FILE);
    let roles = roles.map(system::roles).unwrap_or_default();
    table_models(app, stores.models(roles))
}

/// The models of an app.
pub fn table_models(app: &App, with: ModelBackend) -> TableModels {
    let models = app.models.iter().map(|(id, model)| {
        let model = model.clone();
        (id.clone(), model.map_err(|it| it.for_user("model", id)))
    });
    TableModels::new(models.collect(), with)
}

/// A function of a script.
pub struct ScriptFunction {
    /// The script's name, in front of the function's.
    pub name: String,
    pub function: String,
    /// The script; or why it cannot be used.
    pub program: Result<Arc<Program>>,
}

impl ProcessRegistry {
    /// Compiles the scripts of an app. What is wrong with one is told to whoever calls it.
    pub fn load(
        app: &Arc<App>,
        engine: &Engine,
        files: &dyn SourceFiles,
        stores: Arc<OpenStores>,
    ) -> Self {
        let compile = |source| {
            let program = engine.load(files, source);
            program.map_err(|error| Error::new(ErrorCode::ConfigError, error.to_string()))
        };
        let programs = app.processes.iter();
        let programs = programs.map(|(name, source)| (name.clone(), compile(source)));
        let permitted = &app.settings.capabilities.process;
        Self {
            programs: programs.collect(),
            permitted: permitted.iter().map(|text| Pattern::parse(text)).collect(),
            app: Arc::clone(app),
            engine: engine.clone(),
            models: Arc::new(models(app, &stores)),
            stores,
        }
    }

    /// Whether scripts may call it.
    pub fn permits(&self, name: &str) -> bool {
        self.permitted.iter().any(|pattern| pattern.matches(name))
    }

    /// The function that a name means, if the script may have one of that name.
    pub fn script(&self, name: &str) -> Option<ScriptFunction> {
        let ProcessFunction { function, .. } = self.app.process(name)?;
        let (name, _) = name.rsplit_once('.')?;
        let program = self.programs.get(name)?.clone();
        let may_have = match &program {
            Ok(program) => program.has(&function),
            Err(_) => true,
        };
        may_have.then(|| ScriptFunction {
            name: name.to_owned(),
            function,
            program,
        })
    }

    /// Whether other modules can import this function of a script by its name.
    pub fn exports(&self, script: &str, function: &str) -> bool {
        let program = self.programs.get(script);
        let program = program.and_then(|program| program.as_ref().ok());
        program.is_some_and(|program| program.exports_value(function))
    }

    /// The names of all functions of scripts that begin like this.
    pub fn functions(&self, prefix: &str) -> Vec<String> {
        let scripts = self.programs.iter();
        let scripts = scripts.filter_map(|(name, program)| Some((name, program.as_ref().ok()?)));
        let scripts = scripts.filter(|(name, _)| name.starts_with(prefix));
        let names = scripts.flat_map(|(name, program)| {
            let public = program.names();
            let public = public.filter(|it| !it.starts_with('_') && *it != "default");
            public.map(move |function| format!("{name}.{function}"))
        });
        names.collect()
    }
}
