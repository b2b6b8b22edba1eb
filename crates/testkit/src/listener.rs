//! HTTP/1.1 server for tests: one thread per connection, answers from one function, connections kept alive.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A received request.
#[derive(Debug, Clone)]
pub struct Incoming {
    pub method: String,
    /// Target with its query.
    pub target: String,
    /// Header fields; names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Incoming {
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    #[must_use]
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }
}

/// A response to send.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Outgoing {
    #[must_use]
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: body.to_string() }
    }

    #[must_use]
    pub fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: String::new() }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

type Answer = dyn Fn(&Incoming) -> Outgoing + Send + Sync;

/// Listener on a port of its own, until it is dropped.
#[derive(Debug)]
pub struct Listener {
    pub address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

impl Listener {
    pub fn start(answer: impl Fn(&Incoming) -> Outgoing + Send + Sync + 'static) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let (flag, answer): (_, Arc<Answer>) = (stopped.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if flag.load(Ordering::Relaxed) {
                    return;
                }
                let answer = answer.clone();
                std::thread::spawn(move || {
                    let _ = serve(&connection, &*answer);
                });
            }
        });
        Ok(Self { address, stopped })
    }

    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(connection: &TcpStream, answer: &Answer) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection);
    while let Some(incoming) = read(&mut reader)? {
        let outgoing = answer(&incoming);
        let mut text = format!("HTTP/1.1 {} \r\n", outgoing.status);
        for (name, value) in &outgoing.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{}", outgoing.body.len(), outgoing.body));
        let mut out = connection;
        out.write_all(text.as_bytes())?;
        if incoming.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            return Ok(());
        }
    }
    Ok(())
}

fn read(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Option<Incoming>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(Incoming { method, target, headers, body }))
}
