//! Hashes: `crypto.Hash(type, text)` and `crypto.HMAC(type, text, key)`, in lower-case hex.

use super::{ProcessCall, ProcessFamily, listed};
use crate::error::{Error, Result};
use ambit_storage::address::hex;
use ambit_storage::suggestion;
use futures::FutureExt;
use hmac::{Hmac, KeyInit, Mac};
use hmac_sha1_compact::{HMAC as HmacSha1, Hash as Sha1};
use md5::Md5;
use serde_json::Value;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

const HASH: &str = "crypto.Hash";
const HMAC: &str = "crypto.HMAC";

pub const CRYPTO: ProcessFamily = ProcessFamily {
    prefix: "crypto",
    names: |_| listed(&[HASH, HMAC]),
    has: |_, name| [HASH, HMAC].contains(&name),
    run: |call| std::future::ready(run(call)).boxed(),
};

/// One kind of hash.
struct HashAlgorithm {
    name: &'static str,
    hash: fn(&[u8]) -> Vec<u8>,
    /// Of a text, with a key.
    hmac: fn(&[u8], &[u8]) -> Option<Vec<u8>>,
}

const KINDS: &[HashAlgorithm] = &[
    HashAlgorithm {
        name: "MD5",
        hash: |text| Md5::digest(text).to_vec(),
        hmac: |text, key| mac::<Hmac<Md5>>(text, key),
    },
    HashAlgorithm {
        name: "SHA1",
        hash: |text| Sha1::hash(text).to_vec(),
        hmac: |text, key| Some(HmacSha1::mac(text, key).to_vec()),
    },
    HashAlgorithm {
        name: "SHA224",
        hash: |text| Sha224::digest(text).to_vec(),
        hmac: |text, key| mac::<Hmac<Sha224>>(text, key),
    },
    HashAlgorithm {
        name: "SHA256",
        hash: |text| Sha256::digest(text).to_vec(),
        hmac: |text, key| mac::<Hmac<Sha256>>(text, key),
    },
    HashAlgorithm {
        name: "SHA384",
        hash: |text| Sha384::digest(text).to_vec(),
        hmac: |text, key| mac::<Hmac<Sha384>>(text, key),
    },
    HashAlgorithm {
        name: "SHA512",
        hash: |text| Sha512::digest(text).to_vec(),
        hmac: |text, key| mac::<Hmac<Sha512>>(text, key),
    },
];

fn mac<M: Mac + KeyInit>(text: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let mut mac = <M as KeyInit>::new_from_slice(key).ok()?;
    mac.update(text);
    Some(mac.finalize().into_bytes().to_vec())
}

fn run(call: &ProcessCall<'_>) -> Result<Value> {
    let (process, given) = (call.name, call.arguments.as_slice());
    let text = |at: usize, what: &str| {
        let text = given.get(at).and_then(Value::as_str);
        text.ok_or_else(|| Error::invalid(what, format!("{process}: {what} must be a string")))
    };
    let kind = kind(process, text(0, "type")?)?;
    let content = text(1, "text")?.as_bytes();
    let bytes = match process {
        HASH => Some((kind.hash)(content)),
        _ => (kind.hmac)(content, text(2, "key")?.as_bytes()),
    };
    let bytes =
        bytes.ok_or_else(|| Error::invalid("key", format!("{process}: the key is too long")))?;
    Ok(hex(&bytes).into())
}

/// The kind of this name: `SHA256`, `sha256` and `sha-256` are the same.
fn kind(process: &str, name: &str) -> Result<&'static HashAlgorithm> {
    let plain = name.replace('-', "");
    let found = KINDS
        .iter()
        .find(|kind| kind.name.eq_ignore_ascii_case(&plain));
    found.ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let hint = suggestion::hint(name, names.iter().copied());
        let known = names.join(", ");
        let message = format!("{process}: unknown type \"{name}\"; known are {known}{hint}");
        Error::invalid("type", message)
    })
}

#[cfg(test)]
mod tests {
    use super::{KINDS, hex};

    /// Of `abc`, and RFC 2202 and 4231: `what do ya want for nothing?` with the key `Jefe`, cut to 16 digits.
    #[test]
    fn hashes_are_those_of_the_standards() {
        let expected = [
            ("MD5", "900150983cd24fb0", "750c783e6ab0b503"),
            ("SHA1", "a9993e364706816a", "effcdf6ae5eb2fa2"),
            ("SHA224", "23097d223405d822", "a30e01098bc6dbbf"),
            ("SHA256", "ba7816bf8f01cfea", "5bdcc146bf60754e"),
            ("SHA384", "cb00753f45a35e8b", "af45d2e376484031"),
            ("SHA512", "ddaf35a193617aba", "164b7a7bfcf819e2"),
        ];
        let found = KINDS.iter().map(|kind| {
            let hash = hex(&(kind.hash)(b"abc"))[..16].to_owned();
            let hmac = (kind.hmac)(b"what do ya want for nothing?", b"Jefe");
            (kind.name, hash, hex(&hmac.unwrap())[..16].to_owned())
        });
        let expected = expected.map(|(name, hash, hmac)| (name, hash.to_owned(), hmac.to_owned()));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
