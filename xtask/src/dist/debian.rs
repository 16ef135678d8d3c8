//! The Debian package: the program with its page for `man`, a service that is enabled by hand, and the folder for its data.

use super::files::{
    PROGRAM, TEXT, complete, copy, empty_folder, open_to_readers, remove_folder, works, write,
};
use super::{DOCUMENTS, Release, own_pages};
use crate::process::{Result, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the repository, their places in the package and their rights there.
const FILES: &[(&str, &str, u32)] = &[
    (
        "dist/ambit.service",
        "usr/lib/systemd/system/ambit.service",
        TEXT,
    ),
    ("dist/debian/postinst", "DEBIAN/postinst", PROGRAM),
    ("dist/debian/prerm", "DEBIAN/prerm", PROGRAM),
];

/// Makes the package; none where the platform has no Debian, or this machine cannot make packages.
pub fn make(release: &Release) -> Result<Option<PathBuf>> {
    let Some(architecture) = release.architecture() else {
        println!("no Debian package: none is made for {}", release.target);
        return Ok(None);
    };
    if !works(Command::new("dpkg-deb").arg("--version")) {
        println!("no Debian package: dpkg-deb is not installed");
        return Ok(None);
    }
    let tree = release.folder.join("debian");
    fill(release, &tree)?;
    let program = fs::read(&release.program)
        .map_err(|error| format!("cannot read {}: {error}", release.program.display()))?;
    let control = control(&version(&release.version), architecture, &program);
    write(&tree.join("DEBIAN/control"), &control)?;
    open_to_readers(&tree)?;
    let package = release
        .folder
        .join(format!("ambit_{}_{architecture}.deb", release.version));
    let mut build = Command::new("dpkg-deb");
    build.args(["--build", "--root-owner-group", "-Zxz"]);
    complete(build.arg(&tree).arg(&package))?;
    remove_folder(&tree)?;
    println!("made {}", package.display());
    Ok(Some(package))
}

/// Puts all files of the package but its description into a folder.
fn fill(release: &Release, tree: &Path) -> Result<()> {
    empty_folder(tree)?;
    empty_folder(&tree.join("var/lib/ambit"))?;
    copy(&release.program, &tree.join("usr/bin/ambit"), PROGRAM)?;
    for (from, to, rights) in FILES {
        copy(&root().join(from), &tree.join(to), *rights)?;
    }
    let texts = tree.join("usr/share/doc/ambit");
    for document in DOCUMENTS {
        copy(&root().join(document), &texts.join(document), TEXT)?;
    }
    own_pages::write(&release.program, &tree.join("usr"))
}

/// A version that Debian sorts as Cargo does: `1.0.0-rc.1` comes before `1.0.0`.
fn version(version: &str) -> String {
    version.replacen('-', "~", 1)
}

/// The description of the package.
fn control(version: &str, architecture: &str, program: &[u8]) -> String {
    format!(
        "\
Package: ambit
Version: {version}
Architecture: {architecture}
Maintainer: The Ambit project <https://github.com/ambit-rs/ambit>
Homepage: https://github.com/ambit-rs/ambit
Section: net
Priority: optional
Installed-Size: {size}
Depends: {depends}
Recommends: ca-certificates
Description: context layer of AI agents
 Serves AI agents over HTTP and keeps who is talking, what was said and
 what is remembered. The service is off until it is enabled.
",
        size = program.len() / 1024,
        depends = dependencies(program),
    )
}

/// What the program and the scripts of the package need: `useradd`, and the libraries that the program is linked with.
fn dependencies(program: &[u8]) -> String {
    let mut found = vec!["passwd".to_owned()];
    if let Some(minor) = glibc(program) {
        found.push(format!("libc6 (>= 2.{minor})"));
    }
    if contains(program, b"libgcc_s.so.1") {
        found.push("libgcc-s1".to_owned());
    }
    found.join(", ")
}

/// The newest glibc 2.x whose symbols a program names, as `GLIBC_2.34`.
fn glibc(program: &[u8]) -> Option<u32> {
    const NAME: &[u8] = b"GLIBC_2.";
    let named = program.windows(NAME.len() + 3).filter_map(|bytes| {
        let digits = bytes.strip_prefix(NAME)?;
        let end = digits.iter().position(|byte| !byte.is_ascii_digit());
        let digits = &digits[..end.unwrap_or(digits.len())];
        std::str::from_utf8(digits).ok()?.parse::<u32>().ok()
    });
    named.max()
}

fn contains(program: &[u8], name: &[u8]) -> bool {
    program.windows(name.len()).any(|bytes| bytes == name)
}

#[cfg(test)]
mod tests {
    use super::{control, glibc, version};

    #[test]
    fn a_version_before_a_release_sorts_before_it() {
        assert_eq!(version("0.2.0-rc.1"), "0.2.0~rc.1");
        assert_eq!(version("0.2.0"), "0.2.0");
    }

    #[test]
    fn the_newest_library_that_is_named_is_needed() {
        let program = b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE\0..";
        assert_eq!(glibc(program), Some(34));
        assert_eq!(glibc(b"no library is named here"), None);
    }

    #[test]
    fn the_description_names_what_the_program_is_linked_with() {
        let mut program = b"libgcc_s.so.1\0libc.so.6\0GLIBC_2.35\0...".to_vec();
        program.resize(4096, 0);
        let control = control("1.2.3", "arm64", &program);
        for line in [
            "Package: ambit",
            "Version: 1.2.3",
            "Architecture: arm64",
            "Installed-Size: 4",
            "Depends: passwd, libc6 (>= 2.35), libgcc-s1",
        ] {
            assert!(control.lines().any(|found| found == line), "{control}");
        }
        assert!(control.ends_with(".\n"), "{control}");
    }
}
