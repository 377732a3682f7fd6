//! The connection to the server: its address, and TLS.

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

/// TLS options, named as `redis-cli` names them.
#[derive(Args)]
pub(crate) struct Tls {
    /// PEM file of the CA certificates to verify the server with [default: the system's]
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// PEM file of the client certificate
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// PEM file of the client certificate's private key
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Accept any server certificate, whatever its issuer and name
    #[arg(long)]
    insecure: bool,
}

/// The server's address.
pub(crate) struct Server {
    client: Client,
    /// The number of the database.
    pub(crate) database: i64,
}

impl Server {
    /// Parses `url` and reads the TLS files; the error says which argument is wrong.
    pub(crate) fn new(url: &str, tls: &Tls) -> Result<Self, String> {
        let info = url
            .into_connection_info()
            .map_err(|error| format!("not an address: {error}"))?;
        // SELECT is sent later: when it fails while connecting, the redis crate
        // hides the error's code.
        let database = info.redis_settings().db();
        let settings = info.redis_settings().clone().set_db(0);
        let client = client(info.set_redis_settings(settings), tls)?;
        Ok(Self { client, database })
    }

    /// Connects; each reply must come within `timeout`.
    pub(crate) fn connect(&self, timeout: Duration) -> RedisResult<Connection> {
        let con = self.client.get_connection_with_timeout(timeout)?;
        con.set_read_timeout(Some(timeout))?;
        con.set_write_timeout(Some(timeout))?;
        Ok(con)
    }

    /// The error that the server sends unasked before it closes a new connection:
    /// it has too many clients, or is in protected mode. Not over TLS.
    pub(crate) fn rejection(&self, timeout: Duration) -> Option<String> {
        let mut line = String::new();
        match self.client.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, port) => {
                let addresses = (host.as_str(), *port).to_socket_addrs().ok()?;
                let stream = addresses
                    .into_iter()
                    .find_map(|address| TcpStream::connect_timeout(&address, timeout).ok())?;
                stream.set_read_timeout(Some(timeout)).ok()?;
                BufReader::new(stream).read_line(&mut line).ok()?;
            }
            ConnectionAddr::Unix(path) => {
                let stream = UnixStream::connect(path).ok()?;
                stream.set_read_timeout(Some(timeout)).ok()?;
                BufReader::new(stream).read_line(&mut line).ok()?;
            }
            _ => return None,
        }
        Some(line.trim_end().strip_prefix('-')?.to_owned())
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
    // The redis crate uses the default provider to accept any certificate. Fails
    // only if one is installed already.
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

/// Reads a PEM file and checks that it has a section of `kind`: without one, the
/// redis crate would only report an unknown issuer.
fn pem(path: &Path, kind: &str) -> Result<Vec<u8>, String> {
    let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if text
        .windows(kind.len())
        .any(|window| window == kind.as_bytes())
    {
        Ok(text)
    } else {
        Err(format!(
            "{}: no {} in it",
            path.display(),
            kind.trim_end_matches('-').to_lowercase()
        ))
    }
}
