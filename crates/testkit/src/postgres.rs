//! A PostgreSQL server per test: a new cluster in a folder of its own, reached through a socket in that folder.
//!
//! PostgreSQL refuses to run as root, so a test that runs as root gives the cluster to `nobody`. Dropping a server
//! stops it and removes its folder. If PostgreSQL is not installed, [`PostgresServer::start`] prints that and returns
//! `None`.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, io};

use crate::process::{Process, ProcessError};

/// User id that runs the server instead of root.
const NOBODY: u32 = 65_534;
/// Folder in which Debian keeps the programs of each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Timeout for the server to start.
const START: Duration = Duration::from_secs(60);
/// Superuser of the cluster, without a password.
const USER: &str = "toolcrib";

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    process: Process,
    folder: PathBuf,
    stop: Command,
}

#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    #[error("{0}")]
    Process(#[from] ProcessError),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("initdb failed:\n{said}")]
    Initdb { said: String },
}

impl PostgresServer {
    /// Starts a server with these settings added to the usual ones; `None` if PostgreSQL is not installed.
    pub fn start(settings: &[(&str, &str)]) -> Option<Result<Self, PostgresError>> {
        Self::start_with(settings, None)
    }

    /// Starts a server with TLS; key and certificate are PEM.
    pub fn start_encrypted(
        settings: &[(&str, &str)],
        key: &str,
        certificate: &str,
    ) -> Option<Result<Self, PostgresError>> {
        Self::start_with(settings, Some((key, certificate)))
    }

    fn start_with(
        settings: &[(&str, &str)],
        identity: Option<(&str, &str)>,
    ) -> Option<Result<Self, PostgresError>> {
        match installed() {
            Some(programs) => Some(Self::start_from(&programs, settings, identity)),
            None => {
                #[allow(clippy::print_stderr, reason = "a skipped test must be heard of")]
                {
                    eprintln!(
                        "SKIPPED: PostgreSQL is not installed: `cargo run -p xtask -- provision` as root"
                    );
                }
                None
            }
        }
    }

    fn start_from(
        programs: &Path,
        settings: &[(&str, &str)],
        identity: Option<(&str, &str)>,
    ) -> Result<Self, PostgresError> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        // Kept short, because the path of a unix socket is limited.
        let folder = std::env::temp_dir().join(format!("toolcrib-pg-{}-{number}", std::process::id()));
        let failed = |source| PostgresError::File { path: folder.clone(), source };
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(failed)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).map_err(failed)?;
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            chown(&folder, Some(NOBODY), Some(NOBODY)).map_err(failed)?;
        }
        let command = |program: &str| {
            let mut command = Command::new(programs.join(program));
            command.current_dir(&folder).env_remove("PGDATA").env("LC_ALL", "C.UTF-8");
            if is_root {
                command.uid(NOBODY).gid(NOBODY);
            }
            command
        };
        let data = folder.join("data");
        let made = command("initdb")
            .args([
                "--no-sync",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--username",
                USER,
                "-D",
            ])
            .arg(&data)
            .stdin(Stdio::null())
            .output()
            .map_err(failed)?;
        if !made.status.success() {
            let said = [made.stdout, made.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            return Err(PostgresError::Initdb { said: said.concat() });
        }
        let mut server = command("postgres");
        server.arg("-D").arg(&data).arg("-k").arg(&folder).args(["-F", "-c", "listen_addresses="]);
        if let Some((key, certificate)) = identity {
            // Default paths of PostgreSQL; it refuses a key that others can read.
            for (name, text) in [("server.key", key), ("server.crt", certificate)] {
                let path = data.join(name);
                fs::write(&path, text).map_err(failed)?;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
                if is_root {
                    chown(&path, Some(NOBODY), Some(NOBODY)).map_err(failed)?;
                }
            }
            server.args(["-c", "ssl=on"]);
        }
        for (name, value) in settings {
            server.args(["-c", &format!("{name}={value}")]);
        }
        let mut process = Process::start(&mut server)?;
        let ready = |line: &str| line.contains("ready to accept connections").then_some(());
        process.wait_for_line("readiness", START, ready)?;
        let mut stop = command("pg_ctl");
        stop.args(["stop", "--mode=immediate", "--silent", "-D"]).arg(&data).stdin(Stdio::null());
        Ok(Self { process, folder: folder.clone(), stop })
    }

    /// Returns the URL of a database; a new cluster has the one called `postgres`.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres:///{database}?user={USER}&host={}", self.folder.display())
    }

    /// Returns the folder of the cluster and its socket.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // A regular stop first: a killed server leaves its shared memory behind.
        let _ = self.stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
        self.process.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the folder of `initdb` and `postgres`: from `PATH`, else Debian's newest version.
#[must_use]
pub fn installed() -> Option<PathBuf> {
    let has = |folder: &PathBuf| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(found) = std::env::split_paths(&path).find(has) {
        // Follows a link to the folder with the other programs.
        let real = fs::canonicalize(found.join("postgres")).ok()?;
        return Some(real.parent()?.to_path_buf());
    }
    let mut versions: Vec<PathBuf> = fs::read_dir(DEBIAN)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(has)
        .collect();
    versions.sort();
    versions.pop()
}
