//! `ambit serve`: an app over its stores, for clients.

use crate::command::greeting::Greeting;
use crate::command::welcome_app::WelcomeApp;
use crate::command::{CommandOutcome, console_address};
use crate::command_error::{CommandError, Result};
use crate::output::one_line;
use crate::settings::StoreOptions;
use crate::settings::serve::{ConsoleChoice, LogFormat, ServeArguments, ServeSettings};
use ambit::auth::{AuthConfig, Authenticator};
use ambit::environment::extract_program;
use ambit::http::{self, ServerState};
use ambit::otlp_variables::otlp_settings;
use ambit_runtime::app::{App, FileProblem};
use ambit_runtime::{Runtime, RuntimeSettings};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long answers that have begun may take when all turns have been given up.
const SHUTDOWN_RESERVE: Duration = Duration::from_secs(5);

/// Serves until it is told to stop.
pub async fn run(stores: &StoreOptions, arguments: &ServeArguments) -> Result<CommandOutcome> {
    let serving = ServeSettings::of(arguments)?;
    log(&serving)?;
    let welcome = match &serving.app {
        Some(_) => None,
        None => Some(WelcomeApp::unpack()?),
    };
    let folder = serving.app.clone();
    let folder = folder
        .or_else(|| welcome.as_ref().map(WelcomeApp::path))
        .unwrap_or_default();
    let config = config(&folder, &serving)?;
    let is_development = serving.is_development || config.development.is_some();
    if is_development && !serving.listen.ip().is_loopback() {
        return Err(open_to_all(serving.listen, config.development.is_none()));
    }
    let stop = stop()?;
    let (listener, address) = listen(serving.listen).await?;
    // The welcome app is gone when the server ends; its data is not.
    let data = serving.app.clone().unwrap_or_default();
    let opened = Arc::new(stores.open_for(&data).await?);
    let store = opened.index()?.driver().clone();
    let settings = settings(&serving, &config, is_development);
    let telemetry = otlp_settings(&serving.environment);
    let telemetry = telemetry.map_err(|error| CommandError::Refused(error.message))?;
    let runtime = Runtime::open(RuntimeSettings {
        models: stores.models(&data)?,
        telemetry,
        environment: serving.environment,
        extract_program: Some(extract_program()),
        is_development,
        restore_runtimes: serving.restore_runtimes,
        ..RuntimeSettings::new(folder, opened)
    })
    .await?;
    let problems = runtime.problems();
    config.notices.iter().chain(&problems).for_each(log_problem);
    let auth = Authenticator::new(config, &store);
    let console = console_address::of(&runtime.app(), serving.console, address);
    let greeting = Greeting {
        app: &runtime.app(),
        auth: &auth,
        base: &settings.base,
        address,
        console: console.as_deref().unwrap_or_else(|why| why),
        keys_of: &keys_options(stores, &data),
    };
    greeting.print();
    if serving.console == ConsoleChoice::Open {
        console_address::open(console);
    }
    let server = ServerState {
        runtime,
        auth,
        store,
        settings,
    };
    serve(listener, server, stop, serving.grace).await?;
    Ok(CommandOutcome::Done)
}

/// Listens; the address is the one that was given, with the port that a 0 has become.
async fn listen(wanted: SocketAddr) -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(wanted).await;
    let bound = listener.and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|error| address_in_use(wanted, &error))
}

/// What is set about serving.
fn settings(
    serving: &ServeSettings,
    config: &AuthConfig,
    is_development: bool,
) -> http::HttpSettings {
    http::HttpSettings {
        base: config.base.clone(),
        is_development,
        has_public_metrics: serving.has_public_metrics,
        console: match serving.console {
            ConsoleChoice::None => http::ConsoleFiles::default(),
            ConsoleChoice::Served | ConsoleChoice::Open => http::ConsoleFiles::embedded(),
        },
        ..http::HttpSettings::default()
    }
}

