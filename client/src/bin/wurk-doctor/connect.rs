//! The way to the server: its address, and what TLS needs besides.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use redis::{
    Client, ClientTlsConfig, Connection, ConnectionAddr, ConnectionInfo, IntoConnectionInfo,
    RedisResult, TlsCertificates,
};

/// What TLS needs, named as `redis-cli` names it.
#[derive(Args)]
pub(crate) struct Tls {
    /// The certificates, in PEM, that the server's own must be signed by; without it, the system's
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// A client certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key of the client certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Take any certificate of the server's, whoever signed it and whatever name it holds
    #[arg(long)]
    insecure: bool,
}

/// Where the server is.
pub(crate) struct Server {
    client: Client,
    /// The number of the database.
    pub(crate) database: i64,
}

impl Server {
    /// The server at `url`, or what is wrong with what was typed.
    pub(crate) fn new(url: &str, tls: &Tls) -> Result<Self, String> {
        let info = url
            .into_connection_info()
            .map_err(|error| format!("not an address: {error}"))?;
        // Chosen later: of a choice that is refused when a connection is made,
        // the crate does not tell the error's code.
        let database = info.redis_settings().db();
        let settings = info.redis_settings().clone().set_db(0);
        let client = client(info.set_redis_settings(settings), tls)?;
        Ok(Self { client, database })
    }

    /// A connection whose every reply must come within `timeout`.
    pub(crate) fn connect(&self, timeout: Duration) -> RedisResult<Connection> {
        let con = self.client.get_connection_with_timeout(timeout)?;
        con.set_read_timeout(Some(timeout))?;
        con.set_write_timeout(Some(timeout))?;
        Ok(con)
    }

    /// The error that a server writes before it is asked anything, and closes the
    /// connection: it has too many clients, or is in protected mode. Not over TLS.
    pub(crate) fn turned_away(&self, timeout: Duration) -> Option<String> {
        let mut said = String::new();
        match self.client.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, port) => {
                let addresses = (host.as_str(), *port).to_socket_addrs().ok()?;
                let stream = addresses
                    .into_iter()
                    .find_map(|address| TcpStream::connect_timeout(&address, timeout).ok())?;
                stream.set_read_timeout(Some(timeout)).ok()?;
                BufReader::new(stream).read_line(&mut said).ok()?;
            }
            ConnectionAddr::Unix(path) => {
                let stream = UnixStream::connect(path).ok()?;
                stream.set_read_timeout(Some(timeout)).ok()?;
                BufReader::new(stream).read_line(&mut said).ok()?;
            }
            _ => return None,
        }
        Some(said.trim_end().strip_prefix('-')?.to_owned())
    }
}

fn client(info: ConnectionInfo, tls: &Tls) -> Result<Client, String> {
    let ConnectionAddr::TcpTls {
        host,
        port,
        insecure,
        ..
    } = info.addr().clone()
    else {
        if tls.cacert.is_some() || tls.cert.is_some() || tls.insecure {
            return Err("--cacert, --cert, --key and --insecure need a rediss:// address".into());
        }
        return Client::open(info).map_err(|error| error.to_string());
    };
    // The one that the `redis` crate asks for when it takes any certificate.
    // Refused only where one has been set already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let address = ConnectionAddr::TcpTls {
        host,
        port,
        insecure: insecure || tls.insecure,
        tls_params: None,
    };
    let certificates = TlsCertificates {
        client_tls: match (&tls.cert, &tls.key) {
            (Some(cert), Some(key)) => Some(ClientTlsConfig {
                client_cert: pem(cert, "CERTIFICATE-----")?,
                client_key: pem(key, "PRIVATE KEY-----")?,
            }),
            _ => None,
        },
        root_cert: match &tls.cacert {
            Some(path) => Some(pem(path, "CERTIFICATE-----")?),
            None => None,
        },
    };
    Client::build_with_tls(info.set_addr(address), certificates).map_err(|error| error.to_string())
}

/// A file that holds at least one part of that kind: of one that holds none, the
/// crate would say only that it knows nobody who signed the server's certificate.
fn pem(path: &Path, kind: &str) -> Result<Vec<u8>, String> {
    let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if text.windows(kind.len()).any(|part| part == kind.as_bytes()) {
        Ok(text)
    } else {
        Err(format!(
            "{}: no {} in it",
            path.display(),
            kind.trim_end_matches('-').to_lowercase()
        ))
    }
}
