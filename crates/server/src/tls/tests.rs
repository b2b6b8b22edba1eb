use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::AsyncReadExt as _;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::*;

/// Certificate and key files for `localhost` in a folder that is removed when dropped.
pub(crate) struct Files {
    folder: PathBuf,
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

impl Files {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("toolcrib-tls-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files = Self { cert: folder.join("cert.pem"), key: folder.join("key.pem"), folder };
        files.renew();
        files
    }

    /// Replaces the certificate by a new one and returns it.
    pub(crate) fn renew(&self) -> CertificateDer<'static> {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(&self.cert, made.cert.pem()).unwrap();
        std::fs::write(&self.key, made.signing_key.serialize_pem()).unwrap();
        made.cert.der().clone()
    }

    /// Returns a connector that trusts the certificate in the file and offers these protocols.
    pub(crate) fn connector(&self, alpn: &[&[u8]]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&self.cert).unwrap()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns the protocol that ALPN selected.
async fn agreed(tls: &Tls, files: &Files, alpn: &[&[u8]]) -> io::Result<Option<Vec<u8>>> {
    let (near, far) = tokio::io::duplex(16 * 1024);
    let name = ServerName::try_from("localhost").unwrap();
    let (connected, accepted) =
        tokio::join!(files.connector(alpn).connect(name, near), async { tls.accept(far).await });
    let connected = connected?;
    let is_http2 = speaks_http2(&accepted?);
    let protocol = connected.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
    assert_eq!(is_http2, protocol.as_deref() == Some(b"h2"));
    Ok(protocol)
}

/// R14.2: ALPN selects HTTP/2; a client that offers neither protocol is refused.
#[tokio::test]
async fn alpn_chooses_the_protocol() {
    let files = Files::new();
    let tls = Tls::load(&files.cert, &files.key).unwrap();
    assert_eq!(agreed(&tls, &files, &[b"http/1.1", b"h2"]).await.unwrap().unwrap(), b"h2");
    assert_eq!(agreed(&tls, &files, &[b"http/1.1"]).await.unwrap().unwrap(), b"http/1.1");
    assert_eq!(agreed(&tls, &files, &[]).await.unwrap(), None);
    assert!(agreed(&tls, &files, &[b"spdy/1"]).await.is_err());
}

/// R14.2: certificates are reloaded; unusable files change nothing.
#[tokio::test]
async fn a_changed_certificate_is_in_force_and_a_bad_one_changes_nothing() {
    let files = Files::new();
    let tls = Tls::load(&files.cert, &files.key).unwrap();
    assert!(!tls.refresh().unwrap());
    let renewed = files.renew();
    assert!(tls.refresh().unwrap());
    agreed(&tls, &files, &[]).await.unwrap();
    let in_force = || tls.certificate.0.load().cert.clone();
    assert_eq!(in_force(), [renewed]);
    let before = in_force();
    let key = std::fs::read(&files.key).unwrap();
    std::fs::write(&files.key, "nothing").unwrap();
    assert!(matches!(tls.refresh().unwrap_err(), TlsError::NoKey { .. }));
    let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
    std::fs::write(&files.key, other).unwrap();
    assert!(matches!(tls.refresh().unwrap_err(), TlsError::Mismatch { .. }));
    std::fs::remove_file(&files.key).unwrap();
    assert!(matches!(tls.refresh().unwrap_err(), TlsError::Unreadable { .. }));
    assert!(!tls.refresh().unwrap(), "an error is told once");
    std::fs::write(&files.key, key).unwrap();
    assert!(tls.refresh().unwrap());
    assert_eq!(in_force(), before);
}

/// `TLS_FILE_BYTES_MAX`: a larger file is refused.
#[test]
fn a_file_over_tls_file_bytes_max_is_refused() {
    let files = Files::new();
    std::fs::write(&files.cert, vec![b'a'; TLS_FILE_BYTES_MAX as usize + 1]).unwrap();
    assert!(Tls::load(&files.cert, &files.key).unwrap_err().to_string().contains("TLS_FILE_BYTES_MAX"));
}

/// `TLS_HANDSHAKE_MS_MAX`: a client that sends nothing, or a byte now and then, is disconnected.
#[tokio::test(start_paused = true)]
async fn a_handshake_over_tls_handshake_ms_max_ends() {
    let files = Files::new();
    let tls = Tls::load(&files.cert, &files.key).unwrap();
    let (mut near, far) = tokio::io::duplex(1024);
    let begun = tokio::time::Instant::now();
    let error = tls.accept(far).await.unwrap_err();
    assert!(error.to_string().contains("TLS_HANDSHAKE_MS_MAX"), "{error}");
    assert_eq!(begun.elapsed().as_millis(), u128::from(TLS_HANDSHAKE_MS_MAX));
    assert_eq!(near.read(&mut [0; 8]).await.unwrap(), 0, "it is closed");
}
