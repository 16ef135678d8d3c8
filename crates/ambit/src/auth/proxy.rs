//! Identities that a trusted reverse proxy puts into headers. They count only on connections from its own addresses.

use super::{CLAIMS, RequestCaller, id, refused, tenant};
use ambit_runtime::{Authorized, Error, Result};
use axum::http::HeaderMap;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;

/// The client's address as proxies tell it: the last one is the nearest.
const FORWARDED: &str = "x-forwarded-for";

/// A trusted proxy.
pub struct TrustedProxy {
    /// Where it connects from.
    pub networks: Vec<IpNetwork>,
    /// Its headers, by the names of `authorized` and `roles`.
    pub headers: BTreeMap<String, String>,
}

impl TrustedProxy {
    /// Whether a connection is the proxy's.
    pub fn is_trusted(&self, peer: IpAddr) -> bool {
        self.networks.iter().any(|network| network.holds(peer))
    }

    /// Who the proxy says is calling, if it says so.
    pub(super) fn find(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Option<RequestCaller>> {
        if !self.is_trusted(peer) {
            return Ok(None);
        }
        let text = |name: &str| {
            let given = self.headers.get(name).map(|header| headers.get_all(header));
            let mut given = given.into_iter().flatten();
            let value = given.next();
            if given.next().is_some() {
                // One of them may be the client's own.
                return Err(refused("a header of the proxy stands twice"));
            }
            let text = value.map(|value| std::str::from_utf8(value.as_bytes()));
            let text = text
                .transpose()
                .map_err(|_| refused("the proxy's headers are not UTF-8"))?;
            Ok::<_, Error>(text.map(str::trim).filter(|text| !text.is_empty()))
        };
        let one = |name: &str| text(name)?.map(|text| id(name, text)).transpose();
        let Some(user) = one("user_id")? else {
            return Ok(None);
        };
        let mut authorized = Authorized {
            user_id: Some(user),
            team_id: one("team_id")?,
            tenant_id: text("tenant_id")?.map(tenant).transpose()?,
            ..Authorized::default()
        };
        for name in CLAIMS {
            let value = text(name)?.map(|text| (name.to_owned(), text.into()));
            authorized.claims.extend(value);
        }
        let roles = Authorized::role_names(text("roles")?.unwrap_or_default());
        Ok(Some(RequestCaller { authorized, roles }))
    }

    /// The address that the proxy says it forwards for.
    pub fn forwarded_address(&self, headers: &HeaderMap, peer: IpAddr) -> Option<IpAddr> {
        if !self.is_trusted(peer) {
            return None;
        }
        let lines = headers
            .get_all(FORWARDED)
            .into_iter()
            .filter_map(|line| line.to_str().ok());
        let all: Vec<&str> = lines.flat_map(|line| line.split(',')).collect();
        // What is before one that cannot be read may be the client's own.
        let mut nearest = all.iter().rev().map_while(|text| text.trim().parse().ok());
        nearest.find(|address| !self.is_trusted(*address))
    }
}

/// A range of addresses, `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNetwork {
    first: u128,
    bits: u32,
    is_six: bool,
}

impl IpNetwork {
    /// Whether an address is of this range.
    pub fn holds(&self, address: IpAddr) -> bool {
        let (number, is_six) = number(address);
        is_six == self.is_six && (number ^ self.first).checked_shr(self.rest()).unwrap_or(0) == 0
    }

    /// The bits that differ within the range.
    fn rest(&self) -> u32 {
        width(self.is_six) - self.bits
    }
}

impl FromStr for IpNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("\"{text}\" is no range of addresses such as 10.0.0.0/8");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().map_err(|_| refused())?)),
            None => (text, None),
        };
        let (first, is_six) = number(address.parse().map_err(|_| refused())?);
        let bits = bits.unwrap_or(width(is_six));
        let network = Self {
            first,
            bits,
            is_six,
        };
        (bits <= width(is_six))
            .then_some(network)
            .ok_or_else(refused)
    }
}

fn width(is_six: bool) -> u32 {
    if is_six { 128 } else { 32 }
}

/// An address as a number; an IPv4 address in IPv6's clothes is the IPv4 address.
fn number(address: IpAddr) -> (u128, bool) {
    match address.to_canonical() {
        IpAddr::V4(address) => (u32::from(address).into(), false),
        IpAddr::V6(address) => (address.into(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::IpNetwork;

    #[test]
    fn a_network_holds_its_addresses_and_no_others() {
        for (network, address, is_held) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
        ] {
            let network: IpNetwork = network.parse().unwrap();
            assert_eq!(
                network.holds(address.parse().unwrap()),
                is_held,
                "{network:?} {address}"
            );
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0/8",
            "::/129",
            "10.0.0.0/",
            "example.com",
        ] {
            let error = text.parse::<IpNetwork>().unwrap_err();
            assert_eq!(
                error,
                format!("\"{text}\" is no range of addresses such as 10.0.0.0/8")
            );
        }
    }
}
