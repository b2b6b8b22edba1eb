//! Opens byte streams to a server: TCP, a unix socket, or a tunnel through a proxy, with TLS if the URL says so.

use std::io;
use std::net::SocketAddr;

use tokio::net::UnixStream;
use toolcrib_http1::client::ClientConnection;

use super::conn::Stream;
use super::eyeballs;
use super::proxy::Proxy;
use super::target::Target;
use super::tls::{Tls, TlsFiles};
use crate::error::Cause;
use crate::spec::Endpoint;

/// Opens connections to one server.
pub(crate) struct Connector {
    pub(crate) target: Target,
    proxy: Option<Proxy>,
    /// Present if the server or the proxy uses TLS.
    tls: Option<Tls>,
    /// Addresses that were resolved and checked before; no other address is used.
    addresses: Option<Vec<SocketAddr>>,
}

impl Connector {
    pub(crate) fn new(endpoint: &Endpoint, addresses: Option<Vec<SocketAddr>>) -> Result<Self, Cause> {
        let target = Target::read(&endpoint.url)?;
        let proxy = Proxy::of(&target, endpoint.proxy.as_deref())?;
        let is_secure = target.secure || proxy.as_ref().is_some_and(|proxy| proxy.secure);
        let files = TlsFiles {
            ca_file: endpoint.ca_file.clone(),
            identity: endpoint.client_cert.clone().zip(endpoint.client_key.clone()),
        };
        let tls = is_secure.then(|| Tls::new(&target.address(), &files)).transpose()?;
        Ok(Self { target, proxy, tls, addresses })
    }

    /// Returns the request target, `Host` and the proxy's field. A plain-text request through a proxy has an absolute
    /// target.
    pub(crate) fn request_target(&self, path: &str) -> String {
        let (origin, field) = match &self.proxy {
            Some(proxy) if !self.target.secure => {
                (format!("http://{}", self.target.authority), proxy.field())
            }
            _ => (String::new(), String::new()),
        };
        format!(" {origin}{path} HTTP/1.1\r\nHost: {}\r\n{field}", self.target.authority)
    }

    pub(crate) async fn open(&self) -> Result<Stream, Cause> {
        if let Some(socket) = &self.target.unix {
            return UnixStream::connect(socket).await.map(Stream::Unix).map_err(|error| self.failed(&error));
        }
        let stream = match &self.proxy {
            None => self.tcp(&self.target.host, self.target.port, &self.target.address()).await?,
            Some(proxy) => self.proxied(proxy).await?,
        };
        match &self.tls {
            Some(tls) if self.target.secure => {
                let shaken = tls.connect(&self.target.host, &self.target.address(), stream).await?;
                Ok(Stream::Secure(Box::new(shaken)))
            }
            _ => Ok(stream),
        }
    }

    async fn tcp(&self, host: &str, port: u16, shown: &str) -> Result<Stream, Cause> {
        let failed = |error: io::Error| Cause::Connect { address: shown.into(), kind: error.kind() };
        let addresses = match (&self.addresses, &self.proxy) {
            (Some(addresses), None) => addresses.clone(),
            _ => match tokio::net::lookup_host((host, port)).await {
                Ok(found) => found.collect(),
                Err(_) => return Err(Cause::UnknownHost { host: host.into() }),
            },
        };
        let tcp = eyeballs::connect(addresses).await.map_err(failed)?;
        tcp.set_nodelay(true).map_err(failed)?;
        Ok(Stream::Plain(tcp))
    }

    /// Connects to the proxy, and through a tunnel to the server if that uses TLS.
    async fn proxied(&self, proxy: &Proxy) -> Result<Stream, Cause> {
        let through =
            |cause: Cause| Cause::Proxy { proxy: proxy.address(), reason: cause.to_string().into() };
        let mut stream = self.tcp(&proxy.host, proxy.port, &proxy.address()).await.map_err(through)?;
        if let Some(tls) = self.tls.as_ref().filter(|_| proxy.secure) {
            let shaken = tls.connect(&proxy.host, &proxy.address(), stream).await.map_err(through)?;
            stream = Stream::Secure(Box::new(shaken));
        }
        if !self.target.secure {
            return Ok(stream);
        }
        let refused = |reason: String| Cause::Proxy { proxy: proxy.address(), reason: reason.into() };
        let mut conn = ClientConnection::new(stream);
        let address = format!("{}:{}", bracketed(&self.target.host), self.target.port);
        let text = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n{}\r\n", proxy.field());
        let sent = conn.send(|out| out.extend_from_slice(text.as_bytes())).await;
        sent.map_err(|_| refused("it closed the connection".to_owned()))?;
        let head = conn.head().await.map_err(|error| refused(error.to_string()))?;
        match head.status() {
            200..=299 if conn.ahead().is_empty() => Ok(conn.into_stream()),
            200..=299 => Err(refused("it sent more than its answer".to_owned())),
            407 => Err(refused("it wants a user and a password: http://user:password@host:port".to_owned())),
            status => Err(refused(format!("it refused the tunnel with HTTP {status}"))),
        }
    }

    fn failed(&self, error: &io::Error) -> Cause {
        Cause::Connect { address: self.target.address(), kind: error.kind() }
    }
}

/// Returns the host as it is written before a port: IPv6 addresses in brackets.
fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}
