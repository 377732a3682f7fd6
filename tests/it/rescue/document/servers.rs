//! The table of what each server can do.

use wurk_testkit::Binary;

use super::section;
use crate::rescue::side::{self, Client};

pub fn can_do_what_the_page_says(binary: &Binary) {
    let (kind, version) = binary.name.split_once('-').expect("a name and a version");
    let rows = section("What each server can do").lines();
    let row = rows
        .map(|line| {
            line.trim_matches(['|', ' '])
                .split(" | ")
                .collect::<Vec<_>>()
        })
        .find(|cells| cells[0].to_lowercase() == format!("{kind} {version}"));
    let row = row.unwrap_or_else(|| panic!("no row for {binary}"));

    let (server, _con) = side::full(binary);
    let mut con = Client::worker(binary, &server).con;
    let write = "return redis.call('SET', 'k', 'v')";
    let alone = con.say("SET k v").to_string();
    con.must("MULTI");
    con.say("SET k v");
    let in_multi = con.say("EXEC").to_string();
    let script = con.call(&["EVAL", write, "0"]).to_string();
    let as_such = con.say("WURK.RESCUE SET k v").to_string();
    let found = [
        alone == "OK",
        in_multi == "[OK]",
        script == "OK",
        as_such == "OK",
    ];
    let found = found.map(|works| if works { "yes" } else { "no" });
    assert_eq!(row[1..], found, "{alone}, {in_multi}, {script}, {as_such}");
}
