//! TLS by certificate files.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Reads a certificate with those that vouch for it, and its key.
pub(super) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor> {
    let name = certificate.display();
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("cannot read {name} as certificates in PEM"))?;
    if chain.is_empty() {
        bail!("{name}: there is no certificate in it; give the file with BEGIN CERTIFICATE");
    }
    let of_key = key.display();
    let key = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("cannot read {of_key} as a private key in PEM"))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key);
    let mut config = config.with_context(|| format!("{name} and {of_key} do not go together"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
