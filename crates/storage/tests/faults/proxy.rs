//! A way to a server that can be cut: the server lives on, and nobody reaches it.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Passes connections on to a server while it is up.
pub struct Proxy {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

struct State {
    is_up: bool,
    open: Vec<TcpStream>,
}

impl Proxy {
    /// A proxy that is up, for the server at this address.
    pub fn to(server: String) -> Self {
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = TcpListener::bind(here).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State {
            is_up: true,
            open: Vec::new(),
        }));
        let shared = state.clone();
        // Ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming() {
                pass(&client.unwrap(), &server, &shared);
            }
        });
        Self { port, state }
    }

    /// Cuts every connection; new ones are closed at once.
    pub fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_up = false;
        for stream in state.open.drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn mend(&self) {
        self.state.lock().unwrap().is_up = true;
    }
}

fn pass(client: &TcpStream, server: &str, state: &Mutex<State>) {
    let mut state = state.lock().unwrap();
    if !state.is_up {
        // Dropped with the caller's loop: the client sees its connection end.
        return;
    }
    let server = TcpStream::connect(server).unwrap();
    state.open.push(client.try_clone().unwrap());
    state.open.push(server.try_clone().unwrap());
    for (from, to) in [(client, &server), (&server, client)] {
        let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        thread::spawn(move || copy(from, to));
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 << 10];
    while let Ok(length) = from.read(&mut buffer) {
        if length == 0 || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
