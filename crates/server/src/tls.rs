//! TLS of a listener: certificate and key from PEM files, read again when the files change.
//!
//! Guarantees: a certificate and a key that do not match are refused. While serving, unusable files change nothing and
//! are logged. Open connections keep their certificate.

use std::fmt;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

use crate::limits::{TLS_FILE_BYTES_MAX, TLS_HANDSHAKE_MS_MAX};

const ALPN_HTTP2: &[u8] = b"h2";
const ALPN_HTTP1: &[u8] = b"http/1.1";

/// Reason why a certificate or its key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("TLS_FILE_BYTES_MAX: {path} is over {TLS_FILE_BYTES_MAX} bytes")]
    TooLarge { path: PathBuf },
    #[error("{path} has no certificate in PEM form")]
    NoCertificate { path: PathBuf },
    #[error("{path} has no private key in PEM form")]
    NoKey { path: PathBuf },
    #[error("{cert} and {key} cannot be used together: {source}")]
    Mismatch { cert: PathBuf, key: PathBuf, source: rustls::Error },
    #[error("TLS cannot be set up: {0}")]
    Setup(rustls::Error),
}

/// TLS with a certificate and key from files.
pub struct Tls {
    cert: PathBuf,
    key: PathBuf,
    acceptor: TlsAcceptor,
    certificate: Arc<Certificate>,
    seen: Mutex<Stamps>,
    handshake_within: Duration,
}

/// Certificate in force, with its key.
#[derive(Debug)]
struct Certificate(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

/// Modification time in seconds and nanoseconds, length and inode of both files.
type Stamps = [Option<(i64, i64, u64, u64)>; 2];

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("cert", &self.cert).field("key", &self.key).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads a certificate chain and its private key, both PEM.
    pub fn load(cert: &Path, key: &Path) -> Result<Arc<Self>, TlsError> {
        let seen = Mutex::new([stamp(cert), stamp(key)]);
        let certificate = Arc::new(Certificate(ArcSwap::new(Arc::new(certified(cert, key)?))));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_no_client_auth()
            .with_cert_resolver(certificate.clone());
        config.alpn_protocols = vec![ALPN_HTTP2.to_vec(), ALPN_HTTP1.to_vec()];
        let (cert, key, acceptor) = (cert.to_owned(), key.to_owned(), TlsAcceptor::from(Arc::new(config)));
        let handshake_within = Duration::from_millis(TLS_HANDSHAKE_MS_MAX);
        Ok(Arc::new(Self { cert, key, acceptor, certificate, seen, handshake_within }))
    }

    /// Reads the files again if they changed; on an error the previous certificate stays in force. Returns `true` if a
    /// new certificate is in force.
    pub fn refresh(&self) -> Result<bool, TlsError> {
        let now = [stamp(&self.cert), stamp(&self.key)];
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *seen, now) == now {
            return Ok(false);
        }
        self.certificate.0.store(Arc::new(certified(&self.cert, &self.key)?));
        Ok(true)
    }

    /// Reads the files again if they changed and logs the outcome.
    pub(crate) fn look(&self) {
        match self.refresh() {
            Ok(false) => {}
            Ok(true) => {
                tracing::info!(target: "toolcrib", "{}: the new certificate is in force", self.cert.display());
            }
            Err(error) => {
                tracing::error!(target: "toolcrib", "the certificate stays as it was: {error}");
            }
        }
    }

    /// Performs the handshake within its deadline.
    pub(crate) async fn accept<S>(&self, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let handshake = self.acceptor.accept(stream);
        tokio::time::timeout(self.handshake_within, handshake).await.map_err(|_| {
            let ms = self.handshake_within.as_millis();
            let message = format!("TLS_HANDSHAKE_MS_MAX: the handshake was not done after {ms} ms");
            io::Error::new(io::ErrorKind::TimedOut, message)
        })?
    }
}

/// Returns `true` if ALPN selected HTTP/2.
pub(crate) fn speaks_http2<S>(stream: &TlsStream<S>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(ALPN_HTTP2)
}

fn stamp(path: &Path) -> Option<(i64, i64, u64, u64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.mtime(), about.mtime_nsec(), about.len(), about.ino()))
}

fn certified(cert: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&read(cert)?).filter_map(Result::ok).collect();
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: cert.to_owned() });
    }
    let private = PrivateKeyDer::from_pem_slice(&read(key)?);
    let private = private.map_err(|_| TlsError::NoKey { path: key.to_owned() })?;
    CertifiedKey::from_der(chain, private, &ring::default_provider()).map_err(|source| TlsError::Mismatch {
        cert: cert.to_owned(),
        key: key.to_owned(),
        source,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path);
    let taken = opened.and_then(|file| file.take(TLS_FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    taken.map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })?;
    if bytes.len() as u64 > TLS_FILE_BYTES_MAX {
        return Err(TlsError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}

#[cfg(test)]
pub(crate) mod tests;
