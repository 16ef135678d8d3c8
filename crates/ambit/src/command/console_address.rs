//! Where the web console of a server is, and opening it.

use crate::settings::serve::{ConsoleChoice, ServerAddress};
use ambit::http::{CONSOLE_PATH, ConsoleFiles};
use ambit_runtime::app::App;
use std::process::{Command, Stdio};

/// What opens an address in the browser of whoever is logged in on this machine.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// The console's address, or why there is none.
pub fn of(app: &App, choice: ConsoleChoice, server: ServerAddress) -> Result<String, &'static str> {
    if choice == ConsoleChoice::None {
        return Err("left out by --no-console");
    }
    if !ConsoleFiles::embedded().has_page() {
        return Err("none; this program was built without one");
    }
    match app.settings.console.enabled {
        true => Ok(format!("{}{CONSOLE_PATH}/", server.local_url())),
        false => Err("none; ambit.console.enabled of app.yao is false"),
    }
}

/// Opens it. A server without a browser beside it serves all the same.
pub fn open(console: Result<String, &'static str>) {
    let address = match console {
        Ok(address) => address,
        Err(why) => return tracing::warn!("the console is not opened: {why}"),
    };
    let opening = Command::new(OPENER)
        .arg(&address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match opening {
        // Its end is nobody's business, but a child that nobody waits for stays.
        Ok(mut opener) => drop(std::thread::spawn(move || opener.wait())),
        Err(error) => {
            tracing::warn!(
                "the console is not opened, as {OPENER} cannot be run: {error}; it is at {address}"
            );
        }
    }
}
