//! Opens byte streams to a server: TCP, a unix socket, or a tunnel through a proxy, with TLS if the URL says so.

use std::io;
use std::net::SocketAddr;

use tokio::net::UnixStream;
use toolcrib_http1::client::ClientConnection;

use super::conn::Stream;
use super::eyeballs;
use super::proxy::Proxy;
use super::resolve::look_up;
use super::target::Target;
use super::tls::{Tls, TlsFiles};
use crate::error::Cause;
use crate::spec::Endpoint;

/// Opens connections to one server.
pub(crate) struct Connector {
    pub(crate) target: Target,
    proxy: Option<Proxy>,
    /// Present if the server uses TLS.
    tls: Option<Tls>,
    /// Present if the proxy uses TLS. The proxy is shown no client certificate, and CONNECT is HTTP/1.1.
    proxy_tls: Option<Tls>,
    /// Addresses that were resolved and checked before; no other address is used. A proxy resolves by itself.
    addresses: Option<Vec<SocketAddr>>,
}

impl Connector {
    pub(crate) fn new(endpoint: &Endpoint, addresses: Option<Vec<SocketAddr>>) -> Result<Self, Cause> {
        let target = Target::read(&endpoint.url)?;
        let proxy = Proxy::of(&target, endpoint.proxy.as_deref())?;
        let identity = endpoint.client_cert.clone().zip(endpoint.client_key.clone());
        let files = TlsFiles { ca_file: endpoint.ca_file.clone(), identity, http2: true };
        let tls = target.secure.then(|| Tls::new(&target.address(), &files)).transpose()?;
        let files = TlsFiles { identity: None, http2: false, ..files };
        let secure_proxy = proxy.as_ref().filter(|proxy| proxy.secure);
        let proxy_tls = secure_proxy.map(|proxy| Tls::new(&proxy.address(), &files)).transpose()?;
        Ok(Self { target, proxy, tls, proxy_tls, addresses })
    }

