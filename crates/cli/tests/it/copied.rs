//! The files in `packaging` that people copy: their commands are run here as written.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::process::Process;

use crate::home::{Home, Ran};

const WORKFLOW: &str = include_str!("../../../../packaging/github/check.yml");
const HOOKS: &str = include_str!("../../../../packaging/pre-commit-config.yaml");
const UNIT: &str = include_str!("../../../../packaging/toolcrib.service");
const CONTAINER: &str = include_str!("../../../../packaging/Containerfile");
const FIND: &str = r#"{"tools":[{"name":"find","inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}]}"#;

/// Creates a repository as the files' headers require: a configuration, a lock, and a server that can be changed.
fn repository(name: &str) -> Home {
    let home = Home::new(name);
    home.write("notes.sh", include_str!("scripted.sh"));
    home.write("tools.json", FIND);
    home.write("toolcrib.toml", "[servers.notes]\ncommand = \"sh\"\nargs = [\"notes.sh\"]\n");
    assert_eq!(home.run(&["lock"]).code, 0);
    home
}

fn broken() -> String {
    FIND.replace(r#""required":["q"]"#, r#""required":["q","tag"]"#)
}

/// Runs a script as a CI runner does, with the binary on the path.
fn script(home: &Home, text: &str) -> Ran {
    let binary = Path::new(env!("CARGO_BIN_EXE_toolcrib")).parent().unwrap().to_owned();
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binary).chain(std::env::split_paths(&machine))).unwrap();
    let mut command = Command::new("bash");
    command
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", text])
        .current_dir(&home.folder)
        .env("HOME", &home.folder)
        .env("PATH", path)
        .env("CI", "true")
        .env("GITHUB_STEP_SUMMARY", home.path("summary.md"));
    command.output().unwrap().into()
}

/// Returns the steps of a workflow that run something, by name.
fn steps(workflow: &str) -> Vec<(String, String)> {
    let (mut found, mut name): (Vec<(String, String)>, String) = (Vec::new(), String::new());
    let mut block = false;
    for line in workflow.lines() {
        let inner = line.strip_prefix("          ").filter(|_| block);
        if let (Some(inner), Some((_, script))) = (inner, found.last_mut()) {
            script.push_str(inner);
            script.push('\n');
            continue;
        }
        block = false;
        if let Some(text) = line.strip_prefix("      - name: ") {
            text.clone_into(&mut name);
        } else if let Some(text) = line.strip_prefix("        run: ") {
            block = text == "|";
            found.push((name.clone(), if block { String::new() } else { text.to_owned() }));
        }
    }
    found
}

/// R7.6: every step of the workflow that runs something, except the installation, does what its name says.
#[test]
fn the_github_workflow_runs_as_written() {
    let steps = steps(WORKFLOW);
    let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Install toolcrib",
            "Is the configuration in order",
            "Compare what the servers offer with toolcrib.lock",
            "The findings for people",
            "The findings for code scanning"
        ]
    );
    assert!(steps[0].1.starts_with("cargo install --locked --path"), "not run here: it takes minutes");
    let home = repository("workflow");
    for (name, text) in &steps[1..3] {
        let ran = script(&home, text);
        assert_eq!(ran.code, 0, "{name}: {}{}", ran.out, ran.err);
    }
    home.write("tools.json", &broken());
    let compared = script(&home, &steps[2].1);
    assert_eq!(compared.code, 1, "{}{}", compared.out, compared.err);
    assert!(compared.out.lines().any(|line| line.starts_with("::error ")), "{}", compared.out);
    for (name, text) in &steps[3..] {
        let ran = script(&home, text);
        assert_eq!(ran.code, 0, "{name}: {}{}", ran.out, ran.err);
    }
    assert!(home.read("summary.md").contains("find"), "{}", home.read("summary.md"));
    let sarif: serde_json::Value = serde_json::from_str(&home.read("contracts.sarif")).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["level"], "error", "{sarif}");
    // A server that cannot be started fails the job, which is different from a finding.
    home.write("toolcrib.toml", "[servers.notes]\ncommand = \"no-such-program-9\"\n");
    assert_eq!(script(&home, &steps[2].1).code, 3);
    assert_ne!(script(&home, &steps[4].1).code, 0);
}

