//! TLS for HTTP servers: the system's certificates, and the operator's own where a file is named.

use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::target::Target;
use crate::error::Cause;

#[derive(Clone)]
pub(crate) struct Tls(TlsConnector);

impl Tls {
    pub(crate) fn new(target: &Target, ca_file: Option<&Path>) -> Result<Self, Cause> {
        let failed = |reason: String| Cause::Tls { address: target.address(), reason: reason.into() };
        let mut roots = RootCertStore::empty();
        let system = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(system.certs);
        if let Some(file) = ca_file {
            let certificates = CertificateDer::pem_file_iter(file)
                .map_err(|error| failed(format!("{}: {error}", file.display())))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| failed(error.to_string()))?;
                roots.add(certificate).map_err(|error| failed(error.to_string()))?;
            }
        }
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    pub(crate) async fn connect(
        &self,
        target: &Target,
        tcp: TcpStream,
    ) -> Result<TlsStream<TcpStream>, Cause> {
        let failed = |reason: String| Cause::Tls { address: target.address(), reason: reason.into() };
        let name =
            ServerName::try_from(target.host.to_string()).map_err(|error| failed(error.to_string()))?;
        self.0.connect(name, tcp).await.map_err(|error| failed(error.to_string()))
    }
}
