//! TLS towards servers: the system's root certificates, and the operator's files if configured.
//!
//! Guarantees: one configuration per set of files is created and shared by servers, OAuth, key sets and spans.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{AlertDescription, CertificateError, ClientConfig, Error, RootCertStore};

use super::conn::Stream;
use crate::error::Cause;
use crate::limits::TLS_CONFIGS_MAX;

/// Files and protocols from which a configuration is made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct TlsFiles {
    /// Certificates that are trusted besides the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// Client certificate and its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    /// `true` to offer HTTP/2 in the handshake, besides HTTP/1.1.
    pub(crate) http2: bool,
}

/// Cache key: the files and their modification times.
type Key = (TlsFiles, [Option<SystemTime>; 3]);

static CONFIGS: Mutex<Option<HashMap<Key, Arc<ClientConfig>>>> = Mutex::new(None);

/// TLS configuration for one server.
pub(crate) struct Tls(TlsConnector);

impl Tls {
    pub(crate) fn new(address: &str, files: &TlsFiles) -> Result<Self, Cause> {
        let failed = |reason: String| Cause::Tls { address: address.into(), reason: reason.into() };
        let mut configs = CONFIGS.lock().unwrap_or_else(PoisonError::into_inner);
        let configs = configs.get_or_insert_default();
        let key = (files.clone(), files.stamps());
        if let Some(config) = configs.get(&key) {
            return Ok(Self(TlsConnector::from(config.clone())));
        }
        let config = Arc::new(config(files).map_err(failed)?);
        keep(configs, key, config.clone());
        Ok(Self(TlsConnector::from(config)))
    }

    /// Performs the handshake with the server called `host`.
    pub(crate) async fn connect(
        &self,
        host: &str,
        address: &str,
        stream: Stream,
    ) -> Result<TlsStream<Stream>, Cause> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| {
            let reason = error.to_string().into();
            Cause::Tls { address: address.into(), reason }
        })?;
        self.0.connect(name, stream).await.map_err(|error| failed(address, &error))
    }
}

impl TlsFiles {
    fn stamps(&self) -> [Option<SystemTime>; 3] {
        let stamp = |path: Option<&Path>| std::fs::metadata(path?).ok()?.modified().ok();
        let (certificate, key) = match &self.identity {
            Some((certificate, key)) => (Some(certificate.as_path()), Some(key.as_path())),
            None => (None, None),
        };
        [stamp(self.ca_file.as_deref()), stamp(certificate), stamp(key)]
    }
}

/// Caches a configuration for later connections with the same files; clears a full cache.
fn keep(configs: &mut HashMap<Key, Arc<ClientConfig>>, key: Key, config: Arc<ClientConfig>) {
    if configs.len() >= TLS_CONFIGS_MAX {
        configs.clear();
    }
    configs.insert(key, config);
}

fn config(files: &TlsFiles) -> Result<ClientConfig, String> {
    let mut roots = system_roots().clone();
    if let Some(file) = &files.ca_file {
        for certificate in certificates(file)? {
            roots.add(certificate).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    let builder = ClientConfig::builder().with_root_certificates(roots);
    let mut config = match &files.identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates(certificate)?;
            let shown = key.display();
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| format!("{shown}: {error}"))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| format!("{shown}: {error}"))?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if files.http2 {
        config.alpn_protocols.insert(0, b"h2".to_vec());
    }
    Ok(config)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let read = CertificateDer::pem_file_iter(file).map_err(|error| failed(&error))?;
    let read: Vec<_> = read.collect::<Result<_, _>>().map_err(|error| failed(&error))?;
    if read.is_empty() { Err(failed(&"there is no certificate in it")) } else { Ok(read) }
}

/// The system's root certificates, read once.
fn system_roots() -> &'static RootCertStore {
    static ROOTS: OnceLock<RootCertStore> = OnceLock::new();
    ROOTS.get_or_init(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots
    })
}

fn tls_error(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

/// Returns `true` for an alert with which a server refuses the client certificate or the lack of one.
pub(super) fn refuses_certificate(error: &io::Error) -> bool {
    use AlertDescription::{BadCertificate, CertificateRequired, UnknownCA};
    let alert = tls_error(error);
    matches!(alert, Some(Error::AlertReceived(CertificateRequired | BadCertificate | UnknownCA)))
}

/// Cause of a failed handshake.
fn failed(address: &str, error: &io::Error) -> Cause {
    let address = address.into();
    let reason: Box<str> = match tls_error(error) {
        _ if refuses_certificate(error) => return Cause::ClientCertificate { address },
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            return Cause::UnknownAuthority { address };
        }
        Some(Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => "its certificate is for another host name".into(),
        Some(Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => "its certificate has expired".into(),
        Some(Error::InvalidMessage(_)) => "it does not speak TLS at this port".into(),
        _ => error.to_string().into(),
    };
    Cause::Tls { address, reason }
}

#[cfg(test)]
mod tests {
    use toolcrib_testkit::tls::Certificate;

    use super::*;

    /// R14.1: users of the same files share one configuration; another file or protocol makes another one.
    #[test]
    fn equal_settings_share_one_configuration() {
        let path = std::env::temp_dir().join(format!("toolcrib-shared-{}.pem", std::process::id()));
        std::fs::write(&path, Certificate::new().unwrap().pem()).unwrap();
        let files = TlsFiles { ca_file: Some(path.clone()), ..TlsFiles::default() };
        let made = |files: &TlsFiles, address: &str| Tls::new(address, files).unwrap().0.config().clone();
        let first = made(&files, "a.example:443");
        assert!(Arc::ptr_eq(&first, &made(&files.clone(), "b.example:443")));
        assert!(!Arc::ptr_eq(&first, &made(&TlsFiles { http2: true, ..files.clone() }, "a.example:443")));
        assert!(!Arc::ptr_eq(&first, &made(&TlsFiles::default(), "a.example:443")));
        std::fs::remove_file(path).unwrap();
    }

    /// R5.6: `TLS_CONFIGS_MAX` bounds the cache.
    #[test]
    fn no_more_than_tls_configs_max_are_kept() {
        let shared = Arc::new(config(&TlsFiles::default()).unwrap());
        let mut configs = HashMap::new();
        for at in 0..TLS_CONFIGS_MAX * 2 {
            let files = TlsFiles { ca_file: Some(at.to_string().into()), ..TlsFiles::default() };
            keep(&mut configs, (files, [None; 3]), shared.clone());
            assert!(configs.len() <= TLS_CONFIGS_MAX);
        }
        assert_eq!(configs.len(), TLS_CONFIGS_MAX);
    }
}
