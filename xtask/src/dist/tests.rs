//! What is in the packages of a small program.

use super::files::works;
use super::options::DistOptions;
use super::{DOCUMENTS, Release, SIZE_LIMIT, archive, debian, host, own_pages, version};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// What the program writes for `man` and shells, below `usr`.
const OWN: [&str; 4] = [
    "share/bash-completion/completions/ambit",
    "share/fish/vendor_completions.d/ambit.fish",
    "share/man/man1/ambit.1.gz",
    "share/zsh/vendor-completions/_ambit",
];

/// A release for Linux on x86 of a small program, which prints its arguments.
fn release(folder: &TempDir) -> Release {
    Release {
        version: "1.2.3-rc.1".to_owned(),
        target: "x86_64-unknown-linux-gnu".to_owned(),
        program: "/bin/echo".into(),
        folder: folder.path().join("packages"),
    }
}

/// What a program prints, line by line.
fn lines(command: &mut Command) -> Vec<String> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The name of a package without its folder.
fn name(package: &Path) -> &str {
    package.file_name().unwrap().to_str().unwrap()
}

#[test]
fn the_archive_holds_the_program_and_its_texts() {
    let folder = tempfile::tempdir().unwrap();
    let archive = archive::make(&release(&folder)).unwrap();
    let root = "ambit-1.2.3-rc.1-x86_64-unknown-linux-gnu";
    assert_eq!(name(&archive), format!("{root}.tar.xz"));
    let mut listed = lines(Command::new("tar").arg("-tJf").arg(&archive));
    listed.retain(|name| !name.ends_with('/'));
    listed.sort();
    let names = ["ambit"].into_iter().chain(DOCUMENTS).chain(OWN);
    let mut expected: Vec<String> = names.map(|name| format!("{root}/{name}")).collect();
    expected.sort();
    assert_eq!(listed, expected);
}

#[test]
fn the_program_writes_its_page_and_what_shells_complete() {
    let folder = tempfile::tempdir().unwrap();
    let release = release(&folder);
    own_pages::write(&release.program, folder.path()).unwrap();
    for (path, arguments) in OWN.iter().zip([
        "completions bash",
        "completions fish",
        "man",
        "completions zsh",
    ]) {
        let mut read = Command::new("gzip");
        // What is not compressed is given as it is.
        read.args(["--decompress", "--force", "--stdout"]);
        assert_eq!(lines(read.arg(folder.path().join(path))), [arguments]);
    }
}

#[test]
fn a_program_for_other_machines_is_packed_without_what_it_would_write() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    fs::write(&program, "no program of this machine").unwrap();
    let made = folder.path().join("usr");
    own_pages::write(&program, &made).unwrap();
    assert!(!made.exists());
}

#[test]
fn the_debian_package_holds_the_program_its_service_and_a_folder_for_data() {
    let folder = tempfile::tempdir().unwrap();
    let package = debian::make(&release(&folder)).unwrap();
    let Some(package) = package else {
        assert!(!works(Command::new("dpkg-deb").arg("--version")));
        return;
    };
    assert_eq!(name(&package), "ambit_1.2.3-rc.1_amd64.deb");
    let field = lines(
        Command::new("dpkg-deb")
            .arg("--field")
            .arg(&package)
            .arg("Version"),
    );
    assert_eq!(field, ["1.2.3~rc.1"]);
    let listed = lines(Command::new("dpkg-deb").arg("--contents").arg(&package));
    let columns = listed.iter().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        format!("{} {} {}", words[0], words[1], words[words.len() - 1])
    });
    let mut files: Vec<String> = columns.filter(|line| !line.ends_with('/')).collect();
    files.sort();
    let text = |path: &str| format!("-rw-r--r-- root/root ./{path}");
    let mut expected = vec![
        "-rwxr-xr-x root/root ./usr/bin/ambit".to_owned(),
        text("usr/lib/systemd/system/ambit.service"),
    ];
    expected.extend(DOCUMENTS.map(|name| text(&format!("usr/share/doc/ambit/{name}"))));
    expected.extend(OWN.map(|path| text(&format!("usr/{path}"))));
    expected.sort();
    assert_eq!(files, expected);
    let data = "drwxr-xr-x root/root";
    let is_data = |line: &&String| line.starts_with(data) && line.ends_with(" ./var/lib/ambit/");
    assert_eq!(listed.iter().filter(is_data).count(), 1, "{listed:?}");
    let scripts = tempfile::tempdir().unwrap();
    lines(
        Command::new("dpkg-deb")
            .arg("--control")
            .arg(&package)
            .arg(scripts.path()),
    );
    let mut scripts: Vec<_> = fs::read_dir(scripts.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    scripts.sort();
    assert_eq!(scripts, ["control", "postinst", "prerm"]);
}

#[test]
fn the_checksums_are_those_of_the_packages_alone() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["ambit-b.tar.xz", "ambit-a.tar.xz", "notes"] {
        fs::write(folder.path().join(name), "abc").unwrap();
    }
    fs::create_dir(folder.path().join("image")).unwrap();
    archive::write_checksums(folder.path()).unwrap();
    let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let written = fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap();
    assert_eq!(
        written,
        format!("{sum}  ambit-a.tar.xz\n{sum}  ambit-b.tar.xz\n")
    );
}

#[test]
fn a_program_that_is_too_large_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut release = release(&folder);
    assert_eq!(release.check_size(), Ok(()));
    release.program = folder.path().join("program");
    let program = File::create(&release.program).unwrap();
    program.set_len(SIZE_LIMIT + 1).unwrap();
    let refused = release.check_size().unwrap_err();
    assert!(
        refused.ends_with("has 56000001 bytes and may have 56000000; is it stripped?"),
        "{refused}"
    );
}

#[test]
fn other_platforms_have_an_archive_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut release = release(&folder);
    release.target = "aarch64-apple-darwin".to_owned();
    assert_eq!(debian::make(&release), Ok(None));
}

#[test]
fn options_name_the_program_and_the_platform() {
    let of = |arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        DistOptions::of(&arguments)
    };
    let expected = DistOptions {
        binary: Some("a/ambit".into()),
        target: Some("aarch64-unknown-linux-gnu".to_owned()),
    };
    let given = [
        "--binary",
        "a/ambit",
        "--target",
        "aarch64-unknown-linux-gnu",
    ];
    assert_eq!(of(&given), Ok(Some(expected)));
    assert_eq!(of(&["--help"]), Ok(None));
    assert_eq!(of(&["--target"]), Err("--target needs a value".to_owned()));
    assert!(
        of(&["--fast"])
            .unwrap_err()
            .starts_with("--fast is unknown\n")
    );
}

#[test]
fn the_version_is_that_of_the_workspace() {
    let version = version().unwrap();
    assert!(
        version.starts_with(|first: char| first.is_ascii_digit()),
        "{version}"
    );
    assert!(host().unwrap().contains('-'));
}
