//! A provider that speaks as OpenAI's API does, a token every 20 ms, each with the time at which it was sent; and a proxy
//! that passes bytes on and does nothing else.

use crate::Result;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{MissedTickBehavior, interval_at};

/// Between two tokens: 50 a second.
pub const PAUSE: Duration = Duration::from_millis(20);
/// From a request to its first token.
const THINKING: Duration = Duration::from_millis(100);
/// What stands before the time in a token.
const MARK: &str = "@";
/// Digits of that time.
const DIGITS: usize = 15;

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const STOP: &str = r#"{"index":0,"delta":{},"finish_reason":"stop"}"#;

/// Listens as long as it is held.
pub struct LocalServer {
    pub address: SocketAddr,
    accepting: AbortHandle,
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Says when tokens were sent, and when they came.
#[derive(Clone, Copy)]
pub struct TokenClock(Instant);

impl TokenClock {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    fn token(self) -> String {
        format!("{MARK}{:0DIGITS$} ", self.0.elapsed().as_nanos())
    }

    /// Milliseconds since each of the whole tokens in a text was sent, and where the rest of the text begins.
    pub fn ages(self, text: &str) -> (Vec<f64>, usize) {
        let now = self.0.elapsed().as_nanos() as f64;
        let (mut ages, mut end) = (Vec::new(), 0);
        while let Some(found) = text[end..].find(MARK) {
            let digits = end + found + MARK.len();
            let Some(digits) = text.get(digits..digits + DIGITS) else {
                return (ages, end + found);
            };
            end += found + MARK.len();
            if let Ok(sent) = digits.parse::<f64>() {
                ages.push((now - sent) / 1e6);
                end += DIGITS;
            }
        }
        (ages, text.len())
    }
}

/// A provider whose answers have so many tokens.
pub async fn provider(clock: TokenClock, tokens: usize) -> Result<LocalServer> {
    listen(move |stream| tokio::spawn(answers(stream, clock, tokens))).await
}

/// A proxy before this address.
pub async fn pass_through(to: SocketAddr) -> Result<LocalServer> {
    listen(move |stream| tokio::spawn(passed(stream, to))).await
}

async fn listen(
    serve: impl Fn(TcpStream) -> JoinHandle<Result<()>> + Send + 'static,
) -> Result<LocalServer> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let accepting = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if stream.set_nodelay(true).is_ok() {
                // A connection ends with its client.
                drop(serve(stream));
            }
        }
    });
    Ok(LocalServer {
        address,
        accepting: accepting.abort_handle(),
    })
}

async fn passed(mut stream: TcpStream, to: SocketAddr) -> Result<()> {
    let mut server = TcpStream::connect(to).await?;
    server.set_nodelay(true)?;
    copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}

/// Answers one request after the other.
async fn answers(stream: TcpStream, clock: TokenClock, tokens: usize) -> Result<()> {
    let mut stream = BufReader::new(stream);
    while skip_request(&mut stream).await? {
        let answer = stream.get_mut();
        answer.write_all(HEAD.as_bytes()).await?;
        let mut ticks = interval_at(tokio::time::Instant::now() + THINKING, PAUSE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for _ in 0..tokens {
            ticks.tick().await;
            let token = clock.token();
            let choice = format!(r#"{{"index":0,"delta":{{"content":"{token}"}}}}"#);
            answer.write_all(event(&choice).as_bytes()).await?;
        }
        let end = event(STOP) + &chunk("data: [DONE]\n\n") + "0\r\n\r\n";
        answer.write_all(end.as_bytes()).await?;
    }
    Ok(())
}

fn event(choice: &str) -> String {
    let start = r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"typist","#;
    chunk(&format!("data: {start}\"choices\":[{choice}]}}\n\n"))
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Reads a request to its end; false where no more come.
async fn skip_request(stream: &mut BufReader<TcpStream>) -> Result<bool> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(false);
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse()?;
            }
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::TokenClock;

    #[test]
    fn a_token_that_is_cut_is_read_with_the_rest() {
        let clock = TokenClock::start();
        let text = format!("data: {} and {}", clock.token(), clock.token());
        let (ages, end) = clock.ages(&text);
        assert_eq!((ages.len(), end), (2, text.len()));
        assert!(ages.iter().all(|age| *age >= 0.0));
        let cut = &text[..text.len() - 3];
        let (ages, end) = clock.ages(cut);
        assert_eq!(ages.len(), 1);
        assert!(cut[end..].starts_with('@'));
    }

    #[test]
    fn what_only_looks_like_a_token_is_passed_over() {
        let clock = TokenClock::start();
        let (ages, _) = clock.ages(&format!("nobody@example.com is no time {}", clock.token()));
        assert_eq!(ages.len(), 1);
    }
}
