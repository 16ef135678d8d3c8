//! `ambit kb`: collections of documents, from the command line.

mod add;
mod eval;
mod reindex;
mod remove;
mod show;
mod vectors;

use super::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, escape_control};
use crate::settings::{AppStores, StoreOptions, present_app};
use ambit::environment::{environment, extract_program};
use ambit_knowledge::{Collection, KnowledgeBase, KnowledgeError};
use ambit_runtime::app::Severity;
use ambit_runtime::{Authorized, CallerReach, Runtime, RuntimeSettings};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long what still runs at the end may take to settle.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// How long documents of a collection may be under way before a command gives up.
const READING: Duration = Duration::from_secs(600);
/// From one look at them to the next.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Subcommand, Debug)]
pub enum KnowledgeCommand {
    /// Adds files, folders and pages to a collection, which is made if there is none; exits with 2 where some failed
    Add(add::AddArguments),
    /// Lists collections, or the documents of one
    Ls(show::CollectionListArguments),
    /// Removes documents from a collection
    Rm(remove::RemoveArguments),
    /// Looks for something in a collection
    Search(show::SearchArguments),
    /// Makes the index of a collection anew, with other settings where some are given
    Reindex(reindex::ReindexArguments),
    /// Measures how well questions find what answers them; exits with 1 where it is worse than the baseline
    Eval(eval::EvalArguments),
}

/// The app whose collections are meant.
#[derive(Args, Debug)]
pub struct AppArguments {
    /// The app's folder, else AMBIT_APP, else the one that the program is started in
    #[arg(long, value_name = "FOLDER")]
    app: Option<PathBuf>,
    /// Who is asking; acts without limits on data, whatever the app's access rules say
    #[arg(long, default_value = "dev")]
    pub(super) user: String,
    /// JSON, one object a line
    #[arg(long)]
    pub(super) json: bool,
}

/// Opens an app to look at it.
pub(super) async fn read_app(arguments: &AppArguments, stores: &StoreOptions) -> Result<Runtime> {
    let app = present_app(arguments.app.clone())?;
    let opened = stores.read_app(&app).await?;
    open_app(&app, opened).await
}

/// Opens an app to change something of it; it has a store already.
async fn change_app(arguments: &AppArguments, stores: &StoreOptions) -> Result<Runtime> {
    let app = present_app(arguments.app.clone())?;
    let opened = stores.change_app(&app).await?;
    open_app(&app, opened).await
}

/// Opens an app whose collections of files are as their files are now.
async fn open_app(app: &Path, opened: AppStores) -> Result<Runtime> {
    let runtime = Runtime::open(RuntimeSettings {
        models: opened.models,
        environment: environment(),
        extract_program: Some(extract_program()),
        ..RuntimeSettings::new(app, opened.stores)
    })
    .await?;
    tell_broken(&runtime);
    runtime.settle_collections().await?;
    Ok(runtime)
}

/// Tells of files of collections that say something else than they seem to.
fn tell_broken(runtime: &Runtime) {
    let app = runtime.app();
    let told = app
        .problems
        .iter()
        .filter(|problem| problem.file.starts_with("kb/") && problem.severity > Severity::Notice);
    for problem in told {
        eprintln!("ambit: {}", escape_control(&problem.to_string()));
    }
}

/// The collections of an app, opened for one command.
struct OpenCollections {
    runtime: Runtime,
    base: KnowledgeBase,
    reach: CallerReach,
    is_json: bool,
}

impl OpenCollections {
    async fn open(command: &KnowledgeCommand, stores: &StoreOptions) -> Result<Self> {
        let arguments = command.app();
        let runtime = match command.is_change() {
            true => change_app(arguments, stores).await?,
            false => read_app(arguments, stores).await?,
        };
        let who = Authorized {
            user_id: Some(arguments.user.clone()),
            ..Authorized::default()
        };
        Ok(Self {
            base: runtime.knowledge()?,
            reach: CallerReach::of(&who),
            runtime,
            is_json: arguments.json,
        })
    }

    /// The collection, once words find all that is in it. Vectors may follow later.
    async fn read_collection(&self, id: &str) -> Result<Collection> {
        let is_read = async {
            loop {
                if self.base.unread_documents(&self.reach, id).await? == 0 {
                    return Ok(self.base.collection(&self.reach, id).await?);
                }
                sleep(LOOK).await;
            }
        };
        let late = || {
            let reason = format!(
                "the documents of collection \"{id}\" are not all read yet; try again later"
            );
            CommandError::Refused(reason)
        };
        timeout(READING, is_read).await.map_err(|_| late())?
    }
}

/// Runs a command.
pub async fn run(
    command: &KnowledgeCommand,
    stores: &StoreOptions,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let open = OpenCollections::open(command, stores).await?;
    let ran = match command {
        KnowledgeCommand::Add(arguments) => add::run(&open, arguments, out).await,
        KnowledgeCommand::Ls(arguments) => show::list(&open, arguments, out).await,
        KnowledgeCommand::Rm(arguments) => remove::run(&open, arguments, out).await,
        KnowledgeCommand::Search(arguments) => show::search(&open, arguments, out).await,
        KnowledgeCommand::Reindex(arguments) => reindex::run(&open, arguments, out).await,
        KnowledgeCommand::Eval(arguments) => eval::run(&open, arguments, out).await,
    };
    let closed = open.runtime.close(GRACE).await;
    let outcome = ran?;
    closed?;
    Ok(outcome)
}

impl KnowledgeCommand {
    fn is_change(&self) -> bool {
        match self {
            Self::Add(_) | Self::Rm(_) | Self::Reindex(_) => true,
            Self::Ls(_) | Self::Search(_) | Self::Eval(_) => false,
        }
    }

    fn app(&self) -> &AppArguments {
        match self {
            Self::Add(arguments) => &arguments.app,
            Self::Ls(arguments) => &arguments.app,
            Self::Rm(arguments) => &arguments.app,
            Self::Search(arguments) => &arguments.app,
            Self::Reindex(arguments) => &arguments.app,
            Self::Eval(arguments) => &arguments.app,
        }
    }
}

impl From<KnowledgeError> for CommandError {
    fn from(error: KnowledgeError) -> Self {
        let advice = match &error {
            KnowledgeError::NotFound {
                what: "collection", ..
            } => "; `ambit kb ls` lists collections",
            KnowledgeError::NotFound {
                what: "document", ..
            } => "; `ambit kb ls COLLECTION` lists the documents of one",
            _ => "",
        };
        Self::Refused(format!("{error}{advice}"))
    }
}
