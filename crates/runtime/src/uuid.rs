//! UUIDs.

/// A random UUID of version 4.
pub fn random() -> String {
    of(random_form(rand::random()))
}

/// The UUID of these bits.
pub fn of(bits: u128) -> String {
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

/// The same bits but for those that say version and variant.
fn random_form(bits: u128) -> u128 {
    let version = 0x4 << 76;
    let variant = 0x2 << 62;
    bits & !(0xf << 76) & !(0x3 << 62) | version | variant
}

#[cfg(test)]
mod tests {
    use super::{of, random_form};

    #[test]
    fn a_uuid_says_its_version_and_variant() {
        assert_eq!(of(random_form(0)), "00000000-0000-4000-8000-000000000000");
        assert_eq!(
            of(random_form(u128::MAX)),
            "ffffffff-ffff-4fff-bfff-ffffffffffff"
        );
    }
}
