//! A client that keeps its connection: HTTP/1.1 as far as the works need it, so that it costs next to nothing beside the
//! server that is measured.

use crate::Result;
use serde_json::Value;
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// Where turns begin.
pub const TURNS: &str = "/v1/chat/completions";

/// One connection.
pub struct Client {
    line: BufReader<TcpStream>,
    address: SocketAddr,
}

/// What stands before a body.
#[derive(Debug)]
pub struct Head {
    pub status: u16,
    /// The turn.
    pub request: Option<String>,
    length: Length,
}

#[derive(Debug)]
enum Length {
    Chunked,
    Bytes(usize),
}

impl Client {
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let line = BufReader::new(stream);
        Ok(Self { line, address })
    }

    /// Sends a request for a turn; its answer has not been read.
    pub async fn post(&mut self, body: &Value) -> Result<Head> {
        let body = body.to_string();
        let request = format!(
            "POST {TURNS} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.line.get_mut().write_all(request.as_bytes()).await?;
        self.head().await
    }

    /// Asks for what is at this path; the answer has not been read.
    pub async fn get(&mut self, path: &str) -> Result<Head> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        self.line.get_mut().write_all(request.as_bytes()).await?;
        self.head().await
    }

    /// A turn, read to its end.
    pub async fn turn(&mut self, body: &Value) -> Result<String> {
        let head = self.post(body).await?;
        let text = self.body(&head).await?;
        if head.status == 200 {
            Ok(text)
        } else {
            Err(format!("a turn was answered with {}: {text}", head.status).into())
        }
    }

    async fn head(&mut self) -> Result<Head> {
        let first = self.text().await?;
        let status = first
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let mut head = Head {
            status: status.ok_or_else(|| format!("no answer but \"{first}\""))?,
            request: None,
            length: Length::Bytes(0),
        };
        loop {
            let line = self.text().await?;
            let Some((name, value)) = line.split_once(':') else {
                return Ok(head);
            };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = Length::Bytes(value.parse()?),
                "transfer-encoding" if value == "chunked" => head.length = Length::Chunked,
                "x-ambit-request" => head.request = Some(value.to_owned()),
                _ => {}
            }
        }
    }

    /// All of a body.
    pub async fn body(&mut self, head: &Head) -> Result<String> {
        let mut body = Vec::new();
        match head.length {
            Length::Bytes(length) => {
                body.resize(length, 0);
                self.line.read_exact(&mut body).await?;
            }
            Length::Chunked => while self.piece(&mut body).await? {},
        }
        Ok(String::from_utf8(body)?)
    }

    /// The next piece of a chunked body; false at its end.
    pub async fn piece(&mut self, body: &mut Vec<u8>) -> Result<bool> {
        let length = self.text().await?;
        let length = usize::from_str_radix(&length, 16)
            .map_err(|_| format!("\"{length}\" is no length of a chunk"))?;
        let start = body.len();
        body.resize(start + length, 0);
        self.line.read_exact(&mut body[start..]).await?;
        self.text().await?;
        Ok(length > 0)
    }

    async fn text(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.line.read_line(&mut line).await? == 0 {
            return Err("the server closed the connection".into());
        }
        Ok(line.trim_end().to_owned())
    }
}
