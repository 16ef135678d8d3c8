//! How the server is set: options first, then the environment, then what suits one person on one machine.

use crate::command_error::{CommandError, Result};
use ambit::environment::environment;
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// Where the server listens if nobody says otherwise.
const LISTEN: &str = "127.0.0.1:8080";
/// How long running turns may go on when the server is told to stop.
const GRACE: u64 = 30;

/// `ambit serve`.
#[derive(Args, Debug, Default)]
pub struct ServeArguments {
    /// The app's folder, else AMBIT_APP, else this folder if it has an app.yao; else the welcome app is served
    pub app: Option<PathBuf>,
    /// The address to listen on, else AMBIT_LISTEN, else 127.0.0.1:8080
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Changed files of the app take effect at once, and errors show the scripts' stacks; only on this machine. Who may call stays as the app says
    #[arg(long)]
    dev: bool,
    /// Lets everybody read /metrics, not only admins; or AMBIT_PUBLIC_METRICS=true
    #[arg(long)]
    public_metrics: bool,
    /// Leaves out the web console
    #[arg(long, conflicts_with = "open")]
    no_console: bool,
    /// Opens the web console in a browser
    #[arg(long)]
    open: bool,
    /// Seconds for running turns when the server is told to stop, else AMBIT_GRACE, else 30
    #[arg(long, value_name = "SECONDS")]
    grace: Option<u64>,
    /// What is logged, `warn` or `info,ambit=debug`; else AMBIT_LOG, else `info`
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// How it is logged, else AMBIT_LOG_FORMAT, else text
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

/// How lines of the log look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What becomes of the web console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleChoice {
    /// It is left out.
    None,
    /// It is served.
    Served,
    /// It is served and opened in a browser.
    Open,
}

/// What all of that comes to.
pub struct ServeSettings {
    /// The app's folder; none for the welcome app.
    pub app: Option<PathBuf>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Changed files take effect at once.
    pub is_development: bool,
    /// Whether everybody may read the measures.
    pub has_public_metrics: bool,
    /// What becomes of the web console.
    pub console: ConsoleChoice,
    /// Whether scripts run in restored runtimes, or each in one made for it.
    pub restore_runtimes: bool,
    /// How long running turns may go on at the end.
    pub grace: Duration,
    /// What is logged.
    pub log: String,
    /// How.
    pub log_format: LogFormat,
    /// The variables that an app's `$ENV.NAME` stands for.
    pub environment: BTreeMap<String, String>,
}

impl ServeSettings {
    /// What the arguments say, and the environment where they say nothing.
    pub fn of(arguments: &ServeArguments) -> Result<Self> {
        let format = match variable("AMBIT_LOG_FORMAT")? {
            Some(text) => Some(log_format(&text)?),
            None => None,
        };
        let here = || Path::new("app.yao").is_file().then(|| PathBuf::from("."));
        let app = arguments.app.clone();
        let app = app.or_else(|| std::env::var_os("AMBIT_APP").map(PathBuf::from));
        let listen = arguments.listen.clone().or(variable("AMBIT_LISTEN")?);
        let grace = arguments
            .grace
            .or(parsed("AMBIT_GRACE", "a number of seconds")?);
        let is_public = parsed("AMBIT_PUBLIC_METRICS", "true or false")?;
        let restore = parsed("AMBIT_RESTORE_RUNTIMES", "true or false")?;
        Ok(Self {
            app: app.or_else(here),
            listen: address(listen.as_deref().unwrap_or(LISTEN))?,
            is_development: arguments.dev,
            has_public_metrics: arguments.public_metrics || is_public.unwrap_or(false),
            console: match (arguments.no_console, arguments.open) {
                (true, _) => ConsoleChoice::None,
                (false, true) => ConsoleChoice::Open,
                (false, false) => ConsoleChoice::Served,
            },
            restore_runtimes: restore.unwrap_or(true),
            grace: Duration::from_secs(grace.unwrap_or(GRACE)),
            log: arguments
                .log
                .clone()
                .or(variable("AMBIT_LOG")?)
                .unwrap_or_else(|| "info".to_owned()),
            log_format: arguments.log_format.or(format).unwrap_or(LogFormat::Text),
            environment: environment(),
        })
    }
}

/// Where this machine reaches the server that AMBIT_LISTEN describes.
pub fn own_url() -> Result<String> {
    let listen = variable("AMBIT_LISTEN")?;
    let listen = address(listen.as_deref().unwrap_or(LISTEN))?;
    Ok(format!("http://{}", reached_here(listen)))
}

/// The address at which this machine reaches a server that listens on another.
pub fn reached_here(mut listen: SocketAddr) -> SocketAddr {
    match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => listen.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => listen.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    listen
}

/// A variable that is set and not empty.
fn variable(name: &str) -> Result<Option<String>> {
    let Some(value) = std::env::var_os(name) else {
        return Ok(None);
    };
    let value = value.into_string();
    let value = value.map_err(|_| CommandError::option(name, "is not UTF-8"))?;
    Ok(Some(value).filter(|value| !value.is_empty()))
}

fn parsed<T: FromStr>(name: &str, what: &str) -> Result<Option<T>> {
    let Some(text) = variable(name)? else {
        return Ok(None);
    };
    let refused = |_| CommandError::option(name, format!("is \"{text}\" and must be {what}"));
    text.parse().map(Some).map_err(refused)
}

fn log_format(text: &str) -> Result<LogFormat> {
    let refused = |_| {
        CommandError::option(
            "AMBIT_LOG_FORMAT",
            format!("is \"{text}\" and must be text or json"),
        )
    };
    LogFormat::from_str(text, true).map_err(refused)
}

fn address(text: &str) -> Result<SocketAddr> {
    let text = text.replace("localhost:", "127.0.0.1:");
    text.parse().map_err(|_| {
        let reason =
            format!("\"{text}\" is no address to listen on; write it as {LISTEN} or [::]:8080");
        CommandError::option("--listen", reason)
    })
}
