//! How the server is set: options first, then the environment, then what suits one person on one machine.

use super::variable;
use crate::command_error::{CommandError, Result};
use ambit::environment::environment;
use ambit::http::TlsFiles;
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// Where the server listens if nobody says otherwise.
const LISTEN: &str = "127.0.0.1:8080";
/// The variables with the files of HTTPS.
const CERTIFICATE: &str = "AMBIT_TLS_CERT";
const KEY: &str = "AMBIT_TLS_KEY";
/// Seconds until the server has ended when it is told to stop.
const GRACE: u64 = 30;

/// `ambit serve`.
#[derive(Args, Debug, Default)]
pub struct ServeArguments {
    /// The app's folder, else AMBIT_APP, else this folder if it has an app.yao; else the welcome app is served
    app: Option<PathBuf>,
    /// The same folder, named as other commands take it
    #[arg(long = "app", value_name = "FOLDER", conflicts_with = "app")]
    app_option: Option<PathBuf>,
    /// The address to listen on, else AMBIT_LISTEN, else 127.0.0.1:8080
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The server's certificate (PEM), with which it speaks HTTPS, else AMBIT_TLS_CERT; read again when it changes, and at SIGHUP
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate (PEM), else AMBIT_TLS_KEY
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
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
    /// Seconds until the server has ended when it is told to stop, else AMBIT_GRACE, else 30; running turns go on until four before
    #[arg(long, value_name = "SECONDS")]
    grace: Option<u64>,
    /// Seconds of these in which it still takes requests while /readyz answers 503, else AMBIT_DRAIN, else 0
    #[arg(long, value_name = "SECONDS")]
    drain: Option<u64>,
    /// What is logged, `warn` or `info,ambit=debug`; else AMBIT_LOG, else `info`
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// How it is logged, else AMBIT_LOG_FORMAT, else text
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

impl ServeArguments {
    /// The app's folder, in whichever way it is named.
    pub fn app(&self) -> Option<PathBuf> {
        self.app.clone().or_else(|| self.app_option.clone())
    }
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

/// How a server ends when it is told to stop.
#[derive(Clone, Copy, Debug)]
pub struct StopTimes {
    /// How long it still takes requests.
    pub drain: Duration,
    /// When it has ended at the latest; `drain` is a part of it.
    pub grace: Duration,
}

/// Where a server listens, and whether it speaks HTTPS there.
#[derive(Clone, Copy, Debug)]
pub struct ServerAddress {
    /// The address.
    pub socket: SocketAddr,
    /// Whether connections are encrypted.
    pub is_tls: bool,
}

impl ServerAddress {
    /// The URL of where it listens.
    pub fn url(self) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}", self.socket)
    }

    /// The URL by which this machine reaches it: where it listens may be every address of the machine, which is none to call.
    pub fn local_url(mut self) -> String {
        match self.socket.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => self.socket.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => self.socket.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        self.url()
    }
}

/// What all of that comes to.
pub struct ServeSettings {
    /// The app's folder; none for the welcome app.
    pub app: Option<PathBuf>,
    /// Where to listen.
    pub listen: ServerAddress,
    /// The certificate and key of HTTPS.
    pub tls: Option<TlsFiles>,
    /// Changed files take effect at once.
    pub is_development: bool,
    /// Whether everybody may read the measures.
    pub has_public_metrics: bool,
    /// What becomes of the web console.
    pub console: ConsoleChoice,
    /// Whether scripts run in restored runtimes, or each in one made for it.
    pub restore_runtimes: bool,
    /// How it ends.
    pub stopping: StopTimes,
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
        let app = arguments.app();
        let app = app.or_else(|| std::env::var_os("AMBIT_APP").map(PathBuf::from));
        let listen = arguments.listen.clone().or(variable("AMBIT_LISTEN")?);
        let tls = tls_files(arguments)?;
        let is_public = parsed("AMBIT_PUBLIC_METRICS", "true or false")?;
        let restore = parsed("AMBIT_RESTORE_RUNTIMES", "true or false")?;
        Ok(Self {
            app: app.or_else(here),
            listen: ServerAddress {
                socket: address(listen.as_deref().unwrap_or(LISTEN))?,
                is_tls: tls.is_some(),
            },
            tls,
            is_development: arguments.dev,
            has_public_metrics: arguments.public_metrics || is_public.unwrap_or(false),
            console: match (arguments.no_console, arguments.open) {
                (true, _) => ConsoleChoice::None,
                (false, true) => ConsoleChoice::Open,
                (false, false) => ConsoleChoice::Served,
            },
            restore_runtimes: restore.unwrap_or(true),
            stopping: stop_times(arguments)?,
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

fn stop_times(arguments: &ServeArguments) -> Result<StopTimes> {
    let seconds = "a number of seconds";
    let grace = arguments.grace.or(parsed("AMBIT_GRACE", seconds)?);
    let drain = arguments.drain.or(parsed("AMBIT_DRAIN", seconds)?);
    let (grace, drain) = (grace.unwrap_or(GRACE), drain.unwrap_or(0));
    if drain > grace {
        let reason = format!(
            "is {drain} seconds, which are a part of the {grace} of --grace; give --grace more"
        );
        return Err(CommandError::option("--drain", reason));
    }
    Ok(StopTimes {
        drain: Duration::from_secs(drain),
        grace: Duration::from_secs(grace),
    })
}

/// Where this machine reaches the server that AMBIT_LISTEN describes.
pub fn own_url() -> Result<String> {
    let listen = variable("AMBIT_LISTEN")?;
    let own = ServerAddress {
        socket: address(listen.as_deref().unwrap_or(LISTEN))?,
        is_tls: variable(CERTIFICATE)?.is_some(),
    };
    Ok(own.local_url())
}

/// The files that options or the environment name, both or none.
fn tls_files(arguments: &ServeArguments) -> Result<Option<TlsFiles>> {
    let file = |named: &Option<PathBuf>, name: &str| match named {
        Some(path) => Ok(Some(path.clone())),
        None => variable(name).map(|path| path.map(PathBuf::from)),
    };
    let certificate = file(&arguments.tls_cert, CERTIFICATE)?;
    let key = file(&arguments.tls_key, KEY)?;
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(CommandError::option(
            "--tls-cert",
            "needs its key: give --tls-key too",
        )),
        (None, Some(_)) => Err(CommandError::option(
            "--tls-key",
            "needs its certificate: give --tls-cert too",
        )),
    }
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
