//! What systemd is told of a server that it runs (`Type=notify`).

use std::collections::BTreeMap;
use std::io::Result;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The socket of a service manager, if there is one that wants to hear.
#[derive(Clone, Debug)]
pub struct ServiceManager(Option<String>);

impl ServiceManager {
    /// That which these variables name.
    pub fn of(environment: &BTreeMap<String, String>) -> Self {
        Self(environment.get("NOTIFY_SOCKET").cloned())
    }

    /// Tells a state, such as `READY=1`.
    pub fn tell(&self, state: &str) {
        let Some(socket) = &self.0 else {
            return;
        };
        if let Err(error) = send(socket, state) {
            tracing::warn!("the service manager was not told {state}: {error}");
        }
    }
}

fn send(socket: &str, state: &str) -> Result<()> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        #[cfg(target_os = "linux")]
        Some(name) => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}
