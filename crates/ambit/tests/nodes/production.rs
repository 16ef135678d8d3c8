//! What `docs/guides/production.md` shows is what happens: its files and commands, one after another in one shell, with databases
//! of a PostgreSQL server and a proxy over the nodes that its `nginx.conf` names.

use crate::page::{Shown, read};
use crate::site;
use crate::stand_ins::{Databases, listener, programs, start_proxy};
use crate::stores::POSTGRES;
use libtest_mimic::Trial;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Which form a database has is asked for the first time where the page has come to a new version.
const FORM: &str = "FROM ambit.layout";

/// What is printed behind what a command prints.
const END: &str = "[the command has ended]\n";

/// Doing what the page shows; none where no server is configured.
pub fn trial() -> Option<Trial> {
    (POSTGRES.place)()?;
    let name = "postgres::what_the_page_about_production_shows_happens";
    Some(Trial::test(name, || {
        follow();
        Ok(())
    }))
}

fn follow() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/production.md");
    let page = std::fs::read_to_string(file).unwrap();
    let databases = Databases::make();
    let folder = tempfile::tempdir().unwrap();
    // Commands print paths without links.
    let folder = folder.path().canonicalize().unwrap();
    let proxy = listener();
    let here = StandIns::new(&databases, &folder, &proxy);
    let mut shell = PageShell::new(&databases, &folder);
    let mut proxy = Some(proxy);
    let mut is_former = false;
    for step in read(&page).unwrap() {
        match step {
            Shown::File { name, text } => {
                let text = here.of(&text);
                if name == "nginx.conf" {
                    start_proxy(proxy.take().unwrap(), servers(&text));
                }
                site::write(&folder.join(name), &text);
            }
            Shown::Commands(block) => {
                if !is_former && block.contains(FORM) {
                    databases.give_former_layout();
                    is_former = true;
                }
                shell.check(&block, &here);
            }
        }
    }
    assert!(is_former && proxy.is_none(), "the page is not whole");
}

/// The addresses among which this configuration of nginx chooses.
fn servers(configuration: &str) -> Vec<String> {
    let lines = configuration.lines().map(str::trim);
    let servers = lines.filter_map(|line| line.strip_prefix("server ")?.strip_suffix(';'));
    let servers: Vec<String> = servers.map(str::to_owned).collect();
    assert_eq!(servers.len(), 2, "{configuration}");
    servers
}

/// What stands here for folders and addresses of the page.
struct StandIns {
    pairs: Vec<(&'static str, String)>,
    /// Where the databases are, with a password and as it is printed.
    address: String,
    shown_address: String,
}

impl StandIns {
    fn new(databases: &Databases, folder: &Path, proxy: &TcpListener) -> Self {
        let proxy = proxy.local_addr().unwrap();
        // All are held until the last is chosen.
        let nodes = [listener(), listener(), listener()];
        let [one, two, copy] = nodes.map(|node| node.local_addr().unwrap().to_string());
        let address = databases.address();
        let pairs = vec![
            ("/srv", folder.display().to_string()),
            ("postgres://ambit@db.example.com/shop", address.clone()),
            ("https://shop.example.com", format!("http://{proxy}")),
            ("127.0.0.1:8081", one),
            ("127.0.0.1:8082", two),
            ("127.0.0.1:8083", copy),
        ];
        Self {
            pairs,
            address,
            shown_address: databases.shown_address(),
        }
    }

    /// A text of the page, for here.
    fn of(&self, text: &str) -> String {
        let replace = |text: String, (there, here): &(&str, String)| text.replace(there, here);
        self.pairs.iter().fold(text.to_owned(), replace)
    }

    /// The same of what commands print.
    fn of_output(&self, text: &str) -> String {
        self.of(text).replace(&self.address, &self.shown_address)
    }
}

/// A shell; what it has started ends with it.
struct PageShell {
    process: Child,
    commands: ChildStdin,
    printed: BufReader<ChildStdout>,
}

impl PageShell {
    fn new(databases: &Databases, folder: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell.current_dir(folder).env("PATH", programs());
        for variable in ["AMBIT_APP", "AMBIT_STORE", "AMBIT_MODELS"] {
            shell.env_remove(variable);
        }
        if let Some(password) = databases.password() {
            shell.env("PGPASSWORD", password);
        }
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = shell.process_group(0).spawn().unwrap();
        let commands = process.stdin.take().unwrap();
        let printed = BufReader::new(process.stdout.take().unwrap());
        Self {
            process,
            commands,
            printed,
        }
    }

    /// Runs the commands of a block, which print what it shows.
    fn check(&mut self, block: &str, here: &StandIns) {
        let (mut expected, mut now) = (String::new(), String::new());
        for line in block.lines() {
            let Some(command) = line.strip_prefix("$ ") else {
                expected.push_str(&format!("{}\n", here.of_output(line)));
                continue;
            };
            let printed = self.run(&here.of(command));
            expected.push_str(&format!("{line}\n"));
            now.push_str(&format!("{line}\n{printed}"));
        }
        assert!(
            now == expected,
            "production.md shows\n{expected}\nand this happens:\n{now}"
        );
    }

    /// All that a command prints.
    fn run(&mut self, command: &str) -> String {
        let script = format!("{{ {command}\n}} < /dev/null 2>&1\nprintf '{END}'\n");
        self.commands.write_all(script.as_bytes()).unwrap();
        let mut printed = String::new();
        loop {
            let read = self.printed.read_line(&mut printed).unwrap();
            assert!(read > 0, "the shell has ended at {command}:\n{printed}");
            if let Some(whole) = printed.strip_suffix(END) {
                return whole.to_owned();
            }
        }
    }
}

impl Drop for PageShell {
    fn drop(&mut self) {
        let group = format!("-{}", self.process.id());
        drop(Command::new("kill").args(["-9", "--", &group]).status());
        drop(self.process.wait());
    }
}
