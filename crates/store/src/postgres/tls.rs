//! TLS for PostgreSQL by rustls: certificates are verified against the system's roots and the host name.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use ::postgres::Socket;
use ::postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Makes TLS connections. The root certificates are loaded for the first one.
#[derive(Clone)]
pub(super) struct Rustls(Arc<OnceLock<Arc<ClientConfig>>>);

impl Rustls {
    pub(super) fn new() -> Self {
        Self(Arc::new(OnceLock::new()))
    }
}

fn configuration() -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

impl MakeTlsConnect<Socket> for Rustls {
    type Stream = Encrypted;
    type TlsConnect = Handshake;
    type Error = Infallible;

    /// Also called for unencrypted connections, whose host need not be a valid server name.
    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, Infallible> {
        Ok(Handshake { host: host.to_owned(), config: self.0.clone() })
    }
}

/// A connection before its TLS handshake.
pub(super) struct Handshake {
    host: String,
    config: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host).map_err(io::Error::other)?;
            let connector = TlsConnector::from(self.config.get_or_init(configuration).clone());
            connector.connect(name, socket).await.map(Encrypted)
        })
    }
}

/// A TLS connection.
pub(super) struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

impl Encrypted {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut tokio_rustls::client::TlsStream<Socket>> {
        Pin::new(&mut self.get_mut().0)
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.inner().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.inner().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(cx)
    }
}

impl TlsStream for Encrypted {
    /// No channel binding: the server's certificate is verified, which already excludes a man in the middle.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}
