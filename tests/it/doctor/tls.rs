//! The doctor over TLS, on builds that speak it.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use wurk_testkit::{Binary, Options};

use crate::doctor::findings::{ask, diagnose};
use crate::support::tls;

/// Writes `ca.pem`, and `server.pem` and `client.pem` that it has signed, with their keys;
/// the certificate of the server is for 127.0.0.1 only.
fn certificates(folder: &Path) -> [String; 6] {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let key = || KeyPair::generate().expect("a key");
    let params = |name: &str| {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        // OpenSSL takes a certificate with the name of its issuer for self-signed.
        params.distinguished_name.push(DnType::CommonName, name);
        params
    };
    let mut authority = params("authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = key();
    let ca = write(
        "ca.pem",
        authority
            .self_signed(&authority_key)
            .expect("a certificate")
            .pem(),
    );
    let issuer = Issuer::new(authority, authority_key);
    let signed = |name: &str, file: &str| {
        let key = key();
        let certificate = params(name)
            .signed_by(&key, &issuer)
            .expect("a certificate");
        [
            write(&format!("{file}.pem"), certificate.pem()),
            write(&format!("{file}.key"), key.serialize_pem()),
        ]
    };
    let [server, server_key] = signed("127.0.0.1", "server");
    let [client, client_key] = signed("worker", "client");
    let empty = write("empty.pem", String::new());
    [ca, server, server_key, client, client_key, empty]
}

pub fn connects_over_tls(binary: &Binary) {
    let folder = TempDir::new().expect("a folder");
    let [ca, cert, key, client, client_key, empty] = &certificates(folder.path());
    let options = Options::new(binary)
        .module_if_supported()
        .set("maxmemory", &["100mb"])
        .set("maxmemory-policy", &["noeviction"]);
    let files = [cert, key, ca].map(String::as_str);
    let Some((server, port)) = tls::start(binary, options, files) else {
        return;
    };
    let mut con = server.connect();
    let url = format!("rediss://127.0.0.1:{port}/");
    let well = |url: &str, more: &[&str]| {
        let (status, find) = diagnose(url, more);
        let strategy = find("strategy");
        assert!(
            status == 0 && strategy.starts_with("fine: "),
            "{more:?}: {strategy}"
        );
    };
    let unanswered = |url: &str, more: &[&str], why: &str| {
        let output = ask(url, more);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && text.starts_with("no answer: "),
            "{more:?}: {text}"
        );
        assert!(text.contains(why), "{more:?}: {text}");
    };
    well(&url, &["--cacert", ca]);
    well(&url, &["--insecure"]);
    // The system trusts no issuer of it.
    unanswered(&url, &[], "UnknownIssuer");
    unanswered(&url, &["--cacert", client], "UnknownIssuer");
    // It is for another name.
    let other = format!("rediss://localhost:{port}/");
    unanswered(&other, &["--cacert", ca], "not valid for name");
    well(&other, &["--cacert", ca, "--insecure"]);
    // Without TLS, which the server expects.
    unanswered(
        &format!("redis://127.0.0.1:{port}/"),
        &["--timeout", "1"],
        "",
    );

    // An older TLS version, and another database.
    con.must("CONFIG SET tls-protocols TLSv1.2");
    well(&format!("{url}3"), &["--cacert", ca]);
    con.call(&["CONFIG", "SET", "tls-protocols", ""]);

    // The server requires a client certificate.
    con.must("CONFIG SET tls-auth-clients yes");
    unanswered(&url, &["--cacert", ca], "CertificateRequired");
    let own = ["--cacert", ca, "--cert", client, "--key", client_key];
    well(&url, &own);
    well(&url, &[&own[2..], &["--insecure"]].concat());

    // Options that contradict each other.
    let plain = "redis://127.0.0.1/";
    for (url, more, why) in [
        (
            url.as_str(),
            ["--cacert", "/nowhere.pem"],
            "/nowhere.pem: No such file",
        ),
        (&url, ["--cacert", key], "no certificate in it"),
        (&url, ["--cacert", empty], "no certificate in it"),
        (&url, ["--cert", client], "--key <FILE>"),
        (&url, ["--key", client_key], "--cert <FILE>"),
        (plain, ["--cacert", ca], "need a rediss:// address"),
        (plain, ["--insecure", "--json"], "need a rediss:// address"),
    ] {
        let output = ask(url, &more);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{more:?}: {text}");
        assert!(text.contains(why), "{more:?}: {text}");
    }
    let output = ask(&url, &["--cert", client, "--key", client]);
    assert_eq!(output.status.code(), Some(64));
}