    /// Returns `true` if a new stream speaks HTTP/2: with TLS if the handshake chose it, without TLS if the operator
    /// says that the server `knows` it. A proxy is asked for plain targets in HTTP/1.1.
    pub(super) fn is_http2(&self, stream: &Stream, knows: bool) -> bool {
        match self.target.secure {
            true => stream.chose_http2(),
            false => knows && self.proxy.is_none(),
        }
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
            Some(tls) => {
                let shaken = tls.connect(&self.target.host, &self.target.address(), stream).await?;
                Ok(Stream::Secure(Box::new(shaken)))
            }
            None => Ok(stream),
        }
    }

    async fn tcp(&self, host: &str, port: u16, shown: &str) -> Result<Stream, Cause> {
        let failed = |error: io::Error| Cause::Connect { address: shown.into(), kind: error.kind() };
        let addresses = match (&self.addresses, &self.proxy) {
            (Some(addresses), None) => addresses.clone(),
            _ => look_up(host, port).await,
        };
        if addresses.is_empty() {
            return Err(Cause::UnknownHost { host: host.into() });
        }
        let tcp = eyeballs::connect(addresses).await.map_err(failed)?;
        tcp.set_nodelay(true).map_err(failed)?;
        Ok(Stream::Plain(tcp))
    }

    /// Connects to the proxy, and through a tunnel to the server if that uses TLS.
    async fn proxied(&self, proxy: &Proxy) -> Result<Stream, Cause> {
        let through =
            |cause: Cause| Cause::Proxy { proxy: proxy.address(), reason: cause.to_string().into() };
        let mut stream = self.tcp(&proxy.host, proxy.port, &proxy.address()).await.map_err(through)?;
        if let Some(tls) = &self.proxy_tls {
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::server::TlsStream;
    use toolcrib_testkit::tls::Certificate;

    use super::*;
    use crate::http::{HttpLink, once};

    /// TLS server of a test, and the settings to reach it.
    struct Secure {
        listener: TcpListener,
        acceptor: TlsAcceptor,
        /// Certificate and key.
        files: [PathBuf; 2],
    }

    impl Secure {
        async fn start(name: &str, protocols: &[&str]) -> Self {
            let certificate = Certificate::new().unwrap();
            let files = ["cert", "key"].map(|kind| {
                std::env::temp_dir().join(format!("toolcrib-{name}-{kind}-{}.pem", std::process::id()))
            });
            std::fs::write(&files[0], certificate.pem()).unwrap();
            std::fs::write(&files[1], certificate.key_pem()).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let acceptor = TlsAcceptor::from(certificate.config(protocols).unwrap());
            Self { listener, acceptor, files }
        }

        fn url(&self) -> String {
            format!("https://{}", self.listener.local_addr().unwrap())
        }

        /// Accepts one client; returns the stream and the head of its first request.
        async fn asked(&self) -> (TlsStream<TcpStream>, String) {
            let (client, _) = self.listener.accept().await.unwrap();
            let mut stream = self.acceptor.accept(client).await.unwrap();
            let mut head = vec![0; 4096];
            let read = stream.read(&mut head).await.unwrap();
            (stream, String::from_utf8_lossy(&head[..read]).into_owned())
        }
    }

    impl Drop for Secure {
        fn drop(&mut self) {
            for file in &self.files {
                let _ = std::fs::remove_file(file);
            }
        }
    }

    /// R14.1: a proxy over TLS that speaks HTTP/2 too is asked in HTTP/1.1, and is not shown the client certificate
    /// that is for the server.
    #[tokio::test]
    async fn a_secure_proxy_is_asked_in_http_1_and_without_the_client_certificate() {
        let proxy = Secure::start("proxy", &["h2", "http/1.1"]).await;
        let [cert, key] = proxy.files.clone();
        let endpoint = Endpoint {
            url: "https://server.example/mcp".to_owned(),
            proxy: Some(proxy.url()),
            ca_file: Some(cert.clone()),
            client_cert: Some(cert),
            client_key: Some(key),
            ..Endpoint::default()
        };
        let connector = Connector::new(&endpoint, None).unwrap();
        let (opened, (stream, head)) = tokio::join!(connector.open(), async {
            let (mut stream, head) = proxy.asked().await;
            stream.write_all(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            (stream, head)
        });
        assert!(opened.err().unwrap().to_string().contains("it refused the tunnel with HTTP 403"));
        assert!(head.starts_with("CONNECT server.example:443 HTTP/1.1\r\n"), "{head}");
        let session = stream.get_ref().1;
        assert_eq!(session.alpn_protocol(), Some(b"http/1.1".as_slice()));
        assert!(session.peer_certificates().is_none());
    }

    /// R14.1: `http2 = true` is for servers without TLS that are reached without a proxy.
    #[tokio::test]
    async fn prior_knowledge_of_http_2_is_for_plain_servers_without_a_proxy() {
        const EMPTY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        let server = Secure::start("server", &["http/1.1"]).await;
        let ca_file = Some(server.files[0].clone());
        let secure = Endpoint { url: server.url(), ca_file, http2: true, ..Endpoint::default() };
        let link = HttpLink::new(&secure).unwrap();
        let (answer, head) = tokio::join!(link.plain("GET", "", b""), async {
            let (mut stream, head) = server.asked().await;
            stream.write_all(EMPTY.as_bytes()).await.unwrap();
            head
        });
        assert!(head.starts_with("GET / HTTP/1.1\r\n"), "{head}");
        assert_eq!(answer.map(|answer| answer.status()), Ok(200));
        let proxy = Some(once::say(EMPTY.to_owned()).await);
        let url = "http://server.example/mcp".to_owned();
        let link = HttpLink::new(&Endpoint { url, proxy, http2: true, ..Endpoint::default() }).unwrap();
        let answer = link.plain("GET", "", b"").await;
        assert_eq!(answer.map(|answer| answer.status()), Ok(200));
    }
}
