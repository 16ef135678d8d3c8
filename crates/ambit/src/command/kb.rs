//! `ambit kb`: collections of documents, from the command line.

mod add;
mod eval;
mod reindex;
mod show;

use super::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::Output;
use crate::settings::StoreOptions;
use ambit::environment::{environment, extract_program};
use ambit_knowledge::{Job, JobStatus, KnowledgeBase};
use ambit_runtime::CallerReach;
use ambit_runtime::{Authorized, Runtime, RuntimeSettings};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// How long what still runs at the end may take to settle.
pub(super) const GRACE: Duration = Duration::from_secs(5);

#[derive(Subcommand, Debug)]
pub enum KnowledgeCommand {
    /// Adds files, folders and pages to a collection, which is made if there is none; exits with 2 where some failed
    Add(add::AddArguments),
    /// Lists collections, or the documents of one
    Ls(show::CollectionListArguments),
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
    /// The folder of the app
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    app: PathBuf,
    /// Who is asking; acts without limits on data, whatever the app's access rules say
    #[arg(long, default_value = "dev")]
    pub(super) user: String,
    /// JSON, one object a line
    #[arg(long)]
    pub(super) json: bool,
}

/// Opens an app whose collections of files are as their files are now.
pub(super) async fn open_app(arguments: &AppArguments, stores: &StoreOptions) -> Result<Runtime> {
    let runtime = Runtime::open(RuntimeSettings {
        models: stores.models(&arguments.app)?,
        environment: environment(),
        extract_program: Some(extract_program()),
        ..RuntimeSettings::new(&arguments.app, stores.open_for(&arguments.app).await?)
    })
    .await?;
    runtime.settle_collections().await?;
    Ok(runtime)
}

/// The collections of an app, opened for one command.
struct OpenCollections {
    runtime: Runtime,
    base: KnowledgeBase,
    reach: CallerReach,
    is_json: bool,
}

impl OpenCollections {
    async fn open(arguments: &AppArguments, stores: &StoreOptions) -> Result<Self> {
        let runtime = open_app(arguments, stores).await?;
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

    /// Does what is to be done before an answer counts.
    async fn settle(&self) -> Result<()> {
        self.base.work().await.map_err(CommandError::from)
    }

    async fn finished(&self, job_id: &str) -> Result<Job> {
        self.settle().await?;
        self.base
            .finished_job(&self.reach, job_id)
            .await
            .map_err(CommandError::from)
    }
}

/// Runs a command.
pub async fn run(
    command: &KnowledgeCommand,
    stores: &StoreOptions,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let open = OpenCollections::open(command.app(), stores).await?;
    let ran = match command {
        KnowledgeCommand::Add(arguments) => add::run(&open, arguments, out).await,
        KnowledgeCommand::Ls(arguments) => show::list(&open, arguments, out).await,
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
    fn app(&self) -> &AppArguments {
        match self {
            Self::Add(arguments) => &arguments.app,
            Self::Ls(arguments) => &arguments.app,
            Self::Search(arguments) => &arguments.app,
            Self::Reindex(arguments) => &arguments.app,
            Self::Eval(arguments) => &arguments.app,
        }
    }
}

impl From<ambit_knowledge::KnowledgeError> for CommandError {
    fn from(error: ambit_knowledge::KnowledgeError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Why a job did not do what it was to.
fn failure(job: &Job) -> Option<String> {
    let why = || {
        job.error
            .clone()
            .unwrap_or_else(|| "it was called off".to_owned())
    };
    (job.status != JobStatus::Done).then(why)
}
