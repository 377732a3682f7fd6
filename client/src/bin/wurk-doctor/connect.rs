//! The way to the server.

use std::time::Duration;

use redis::{Client, Connection, IntoConnectionInfo, RedisResult};

/// Where the server is.
pub(crate) struct Server {
    client: Client,
    /// The number of the database.
    pub(crate) database: i64,
}

impl Server {
    /// The server at `url`, or what is wrong with what was typed.
    pub(crate) fn new(url: &str) -> Result<Self, String> {
        let info = url
            .into_connection_info()
            .map_err(|error| format!("not an address: {error}"))?;
        // Chosen later: of a choice that is refused when a connection is made,
        // the crate does not tell the error's code.
        let database = info.redis_settings().db();
        let settings = info.redis_settings().clone().set_db(0);
        let client = Client::open(info.set_redis_settings(settings));
        let client = client.map_err(|error| error.to_string())?;
        Ok(Self { client, database })
    }

    /// A connection whose every reply must come within `timeout`.
    pub(crate) fn connect(&self, timeout: Duration) -> RedisResult<Connection> {
        let con = self.client.get_connection_with_timeout(timeout)?;
        con.set_read_timeout(Some(timeout))?;
        con.set_write_timeout(Some(timeout))?;
        Ok(con)
    }
}
