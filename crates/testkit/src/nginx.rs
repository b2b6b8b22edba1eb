//! nginx as a reverse proxy in front of a server under test, with kept connections on both sides.
//!
//! Loopback only, one process, its files in a temporary folder. If nginx is not installed, [`Nginx::start`] prints
//! that and returns `None`.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use crate::port;

/// Timeout for nginx to listen.
const START: Duration = Duration::from_secs(10);

/// Running nginx; killed when dropped.
#[derive(Debug)]
pub struct Nginx {
    child: Child,
    pub address: SocketAddr,
    folder: PathBuf,
}

impl Nginx {
    /// Starts an nginx that forwards everything to `backend`; `None` if nginx is not installed.
    pub fn start(backend: SocketAddr) -> Option<io::Result<Self>> {
        Self::start_with(backend, "")
    }

    /// Like `start`, with these directives for every request.
    pub fn start_with(backend: SocketAddr, directives: &str) -> Option<io::Result<Self>> {
        let version = Command::new("nginx").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if version.is_err() {
            #[allow(clippy::print_stderr, reason = "a skipped test must be heard of")]
            {
                eprintln!("SKIPPED: nginx is not installed: `cargo run -p xtask -- provision` as root");
            }
            return None;
        }
        Some(Self::start_before(backend, directives))
    }

    fn start_before(backend: SocketAddr, directives: &str) -> io::Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], port::free()?));
        let folder = std::env::temp_dir().join(format!("toolcrib-nginx-{}", address.port()));
        fs::create_dir_all(&folder)?;
        let shown = folder.display();
        let config = format!(
            "daemon off; master_process off; worker_processes 1; pid {shown}/pid; error_log {shown}/error.log;\n\
             events {{ worker_connections 256; }}\n\
             http {{ access_log off; keepalive_requests 1000000; client_body_temp_path {shown}/body;\n\
             proxy_temp_path {shown}/proxy; fastcgi_temp_path {shown}/f; uwsgi_temp_path {shown}/u; scgi_temp_path {shown}/s;\n\
             client_header_timeout 5s; client_body_timeout 2s; proxy_read_timeout 5s; lingering_close off;\n\
             upstream backend {{ server {backend}; keepalive 4; keepalive_requests 1000000; }}\n\
             server {{ listen {address}; ignore_invalid_headers off; underscores_in_headers on;\n\
             location / {{ proxy_pass http://backend; proxy_http_version 1.1; proxy_request_buffering off;\n\
             proxy_set_header Connection \"\"; proxy_set_header Host $http_host; {directives} }} }} }}\n"
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, config)?;
        let log = folder.join("error.log");
        let mut command = Command::new("nginx");
        command.arg("-e").arg(&log).arg("-c").arg(&file).stderr(Stdio::null()).stdout(Stdio::null());
        let nginx = Self { child: command.spawn()?, address, folder };
        let end = Instant::now() + START;
        while TcpStream::connect(address).is_err() {
            if Instant::now() > end {
                return Err(io::Error::other(fs::read_to_string(log)?));
            }
            #[allow(clippy::disallowed_methods, reason = "a test that waits for a process")]
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(nginx)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
