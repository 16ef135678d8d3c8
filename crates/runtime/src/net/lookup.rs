//! From names to addresses. What is checked here is what is connected to: a name that changes its address in between gains
//! nothing.

use super::public_address::is_public;
use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Finds the addresses of a name.
#[async_trait]
pub trait AddressLookup: Send + Sync {
    /// All addresses, the best first.
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// As the system does it.
pub struct SystemLookup;

#[async_trait]
impl AddressLookup for SystemLookup {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// A lookup that leaves out addresses that are not public, unless they are wanted.
pub struct PublicLookup {
    pub lookup: Arc<dyn AddressLookup>,
    pub is_private: bool,
}

/// A name has no address that may be connected to.
#[derive(Debug, thiserror::Error)]
#[error("the host has no public address")]
pub struct NotPublicError;

impl Resolve for PublicLookup {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, is_private) = (Arc::clone(&self.lookup), self.is_private);
        Box::pin(async move {
            let mut found = lookup.addresses(name.as_str()).await?;
            let is_known = !found.is_empty();
            found.retain(|address| is_private || is_public(*address));
            if is_known && found.is_empty() {
                return Err(NotPublicError.into());
            }
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}
