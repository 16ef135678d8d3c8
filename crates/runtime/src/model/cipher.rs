//! Secrets in columns: AES for what is read again, Argon2 for passwords, which nobody reads.

use crate::error::{Error, ErrorCode, Result};
use aes_siv::KeyInit;
use aes_siv::siv::Aes256Siv;
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha2::{Digest, Sha512};

/// The fewest characters of a key.
const SHORTEST: usize = 32;
/// What encrypted values begin with.
const FORM: &str = "aes1:";
/// Why a value is not opened that another key has sealed.
const OTHER_KEY: &str = "a row was written with another key than the one in AMBIT_MODEL_KEY, or is damaged; set AMBIT_MODEL_KEY \
    to the key that it was written with, and to change the key run `ambit models rekey`, with the new one in AMBIT_MODEL_KEY_NEW";
/// Why a value is not opened that no key has sealed.
const NOT_SEALED: &str =
    "a row was not written by Ambit, or is damaged: its value is not encrypted; write it anew";
/// What OWASP asks for at least: 19 MiB, two passes, one lane.
const MEMORY: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// What encrypts the columns with `crypt: AES`, if there is a key.
#[derive(Clone, Default)]
pub struct ColumnCipher(Option<Box<[u8; 64]>>);

impl ColumnCipher {
    /// With a secret of at least 32 characters.
    pub fn new(secret: &str) -> Result<Self> {
        Self::of_variable("AMBIT_MODEL_KEY", secret)
    }

    /// With a secret that this variable gives.
    pub fn of_variable(variable: &str, secret: &str) -> Result<Self> {
        if secret.chars().count() < SHORTEST {
            let message = format!(
                "{variable} is too short: it must have at least {SHORTEST} characters; `openssl rand -hex 32` makes some"
            );
            return Err(Error::new(ErrorCode::ConfigError, message));
        }
        let mut hash = Sha512::new();
        hash.update(b"ambit models 1\0");
        hash.update(secret.as_bytes());
        Ok(Self(Some(Box::new(hash.finalize().into()))))
    }

    /// Whether there is a key.
    pub fn has_key(&self) -> bool {
        self.0.is_some()
    }

    /// Encrypts a text. In one column the same text always becomes the same, so that it can be found by equality; in another
    /// column it is another, and cannot be read.
    pub fn seal(&self, associated: &str, text: &str) -> Result<String, String> {
        let mut siv = self.siv()?;
        let sealed = siv.encrypt([associated.as_bytes()], text.as_bytes());
        let sealed = sealed.map_err(|_| "cannot be encrypted: it is too long".to_owned())?;
        Ok(format!("{FORM}{}", STANDARD.encode(sealed)))
    }

    /// The text again; or why there is none, and what would make it work.
    pub fn open(&self, associated: &str, sealed: &str) -> Result<String, String> {
        let plain = || NOT_SEALED.to_owned();
        let bytes = sealed.strip_prefix(FORM).ok_or_else(plain)?;
        let bytes = STANDARD.decode(bytes).map_err(|_| plain())?;
        let text = self.siv()?.decrypt([associated.as_bytes()], &bytes);
        let text = text.map_err(|_| OTHER_KEY.to_owned())?;
        String::from_utf8(text).map_err(|_| plain())
    }

    fn siv(&self) -> Result<Aes256Siv, String> {
        let key = self
            .0
            .as_deref()
            .ok_or_else(|| "needs the models' key".to_owned())?;
        Ok(Aes256Siv::new(key.into()))
    }
}

/// Hashes a password, in the usual form that says how (`$argon2id$…`). Takes long on purpose: not for threads of the runtime.
pub fn hash(password: &str) -> Result<String> {
    let failed = |error: argon2::Error| Error::internal(format!("hashing a password: {error}"));
    let params = Params::new(MEMORY, PASSES, LANES, None).map_err(failed)?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let (salt, mut hash): ([u8; 16], _) = (rand::random(), [0; 32]);
    argon
        .hash_password_into(password.as_bytes(), &salt, &mut hash)
        .map_err(failed)?;
    let (salt, hash) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash));
    Ok(format!(
        "$argon2id$v=19$m={MEMORY},t={PASSES},p={LANES}${salt}${hash}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encrypted_is_read_with_its_key_and_in_its_column_only() {
        let cipher = ColumnCipher::new("a key that has thirty-two letters or more").unwrap();
        let other = ColumnCipher::new("another key that has thirty-two letters or more").unwrap();
        let sealed = cipher.seal("card.number", "4111").unwrap();
        assert_eq!(cipher.seal("card.number", "4111").as_ref(), Ok(&sealed));
        assert_eq!(cipher.open("card.number", &sealed), Ok("4111".to_owned()));
        assert!(!sealed.contains("4111"));
        assert!(cipher.open("card.code", &sealed).is_err());
        assert!(other.open("card.number", &sealed).is_err());
        assert!(
            ColumnCipher::default()
                .open("card.number", &sealed)
                .is_err()
        );
        let short = ColumnCipher::of_variable("AMBIT_MODEL_KEY_NEW", "short");
        let expected = "AMBIT_MODEL_KEY_NEW is too short: it must have at least 32 characters; `openssl rand -hex 32` makes some";
        assert_eq!(short.err().unwrap().message, expected);
    }

    #[test]
    fn a_password_has_another_hash_each_time() {
        let hashes = [hash("secret").unwrap(), hash("secret").unwrap()];
        assert_ne!(hashes[0], hashes[1]);
        assert!(hashes[0].starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
    }
}
