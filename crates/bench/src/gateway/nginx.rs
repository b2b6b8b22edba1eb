//! nginx from Debian's packages as a proxy without knowledge of MCP, with keep-alive on both sides. [`Setup`] lists its
//! configurations.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setup {
    /// The package's `/etc/nginx/nginx.conf` without the access log.
    Debian,
    /// The package's configuration with its access log.
    Logging,
    /// The package's configuration with TLS, and HTTP/2 by ALPN.
    Secure,
    /// Tuned for the race: one process, and buffers that hold any answer whole.
    Tuned,
}

impl Setup {
    fn processes(self) -> &'static str {
        match self {
            Self::Debian | Self::Logging | Self::Secure => "worker_processes auto;",
            Self::Tuned => "master_process off; worker_processes 1;",
        }
    }

    fn buffers(self) -> &'static str {
        match self {
            Self::Debian | Self::Logging => "sendfile on; tcp_nopush on; gzip on;",
            Self::Secure => {
                "sendfile on; tcp_nopush on; gzip on; ssl_protocols TLSv1.2 TLSv1.3; ssl_prefer_server_ciphers on;"
            }
            Self::Tuned => {
                "client_body_buffer_size 1m; proxy_buffers 16 64k; proxy_buffer_size 64k; proxy_busy_buffers_size 128k;"
            }
        }
    }
}

pub(crate) struct Nginx {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    folder: PathBuf,
}

impl Nginx {
    pub(crate) fn start(backend: SocketAddr, setup: Setup) -> Result<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let folder = std::env::temp_dir().join(format!("toolcrib-bench-nginx-{port}"));
        std::fs::create_dir_all(&folder)?;
        let shown = folder.display();
        let (processes, buffers) = (setup.processes(), setup.buffers());
        let log = match setup {
            Setup::Logging => format!("{shown}/access.log"),
            Setup::Debian | Setup::Secure | Setup::Tuned => "off".to_owned(),
        };
        let (tls, files) = match setup {
            Setup::Secure => {
                super::as_shipped::certificate(&folder)?;
                (
                    " ssl http2",
                    format!("ssl_certificate {shown}/cert.pem; ssl_certificate_key {shown}/key.pem;"),
                )
            }
            Setup::Debian | Setup::Logging | Setup::Tuned => ("", String::new()),
        };
        let config = format!(
            "daemon off; {processes} pid {shown}/pid; error_log {shown}/error.log;\n\
             events {{ worker_connections 1024; }}\n\
             http {{ access_log {log}; keepalive_requests 1000000000; client_body_temp_path {shown}/body;\n\
             proxy_temp_path {shown}/proxy; fastcgi_temp_path {shown}/f; uwsgi_temp_path {shown}/u; scgi_temp_path {shown}/s;\n\
             {buffers}\n\
             upstream backend {{ server {backend}; keepalive 128; keepalive_requests 1000000000; }}\n\
             server {{ listen {address}{tls}; {files} location / {{ proxy_pass http://backend; proxy_http_version 1.1;\n\
             proxy_set_header Connection \"\"; proxy_set_header Host $host; }} }} }}\n"
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, config)?;
        let child = Command::new("nginx")
            .arg("-e")
            .arg(folder.join("error.log"))
            .arg("-c")
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .context("nginx (apt-get install nginx-light)")?;
        let nginx = Self { child, address, folder };
        let end = Instant::now() + Duration::from_secs(5);
        while TcpStream::connect(address).is_err() {
            if Instant::now() > end {
                bail!("nginx does not listen: {}", std::fs::read_to_string(nginx.folder.join("error.log"))?);
            }
            #[allow(clippy::disallowed_methods, reason = "a benchmark that waits for a process")]
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(nginx)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGTERM, because worker processes end with their master only if it is asked to stop.
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        if asked.is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