/// Serves, and at the end lets running turns finish within their time.
async fn serve(
    listener: TcpListener,
    server: ServerState,
    stop: impl Future<Output = ()>,
    grace: Duration,
) -> Result<()> {
    let runtime = server.runtime.clone();
    let hangup = signal(SignalKind::hangup())?;
    let (told, hears) = oneshot::channel::<()>();
    let serving = http::serve(listener, Arc::new(server), async move {
        // An end that is dropped says the same as one that is told.
        let _ = hears.await;
    });
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => return Ok(served?),
        () = stop => {}
        () = reloads(&runtime, hangup) => {}
    }
    tracing::info!(
        seconds = grace.as_secs(),
        "stopping: no new requests, running turns may finish"
    );
    drop(told);
    let ending = async {
        // What is still being sent then is cut; it is stored and can be read again.
        timeout(grace + SHUTDOWN_RESERVE, &mut serving)
            .await
            .unwrap_or(Ok(()))
    };
    let (closed, served) = tokio::join!(runtime.close(grace), ending);
    closed?;
    Ok(served?)
}

/// Loads the app's files again each time that the process is asked to. Never ends.
async fn reloads(runtime: &Runtime, mut hangup: Signal) {
    loop {
        hangup.recv().await;
        runtime.reload_and_tell().await;
    }
}

/// Ends when the process is asked to stop.
fn stop() -> Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Who may call, as the app says.
fn config(folder: &Path, serving: &ServeSettings) -> Result<AuthConfig> {
    let app = load(folder, &serving.environment)?;
    AuthConfig::of(&app)
        .map_err(|problem| CommandError::Refused(format!("who may call is not clear: {problem}")))
}

/// The app of a folder.
pub fn load(folder: &Path, environment: &BTreeMap<String, String>) -> Result<App> {
    App::load(folder, environment).map_err(|problems| {
        let errors = problems.iter().filter(|problem| problem.is_error());
        let errors: Vec<String> = errors.map(|problem| format!("\n  {problem}")).collect();
        CommandError::Refused(format!(
            "the app in {} cannot be served:{}",
            folder.display(),
            errors.concat()
        ))
    })
}

/// Why a server in development mode does not listen beyond this machine: for the option alone, or as the app tells no callers apart.
fn open_to_all(address: SocketAddr, has_callers: bool) -> CommandError {
    CommandError::Refused(if has_callers {
        format!(
            "--dev is for this machine alone, so the server does not listen on {address}; leave it out, or listen on 127.0.0.1"
        )
    } else {
        format!(
            "in development mode everybody who reaches the server is its developer, so it does not listen on {address}; \
             listen on 127.0.0.1, or set up issuers, api_keys or proxy under auth in openapi/openapi.yao"
        )
    })
}

fn address_in_use(address: SocketAddr, error: &std::io::Error) -> CommandError {
    CommandError::Refused(format!(
        "cannot listen on {address}: {error}; choose another address with --listen"
    ))
}

fn log(serving: &ServeSettings) -> Result<()> {
    let filter = ambit::log::filter(&serving.log);
    let filter = filter
        .map_err(|error| CommandError::option("--log", format!("is not understood: {error}")))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let is_terminal = std::io::stderr().is_terminal();
    let set = match serving.log_format {
        LogFormat::Text => lines.with_ansi(is_terminal).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    set.map_err(|error| CommandError::Refused(format!("the log cannot be opened: {error}")))
}

/// Says what is wrong with the app.
fn log_problem(problem: &FileProblem) {
    match problem.is_error() {
        true => tracing::error!("{problem}"),
        false => tracing::warn!("{problem}"),
    }
}

/// The options with which `ambit keys` means the keys of this server.
fn keys_options(stores: &StoreOptions, folder: &Path) -> String {
    let is_here = folder.as_os_str().is_empty() || folder == Path::new(".");
    match stores.are_named() || is_here {
        // Whoever has named a store knows it.
        true => String::new(),
        false => format!(" --app {}", one_line(&folder.display().to_string())),
    }
}
