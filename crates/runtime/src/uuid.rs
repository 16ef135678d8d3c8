//! UUIDs.

/// A random UUID of version 4.
pub fn random() -> String {
    uuid(rand::random())
}

fn uuid(bits: u128) -> String {
    let version = 0x4 << 76;
    let variant = 0x2 << 62;
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | version | variant;
    let hex = format!("{bits:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn a_uuid_says_its_version_and_variant() {
        assert_eq!(uuid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
