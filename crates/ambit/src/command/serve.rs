//! `ambit serve`: an app over its stores, for clients.

use crate::command::greeting::Greeting;
use crate::command::service_manager::ServiceManager;
use crate::command::serving::{self, ServerShutdown};
use crate::command::welcome_app::WelcomeApp;
use crate::command::{CommandOutcome, console_address, open_files};
use crate::command_error::{CommandError, Result};
use crate::output::one_line;
use crate::settings::serve::{
    ConsoleChoice, LogFormat, ServeArguments, ServeSettings, ServerAddress, StopTimes,
};
use crate::settings::{OTHER_APP, StoreOptions, check_app, data_folder};
use ambit::auth::{AuthConfig, Authenticator};
use ambit::environment::extract_program;
use ambit::http::{self, ServerState, ServerTls};
use ambit::log::OneLineFields;
use ambit::otlp_variables::otlp_settings;
use ambit_runtime::app::{App, FileProblem};
use ambit_runtime::{Disclosure, OtlpSettings, Runtime, RuntimeSettings};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Serves until it is told to stop.
pub async fn run(stores: &StoreOptions, arguments: &ServeArguments) -> Result<CommandOutcome> {
    let serving = ServeSettings::of(arguments)?;
    log(&serving)?;
    let unpack = serving.app.is_none().then(WelcomeApp::unpack);
    let welcome = unpack.transpose()?;
    let welcome_folder = welcome.as_ref().map(WelcomeApp::path);
    let folder = serving.app.clone().or(welcome_folder).unwrap_or_default();
    let config = config(&folder, &serving)?;
    let is_development = serving.is_development || config.development.is_some();
    let wanted = serving.listen.socket;
    if is_development && !wanted.ip().is_loopback() {
        return Err(open_to_all(wanted, config.development.is_none()));
    }
    let settings = settings(&serving, &config, is_development)?;
    let telemetry = telemetry(&serving.environment)?;
    // The welcome app is gone when the server ends; its data is not.
    let data = data_folder(arguments.app());
    let models = stores.models(&data)?;
    let shutdown = shutdown(serving.stopping)?;
    let (listener, address) = listen(serving.listen).await?;
    // What is set wrong is known by now: no store is made for it.
    let opened = Arc::new(stores.open_for(&data).await?);
    let store = opened.index()?.driver().clone();
    let manager = ServiceManager::of(&serving.environment);
    let runtime = Runtime::open(RuntimeSettings {
        models,
        telemetry,
        environment: serving.environment,
        extract_program: Some(extract_program()),
        is_development,
        disclosure: disclosure(is_development),
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
        data: &one_line(&stores.places(&data)?),
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
    serving::serve(listener, server, shutdown, &manager).await?;
    Ok(CommandOutcome::Done)
}

/// Listens; the address is the one that was given, with the port that a 0 has become.
async fn listen(wanted: ServerAddress) -> Result<(TcpListener, ServerAddress)> {
    let listener = TcpListener::bind(wanted.socket).await;
    let bound = listener.and_then(|listener| {
        let socket = listener.local_addr()?;
        Ok((listener, ServerAddress { socket, ..wanted }))
    });
    bound.map_err(|error| address_in_use(wanted.socket, &error))
}

/// Where traces and figures are sent, if anywhere.
fn telemetry(environment: &BTreeMap<String, String>) -> Result<OtlpSettings> {
    otlp_settings(environment).map_err(|error| CommandError::Refused(error.message))
}

/// Clients see what goes on inside in development mode alone.
fn disclosure(is_development: bool) -> Disclosure {
    match is_development {
        true => Disclosure::Full,
        false => Disclosure::Withheld,
    }
}

/// What is set about serving.
fn settings(
    serving: &ServeSettings,
    config: &AuthConfig,
    is_development: bool,
) -> Result<http::HttpSettings> {
    let tls = serving.tls.clone().map(ServerTls::open).transpose();
    let tls =
        tls.map_err(|reason| CommandError::Refused(format!("HTTPS cannot be spoken: {reason}")))?;
    Ok(http::HttpSettings {
        base: config.base.clone(),
        is_development,
        has_public_metrics: serving.has_public_metrics,
        console: match serving.console {
            ConsoleChoice::None => http::ConsoleFiles::default(),
            ConsoleChoice::Served | ConsoleChoice::Open => http::ConsoleFiles::embedded(),
        },
        connection_limit: open_files::connection_limit(),
        tls: tls.map(Arc::new),
        ..http::HttpSettings::default()
    })
}

/// The server ends when the process is asked to stop.
fn shutdown(times: StopTimes) -> Result<ServerShutdown<impl Future<Output = ()>>> {
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let request = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    Ok(ServerShutdown {
        request,
        hangup: signal(SignalKind::hangup())?,
        times,
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
    check_app(folder, OTHER_APP)?;
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
    let filter = filter.map_err(|error| {
        let reason = format!(
            "or AMBIT_LOG is not understood: {error}; write it as `warn` or `info,ambit=debug`"
        );
        CommandError::option("--log", reason)
    })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let is_terminal = std::io::stderr().is_terminal();
    let lines = match serving.log_format {
        LogFormat::Text => lines
            .with_ansi(is_terminal)
            .fmt_fields(OneLineFields)
            .boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let log = tracing_subscriber::registry().with(lines.with_filter(filter));
    let set = log.try_init();
    set.map_err(|error| CommandError::Refused(format!("the log cannot be opened: {error}")))?;
    ambit::log::tell_panics();
    Ok(())
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
