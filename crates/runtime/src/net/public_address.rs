//! Which addresses are on the public internet. Everything else belongs to the machine, its network or its cloud.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// True if anybody on the internet could be meant by it. Addresses that carry another one inside (IPv4-mapped, NAT64, 6to4,
/// Teredo) never are: who translates them is not known here.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !within(&RESERVED_V4, u32::from(address)),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// First address and length of the prefix: the special-purpose registry of IANA, multicast, and where clouds answer about
/// their machines outside of these.
const RESERVED_V4: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

fn within(ranges: &[(Ipv4Addr, u32)], address: u32) -> bool {
    let same = |(first, length): &(Ipv4Addr, u32)| {
        let shift = 32 - length;
        address >> shift == u32::from(*first) >> shift
    };
    ranges.iter().any(same)
}

/// Only 2000::/3 is given out, and of that not the parts for protocols, documentation and translation.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_given_out = first & 0xe000 == 0x2000;
    let is_for_protocols = first == 0x2001 && second < 0x0200;
    let is_documentation =
        (first == 0x2001 && second == 0x0db8) || (first == 0x3fff && second < 0x1000);
    let is_translated = first == 0x2002;
    is_given_out && !is_for_protocols && !is_documentation && !is_translated
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2001:4860:4860::8888",
        ];
        let others = [
            "0.0.0.0",
            "0.1.2.3",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.0.1",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.5",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:1.1.1.1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::101:101",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        let seen = |all: &[&'static str]| -> Vec<&'static str> {
            let is_seen = |text: &&&str| text.parse().is_ok_and(is_public);
            all.iter().filter(is_seen).copied().collect()
        };
        assert_eq!(seen(&public), public);
        assert_eq!(seen(&others), Vec::<&str>::new());
    }
}
