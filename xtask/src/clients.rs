//! The official packages that Ambit is tried with, clients of its server and tool servers, installed outside the repository when
//! they are first needed. What is pinned is beside the tests, or in the example that is tried.

use crate::process::{Result, cache, root, succeeds};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Something that is installed.
struct Package {
    /// Tells tests where it is.
    variable: &'static str,
    /// Its folder in the cache.
    folder: &'static str,
    /// What is pinned.
    pinned: &'static str,
    install: fn(&Path, &Path) -> Result<()>,
    /// What tests are told, below its folder.
    told: &'static str,
}

const PACKAGES: &[Package] = &[
    Package {
        variable: "TEST_CLIENTS_NODE",
        folder: "node",
        pinned: "crates/ambit/tests/clients/node/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_CLIENTS_AI_SDK",
        folder: "ai-sdk",
        pinned: "crates/ambit/tests/clients/ai-sdk/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_CLIENTS_WEB",
        folder: "web",
        pinned: "crates/ambit/tests/clients/web/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_CLIENTS_WEB_PAGE",
        folder: "web-page",
        pinned: "examples/web/page/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_CLIENTS_PYTHON",
        folder: "python",
        pinned: "crates/ambit/tests/clients/python/requirements.txt",
        install: pip,
        told: "bin/python",
    },
    Package {
        variable: "TEST_CLIENTS_AG_UI",
        folder: "ag-ui",
        pinned: "crates/ambit/tests/clients/ag_ui/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_CLIENTS_COPILOTKIT",
        folder: "copilotkit",
        pinned: "crates/ambit/tests/clients/copilotkit/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_CLIENTS_MCP_NODE",
        folder: "mcp-node",
        pinned: "crates/ambit/tests/clients/mcp/node/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_OPENAI_NODE",
        folder: "openai-node",
        pinned: "crates/ambit/tests/clients/openai/node/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_CLIENTS_MCP_PYTHON",
        folder: "mcp-python",
        pinned: "crates/ambit/tests/clients/mcp/python/requirements.txt",
        install: pip,
        told: "bin/python",
    },
    Package {
        variable: "TEST_CLIENTS_TELEMETRY",
        folder: "telemetry",
        pinned: "crates/ambit/tests/clients/telemetry/requirements.txt",
        install: pip,
        told: "bin/python",
    },
    Package {
        variable: "TEST_CLIENTS_PHOENIX",
        folder: "phoenix",
        pinned: "crates/ambit/tests/clients/phoenix/requirements.txt",
        install: pip,
        told: "bin/python",
    },
    Package {
        variable: "TEST_CLIENTS_STORE_NODE",
        folder: "store-node",
        pinned: "crates/ambit/tests/clients/store/node/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_ANTHROPIC_NODE",
        folder: "anthropic-node",
        pinned: "crates/ambit/tests/clients/anthropic/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_CLIENTS_STORE_PYTHON",
        folder: "store-python",
        pinned: "crates/ambit/tests/clients/store/python/requirements.txt",
        install: pip,
        told: "bin/python",
    },
    Package {
        variable: "TEST_ANTHROPIC_PYTHON",
        folder: "anthropic-python",
        pinned: "crates/ambit/tests/clients/anthropic/requirements.txt",
        install: pip,
        told: "bin/python",
    },
    Package {
        variable: "TEST_OPENAI_PYTHON",
        folder: "openai-python",
        pinned: "crates/ambit/tests/clients/openai/python/requirements.txt",
        install: pip,
        told: "bin/python",
    },
    Package {
        variable: "TEST_CLIENTS_GENERATED_PYTHON",
        folder: "generated-python",
        pinned: "crates/ambit/tests/clients/generated/python/requirements.txt",
        install: pip,
        told: "bin/python",
    },
    Package {
        variable: "TEST_CLIENTS_GENERATED_NODE",
        folder: "generated-node",
        pinned: "crates/ambit/tests/clients/generated/node/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_SERVERS_NODE",
        folder: "servers-node",
        pinned: "crates/runtime/tests/mcp/node/package.json",
        install: npm,
        told: "",
    },
    Package {
        variable: "TEST_SERVERS_PYTHON",
        folder: "servers-python",
        pinned: "crates/runtime/tests/mcp/python/requirements.txt",
        install: pip,
        told: "bin",
    },
    Package {
        variable: "TEST_CONFORMANCE",
        folder: "conformance",
        pinned: "crates/runtime/tests/conformance/package.json",
        install: npm,
        told: "",
    },
];

/// The packages, by the variables that name them.
#[derive(Debug)]
pub struct Clients(Vec<(&'static str, PathBuf)>);

impl Clients {
    /// Installs what is not there yet.
    pub fn install() -> Result<Self> {
        let cache = cache("clients")?;
        let lock = cache.join("lock");
        // Another run of the tests may be installing the same.
        let _lock = File::create(&lock)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| format!("cannot lock {}: {error}", lock.display()))?;
        let mut installed = Vec::new();
        for package in PACKAGES {
            let folder = cache.join(package.folder);
            ready(&folder, package)?;
            installed.push((package.variable, folder.join(package.told)));
        }
        Ok(Self(installed))
    }

    /// Names the packages to a program.
    pub fn tell<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.envs(self.0.iter().map(|(variable, path)| (variable, path)))
    }
}

/// Installs into a folder unless just that is installed there. The pinned versions are noted last, so that an installation
/// that broke off is repeated.
fn ready(folder: &Path, package: &Package) -> Result<()> {
    let pinned = root().join(package.pinned);
    let note = folder.join("installed");
    let failed = |error| format!("cannot install into {}: {error}", folder.display());
    let wanted = fs::read_to_string(&pinned).map_err(failed)?;
    if fs::read_to_string(&note).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)?;
    println!("installing {} into {}", pinned.display(), folder.display());
    (package.install)(folder, &pinned)?;
    fs::write(note, wanted).map_err(failed)
}

fn npm(folder: &Path, pinned: &Path) -> Result<()> {
    fs::copy(pinned, folder.join("package.json"))
        .map_err(|error| format!("cannot copy {}: {error}", pinned.display()))?;
    let mut install = Command::new("npm");
    install.args(["install", "--silent", "--no-audit", "--no-fund"]);
    run(install.current_dir(folder), "npm")
}

fn pip(folder: &Path, pinned: &Path) -> Result<()> {
    let mut environment = Command::new("python3");
    run(environment.args(["-m", "venv"]).arg(folder), "python3-venv")?;
    let mut install = Command::new(folder.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "--requirement"]);
    run(install.arg(pinned), "python3-pip")
}

fn run(command: &mut Command, package: &str) -> Result<()> {
    match succeeds(command)? {
        true => Ok(()),
        false => Err(format!(
            "{} failed; on Debian the package {package} is needed",
            command.get_program().display()
        )),
    }
}
