//! Encrypted connections: rustls, with the certificates to trust from a file or from the system.

use std::path::Path;

use thiserror::Error;
#[cfg(feature = "mqtt")]
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Why no connection can be encrypted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The file of certificates.
    #[error("cannot read certificates from {path}: {why}")]
    Authorities {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// The system has none.
    #[error("the system trusts no certificates ({0}); give a file of them")]
    NoneTrusted(String),
    /// Anything else.
    #[error("cannot encrypt: {0}")]
    Failed(String),
}

/// What a client trusts.
#[cfg(feature = "mqtt")]
pub(crate) fn config(authorities: Option<&Path>) -> Result<ClientConfig, TlsError> {
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::CertificateDer;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(path) => {
            let wrong =
                |why: String| TlsError::Authorities { path: path.display().to_string(), why };
            let found =
                CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(wrong("there is none in it; it has to have the form PEM".to_owned()));
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                let why = found.errors.first().map_or("none found".to_owned(), ToString::to_string);
                return Err(TlsError::NoneTrusted(why));
            }
        }
    }
    let provider = std::sync::Arc::new(ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| TlsError::Failed(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
