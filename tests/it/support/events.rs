//! Keyspace events.

use wurk_testkit::{Resp, Server};

/// A connection that is notified of every keyspace event.
pub struct Events(Resp);

impl Events {
    /// Of a server whose `notify-keyspace-events` is set.
    pub fn of(server: &Server) -> Self {
        let mut con = server.connect();
        con.must("PSUBSCRIBE __key*__:*");
        con.must("SUBSCRIBE end");
        Self(con)
    }

    /// All events since the last call; `con` is another connection to the server.
    pub fn since(&mut self, con: &mut Resp) -> Vec<String> {
        con.must("PUBLISH end here");
        let mut events = Vec::new();
        loop {
            let event = self.0.read().expect("an event").to_string();
            if event.starts_with(r#"["message""#) {
                return events;
            }
            events.push(event);
        }
    }
}
