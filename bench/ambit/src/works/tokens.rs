//! W15: what a provider sends, on its way to the client: how much later it is there, with one stream and with many. The same
//! through a proxy that only passes bytes on.

use super::Bench;
use crate::client::Client;
use crate::measure::{Row, median, percentile, together};
use crate::provider::{self, PAUSE, TokenClock};
use crate::served::Served;
use crate::{Result, app};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Streams at once.
const STREAMS: [usize; 2] = [1, 64];

/// Streams that are read, each by a client of its own.
#[derive(Clone)]
struct Streams {
    address: SocketAddr,
    clock: TokenClock,
    /// What sets their chats apart.
    name: String,
}

pub async fn run(bench: &Bench) -> Result<()> {
    let Some(store) = bench.served_or_shared("w15") else {
        return Ok(());
    };
    let clock = TokenClock::start();
    let provider = provider::provider(clock, bench.sizes.tokens).await?;
    let proxy = provider::pass_through(provider.address).await?;
    let served = Served::with_provider(&store, provider.address).await?;
    let name = |part: &str| format!("{}-{part}", bench.run);
    let warm = Streams {
        address: served.address,
        clock,
        name: name("warm"),
    };
    warm.read(1).await?;
    for count in STREAMS {
        for (peer, address) in [("ambit", served.address), ("pass-through", proxy.address)] {
            let streams = Streams {
                address,
                clock,
                name: name(&count.to_string()),
            };
            let before = served.clock()?;
            let ages = streams.read(count).await?;
            if ages.len() != count * bench.sizes.tokens {
                return Err(format!("{} tokens came through {peer}", ages.len()).into());
            }
            let row = |work, unit| Row {
                work,
                p: count,
                unit,
                note: "streams of 50 tokens/s; provider, server and client on this machine",
            };
            let output = &bench.output;
            let tokens = ages.len() as f64;
            output.row_of(peer, row("W15 token, p50", "ms"), median(ages.clone()));
            output.row_of(peer, row("W15 token, p99", "ms"), percentile(ages, 99));
            if peer == "ambit" {
                let spent = served.spent(&before)? * 1e6 / tokens;
                output.row(row("W15 server's CPU", "µs/token"), spent);
            }
        }
    }
    served.stop().await
}

impl Streams {
    /// The ages of all tokens of so many streams when they came, in milliseconds.
    async fn read(self, count: usize) -> Result<Vec<f64>> {
        let ages = Arc::new(Mutex::new(Vec::new()));
        let streams = Arc::new(self);
        together(count, |number| {
            let (streams, ages) = (Arc::clone(&streams), Arc::clone(&ages));
            async move {
                // Their tokens come one after the other, not all at once.
                tokio::time::sleep(PAUSE * 37 * number as u32 / count as u32).await;
                let own = streams.read_one(number).await?;
                let mut ages = ages.lock().unwrap_or_else(PoisonError::into_inner);
                ages.extend(own);
                Ok(())
            }
        })
        .await?;
        let mut ages = ages.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *ages))
    }

    async fn read_one(&self, number: usize) -> Result<Vec<f64>> {
        let mut client = Client::open(self.address).await?;
        let head = client.post(&self.request(number)).await?;
        let (mut ages, mut body, mut seen) = (Vec::new(), Vec::new(), 0);
        while client.piece(&mut body).await? {
            let text = String::from_utf8_lossy(&body[seen..]);
            let (new, end) = self.clock.ages(&text);
            ages.extend(new);
            seen += end;
        }
        match head.status {
            200 => Ok(ages),
            status => Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into()),
        }
    }

    fn request(&self, number: usize) -> Value {
        let chat = format!("{}-{number}", self.name);
        app::request(app::TYPIST, &chat, "standard", "Go on.")
    }
}
