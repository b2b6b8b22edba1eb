//! The gateway as it is shipped: the binary `toolcrib` with every default, its log in a file, gate and audit on, in
//! front of one server. `xtask bench gateway` builds it beside this program.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::serving::resident_kib;

/// Timeout until its server is ready.
const READY_MAX: Duration = Duration::from_secs(30);

pub(crate) struct Shipped {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    folder: PathBuf,
}

impl Shipped {
    /// Starts it in front of the server at this address, without a configuration file.
    pub(crate) fn start(backend: SocketAddr) -> Result<Self> {
        Self::with(&[], |_| vec![format!("http://{backend}/mcp")])
    }

    /// Starts it with the configuration that `config` returns, given the folder of the configuration file.
    pub(crate) fn configured(config: impl FnOnce(&std::path::Path) -> Result<String>) -> Result<Self> {
        let folder = folder()?;
        let text = config(&folder)?;
        let file = folder.join("toolcrib.toml");
        std::fs::write(&file, text)?;
        let file = file.display().to_string();
        Self::spawn(folder, &["--prefix".to_owned(), "never".to_owned(), "--config".to_owned(), file])
    }

    fn with(words: &[String], more: impl FnOnce(&std::path::Path) -> Vec<String>) -> Result<Self> {
        let folder = folder()?;
        let words = [words, more(&folder).as_slice()].concat();
        Self::spawn(folder, &words)
    }

    fn spawn(folder: PathBuf, words: &[String]) -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name("toolcrib");
        ensure!(
            program.is_file(),
            "{} is not built: cargo build --release -p toolcrib-cli",
            program.display()
        );
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.join("data")).args(words);
        let log = std::fs::File::create(folder.join("log"))?;
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn()?;
        let mut output = BufReader::new(child.stdout.take().context("no output")?);
        let mut shipped = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)), folder };
        let mut line = String::new();
        output.read_line(&mut line)?;
        let address = line.trim().split("://").nth(1).and_then(|rest| rest.split('/').next());
        shipped.address =
            address.and_then(|address| address.parse().ok()).with_context(|| shipped.said(&line))?;
        // Drains its later output, which would otherwise fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        Ok(shipped)
    }

    /// Waits until its server is ready. Precondition: it listens without TLS.
    pub(crate) fn ready(self) -> Result<Self> {
        let end = Instant::now() + READY_MAX;
        loop {
            let mut tcp = TcpStream::connect(self.address)?;
            write!(tcp, "GET /readyz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address)?;
            let text = std::io::read_to_string(&mut tcp)?;
            if text.starts_with("HTTP/1.1 200")
                && text.contains("\"ready\"")
                && !text.contains("\"starting\"")
            {
                return Ok(self);
            }
            if Instant::now() > end {
                bail!(self.said(&text));
            }
            #[allow(clippy::disallowed_methods, reason = "a benchmark that waits for a process")]
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn resident_kib(&self) -> Result<f64> {
        resident_kib(&self.child)
    }

    fn said(&self, line: &str) -> String {
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        format!("toolcrib says {line:?} and logs {log}")
    }
}

impl Drop for Shipped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Creates a folder on the disk that holds this program: on a memory file system a flush would cost nothing.
fn folder() -> Result<PathBuf> {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("bench-shipped-{}-{number}", std::process::id());
    let folder = std::env::current_exe()?.with_file_name(name);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
