//! A certificate for a private server, signed by an authority of its own.

use super::Folder;
use crate::process::{Result, cannot_start};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The names that the certificate is good for.
const NAMES: &str = "subjectAltName=IP:127.0.0.1,DNS:localhost\n";
const NEW_KEY: &[&str] = &[
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
];

/// What a server needs to speak TLS, and a client to believe it.
#[derive(Debug)]
pub struct Certificate {
    /// The certificate of who signed the server's.
    pub authority: PathBuf,
    /// The server's certificate.
    pub chain: PathBuf,
    /// The server's key.
    pub key: PathBuf,
}

impl Certificate {
    /// Makes one for 127.0.0.1 and localhost, with the program `openssl`.
    pub fn make(folder: &Folder) -> Result<Self> {
        let path = |name: &str| folder.path.join(name);
        let names = path("names.cnf");
        std::fs::write(&names, NAMES).map_err(|error| format!("{}: {error}", names.display()))?;
        let authority = ["-x509", "-days", "30", "-subj", "/CN=Authority of a test"];
        let files = ["-keyout", "ca.key", "-out", "ca.crt"];
        openssl(&folder.path, &[&["req"], NEW_KEY, &authority, &files])?;
        let files = ["-keyout", "server.key", "-out", "server.csr"];
        openssl(
            &folder.path,
            &[&["req"], NEW_KEY, &["-subj", "/CN=Test"], &files],
        )?;
        let signed = [
            "-req",
            "-in",
            "server.csr",
            "-days",
            "30",
            "-out",
            "server.crt",
        ];
        let by = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
        let names = ["-extfile", "names.cnf"];
        openssl(&folder.path, &[&["x509"], &signed, &by, &names])?;
        Ok(Self {
            authority: path("ca.crt"),
            chain: path("server.crt"),
            key: path("server.key"),
        })
    }

    /// The arguments of the server that uses it.
    pub fn settings(&self) -> Vec<String> {
        let chain = format!("ssl_cert_file={}", self.chain.display());
        let key = format!("ssl_key_file={}", self.key.display());
        let settings = ["ssl=on".to_owned(), chain, key];
        let arguments = settings.map(|setting| ["-c".to_owned(), setting]);
        arguments.concat()
    }
}

fn openssl(folder: &Path, arguments: &[&[&str]]) -> Result<()> {
    let mut command = Command::new("openssl");
    command.current_dir(folder).args(arguments.concat());
    let output = command
        .output()
        .map_err(|error| cannot_start(&command, &error))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let text = String::from_utf8_lossy(&output.stderr);
            Err(format!("openssl failed: {}", text.trim()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Certificate;
    use crate::servers::Folder;

    #[test]
    fn a_certificate_is_signed_by_the_authority() {
        let folder = Folder::create().unwrap();
        let certificate = Certificate::make(&folder).unwrap();
        let chain = certificate.chain.to_str().unwrap();
        let authority = certificate.authority.to_str().unwrap();
        super::openssl(&folder.path, &[&["verify", "-CAfile", authority, chain]]).unwrap();
    }
}
