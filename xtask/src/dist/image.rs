//! The container image, of the program that is built already.

use super::Release;
use super::files::{PROGRAM, complete, copy, empty_folder, open_to_readers, works};
use crate::process::{Result, root};
use std::path::PathBuf;
use std::process::Command;

/// A program that makes images.
struct ImageBuilder {
    program: &'static str,
    options: &'static [&'static str],
}

/// Those that are tried. Podman's own format has no health checks.
const BUILDERS: [ImageBuilder; 2] = [
    ImageBuilder {
        program: "docker",
        options: &[],
    },
    ImageBuilder {
        program: "podman",
        options: &["--format=docker"],
    },
];

/// Makes the image where a builder is at work, else says how it is made.
pub fn make(release: &Release) -> Result<()> {
    let Some(architecture) = release.architecture() else {
        println!("no container image: none is made for {}", release.target);
        return Ok(());
    };
    let stage = first_stage(release);
    empty_folder(&stage.join("data"))?;
    copy(&release.program, &stage.join("ambit"), PROGRAM)?;
    open_to_readers(&stage)?;
    let at_work = |builder: &&ImageBuilder| works(Command::new(builder.program).arg("info"));
    let Some(builder) = BUILDERS.iter().find(at_work) else {
        println!(
            "no container image: neither docker nor podman is at work here; this makes it:\n  {:?}",
            command(release, architecture, &BUILDERS[0])
        );
        return Ok(());
    };
    complete(&mut command(release, architecture, builder))?;
    println!("made the image {}", tag(release));
    Ok(())
}

/// The folder that stands for the stage of the Dockerfile that compiles.
fn first_stage(release: &Release) -> PathBuf {
    release.folder.join("image")
}

fn tag(release: &Release) -> String {
    format!("ambit:{}", release.version)
}

fn command(release: &Release, architecture: &str, builder: &ImageBuilder) -> Command {
    let mut command = Command::new(builder.program);
    command.current_dir(root()).arg("build");
    command.args(builder.options);
    command.arg(format!("--platform=linux/{architecture}"));
    command.arg(format!("--tag={}", tag(release)));
    let stage = first_stage(release);
    command.arg(format!("--build-context=build={}", stage.display()));
    command.arg(".");
    command
}

#[cfg(test)]
mod tests {
    use super::{BUILDERS, Release, command};

    #[test]
    fn the_program_stands_in_for_the_stage_that_compiles() {
        let release = Release {
            version: "1.2.3".to_owned(),
            target: "aarch64-unknown-linux-gnu".to_owned(),
            program: "ambit".into(),
            folder: "/packages".into(),
        };
        let command = command(&release, "arm64", &BUILDERS[1]);
        assert_eq!(command.get_program(), "podman");
        let expected = [
            "build",
            "--format=docker",
            "--platform=linux/arm64",
            "--tag=ambit:1.2.3",
            "--build-context=build=/packages/image",
            ".",
        ];
        assert_eq!(command.get_args().collect::<Vec<_>>(), expected);
    }
}
