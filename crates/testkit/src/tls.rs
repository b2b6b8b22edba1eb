//! TLS for servers of tests: certificates that only a test trusts, and TLS in front of a plain server.

use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

/// Self-signed certificate for `server.example`, `localhost` and 127.0.0.1, with its key.
#[allow(missing_debug_implementations, reason = "it holds a key")]
pub struct Certificate {
    signed: rcgen::CertifiedKey<rcgen::KeyPair>,
}

impl Certificate {
    pub fn new() -> io::Result<Self> {
        let names = ["server.example", "localhost", "127.0.0.1"].map(str::to_owned);
        let signed = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        Ok(Self { signed })
    }

    /// The certificate, for `ca_file` and `client_cert`.
    #[must_use]
    pub fn pem(&self) -> String {
        self.signed.cert.pem()
    }

    /// The key, for `client_key`.
    #[must_use]
    pub fn key_pem(&self) -> String {
        self.signed.signing_key.serialize_pem()
    }

    /// Returns settings of a server that chooses among `protocols` and asks for a client certificate without requiring
    /// one.
    pub fn config(&self, protocols: &[&str]) -> io::Result<Arc<ServerConfig>> {
        let (certificate, key) = (self.signed.cert.der().clone(), self.signed.signing_key.serialize_der());
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).map_err(io::Error::other)?;
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).allow_unauthenticated();
        let key = PrivateKeyDer::try_from(key).map_err(io::Error::other)?;
        let mut config = ServerConfig::builder()
            .with_client_cert_verifier(verifier.build().map_err(io::Error::other)?)
            .with_single_cert(vec![certificate], key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Arc::new(config))
    }

    /// Accepts a TLS client of HTTP/1.1; the handshake happens on the first read.
    pub fn accept(&self, client: TcpStream) -> io::Result<Session> {
        client.set_nodelay(true)?;
        let session = ServerConnection::new(self.config(&["http/1.1"])?).map_err(io::Error::other)?;
        Ok(Session(StreamOwned::new(session, client)))
    }
}

/// A client's TLS session.
#[derive(Debug)]
pub struct Session(StreamOwned<ServerConnection, TcpStream>);

impl Session {
    /// Sends every message in a record of its own, all records at once.
    pub fn send(&mut self, messages: &[&[u8]]) -> io::Result<()> {
        for message in messages {
            self.0.conn.writer().write_all(message)?;
        }
        self.0.flush()
    }
}

impl Read for Session {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

/// Listener that speaks TLS with clients and passes the plain bytes to a server behind it, until the test ends.
#[derive(Debug)]
pub struct TlsFront {
    pub address: SocketAddr,
}

impl TlsFront {
    pub fn start(certificate: &Certificate, behind: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let acceptor = TlsAcceptor::from(certificate.config(&["http/1.1"])?);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let acceptor = acceptor.clone();
                std::thread::spawn(move || relay(&acceptor, client, behind));
            }
        });
        Ok(Self { address })
    }

    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }
}

fn relay(acceptor: &TlsAcceptor, client: TcpStream, behind: SocketAddr) -> io::Result<()> {
    client.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let mut client = acceptor.accept(tokio::net::TcpStream::from_std(client)?).await?;
        let mut server = tokio::net::TcpStream::connect(behind).await?;
        tokio::io::copy_bidirectional(&mut client, &mut server).await?;
        Ok(())
    })
}
