//! What the doctor finds of rescued users and their limit.

use wurk_testkit::{Binary, Options, Resp};

use super::findings::diagnose;

fn name(con: &mut Resp, names: &str) {
    con.call(&["CONFIG", "SET", "wurk.rescue-users", names]);
}

pub fn finds_who_is_rescued(binary: &Binary) {
    let server = Options::new(binary)
        .port()
        .module()
        .set("maxmemory", &["100mb"])
        .start();
    let url = format!("redis://127.0.0.1:{}/", server.port);
    let mut con = server.connect();
    let (status, find) = diagnose(&url, &[]);
    assert_eq!((status, find("rescue users").as_str()), (0, "fine: nobody"));
    assert_eq!(find("MULTI"), "none");
    let limit = "fine: 10 % past maxmemory: 0.0 MiB of 10.0 MiB used";
    assert_eq!(find("rescue limit"), limit);

    con.must("ACL SETUSER worker on >secret ~* +@all");
    name(&mut con, "worker");
    let has_filter = binary.version >= (7, 2, 0);
    let level = if has_filter { "fine" } else { "warn" };
    let queues = binary.version >= (7, 3, 0);
    let (status, find) = diagnose(&url, &[]);
    assert_eq!(find("rescue users"), format!("{level}: worker"));
    assert_eq!(status, i32::from(!queues));
    assert_eq!(find("MULTI") == "none", queues, "{}", find("MULTI"));

    // Each of these by itself.
    for (line, names) in [
        ("ACL SETUSER worker -wurk.rescue", "worker"),
        ("ACL SETUSER worker +wurk.rescue off", "worker"),
        ("ACL SETUSER worker on", "worker default"),
        ("ACL SETUSER worker on", "worker nosuch"),
    ] {
        con.must(line);
        name(&mut con, names);
        let (status, find) = diagnose(&url, &[]);
        let found = (status, find("rescue users"));
        assert_eq!(found, (1, format!("warn: {names}")), "{line}");
    }
    name(&mut con, "worker");
    con.must("CONFIG SET wurk.rescue-limit 0");
    assert_eq!(diagnose(&url, &[]).1("rescue limit"), "warn: none");
    // Past the limit.
    con.must("CONFIG SET wurk.rescue-limit 1");
    con.must("CONFIG SET maxmemory 500000");
    let found = diagnose(&url, &[]).1("rescue limit");
    assert!(found.starts_with("warn: 1 % past maxmemory: "), "{found}");
    // A user who may not read settings.
    con.must("ACL SETUSER blind on >secret -@all +ping");
    let url = format!("redis://blind:secret@127.0.0.1:{}/", server.port);
    let found = diagnose(&url, &[]).1("rescue users");
    assert!(found.starts_with("skipped: "), "{found}");
}