/// R7.6: the hooks accept a commit while contracts hold and refuse it when one breaks, run by pre-commit itself.
#[test]
fn the_pre_commit_hooks_run_as_written() {
    let runner = Deps::of_this_workspace().python_venv().join("bin/pre-commit");
    assert!(runner.exists(), "{} is missing: run `cargo run -p xtask -- provision`", runner.display());
    let home = repository("pre-commit");
    home.write(".pre-commit-config.yaml", HOOKS);
    let git = |words: &str| {
        let ran = script(&home, &format!("git {words}"));
        assert_eq!(ran.code, 0, "git {words}: {}{}", ran.out, ran.err);
    };
    git("init -q");
    git("add -A");
    let hooks = || script(&home, &format!("'{}' run --all-files --color never", runner.display()));
    let fine = hooks();
    assert_eq!(fine.code, 0, "{}{}", fine.out, fine.err);
    assert_eq!(fine.out.matches("Passed").count(), 2, "{}", fine.out);
    home.write("tools.json", &broken());
    git("add -A");
    let refused = hooks();
    assert_eq!(refused.code, 1, "{}{}", refused.out, refused.err);
    assert!(
        refused.out.contains("no tool breaks its contract")
            && refused.out.contains("toolcrib lock --approve"),
        "{}",
        refused.out
    );
}

/// R8.1: systemd accepts the unit, and its command serves with the variables that the unit sets and no other home.
#[test]
fn the_systemd_unit_is_in_order_and_starts() {
    let home = repository("systemd");
    let own = home.folder.display().to_string();
    let unit = UNIT
        .replace("/usr/local/bin/toolcrib", env!("CARGO_BIN_EXE_toolcrib"))
        .replace("/var/lib/toolcrib", &own)
        .replace("/etc/toolcrib", &own);
    match Command::new("systemd-analyze").arg("--version").output() {
        Ok(_) => {
            // The unit's state folder is relative to systemd's own.
            let path = home.write(
                "toolcrib.service",
                &UNIT.replace("/usr/local/bin/toolcrib", env!("CARGO_BIN_EXE_toolcrib")),
            );
            let ran =
                Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(path).output().unwrap();
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success() && !said.contains("toolcrib.service"), "{said}");
        }
        Err(_) => {
            eprintln!("SKIPPED: there is no systemd-analyze here; the unit is started, but not verified");
        }
    }
    let value = |name: &str| unit.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
    let start = value("ExecStart=");
    let words: Vec<&str> = start.split(' ').collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["--listen", "127.0.0.1:0"]).current_dir(value("WorkingDirectory="));
    command.env_clear().env("PATH", "/usr/bin:/bin");
    for variable in value("Environment=").split(' ') {
        let (name, value) = variable.split_once('=').unwrap();
        command.env(name, value);
    }
    let mut process = Process::start(&mut command).unwrap();
    let greeted = process
        .wait_for_line("greeting", Duration::from_secs(20), |line| line.contains("Ctrl-C").then_some(()));
    greeted.unwrap_or_else(|error| panic!("{error}: {}", process.said()));
    assert!(home.path("data/toolcrib.db").exists(), "what is kept is where the unit says");
    assert!(process.terminate(Duration::from_secs(10)).unwrap().success());
}

/// R8.1: the container file builds with a Rust that the workspace supports and starts what exists. (It is not built
/// here.)
#[test]
fn the_container_file_names_what_there_is() {
    let workspace = include_str!("../../../../Cargo.toml");
    let least = workspace
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \""))
        .unwrap()
        .trim_end_matches('"');
    let number = |text: &str| -> Vec<u32> { text.split('.').map(|part| part.parse().unwrap()).collect() };
    let image = CONTAINER.lines().find_map(|line| line.strip_prefix("FROM docker.io/library/rust:")).unwrap();
    assert!(number(image.split('-').next().unwrap()) >= number(least), "{image} is older than {least}");
    assert!(CONTAINER.contains("cargo build --release --locked -p toolcrib-cli"));
    let words = CONTAINER.lines().find_map(|line| line.strip_prefix("CMD ")).unwrap();
    let words: Vec<String> = serde_json::from_str(words).unwrap();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Standard input is empty, so the server ends at once.
    assert_eq!(Home::new("container").run(&words).code, 0);
}
