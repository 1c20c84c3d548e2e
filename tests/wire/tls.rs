//! An upstream behind TLS: its certificate is checked against the authorities that the machine trusts.

use super::rig::{Rig, Wire};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::path::Path;
use std::sync::Arc;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

const LATEST: &str = "2025-11-25";

/// Puts TLS in front of a server, writes down who signed its certificate, and tells its address.
pub async fn in_front_of(url: &str, authority: &Path) -> String {
    let (server, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let (server, path) = (server.to_owned(), path.to_owned());
    let acceptor = acceptor(authority);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, server) = (acceptor.clone(), server.clone());
            tokio::spawn(async move {
                // A client that does not trust the certificate leaves in the middle.
                let Ok(mut client) = acceptor.accept(stream).await else { return };
                let mut server = TcpStream::connect(server).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    format!("https://localhost:{port}/{path}")
}

fn acceptor(authority: &Path) -> TlsAcceptor {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut signs = CertificateParams::new(Vec::new()).unwrap();
    signs.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(signs, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(authority, issuer.pem()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_behind_tls_is_reached_where_its_certificate_is_trusted() {
    for down in [Wire::Stdio, Wire::Http] {
        let mut rig = Rig::initialized(down, Wire::Https, LATEST).await;
        rig.exchange(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"n":1.0}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"more":null}}"#,
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_certificate_nobody_trusts_is_told_and_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = super::rig::HttpUp::start().await;
    let url = in_front_of(&server.url, &folder.path().join("authority.pem")).await;
    let told = super::remote::told_about(&url).await;
    assert!(told.contains("the connection to the server was lost"), "{told}");
    assert!(server.got_nothing());
}
