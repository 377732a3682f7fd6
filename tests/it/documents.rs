//! The documents: their links, their commands, and what they quote.

use std::collections::{BTreeSet, HashSet};
use std::process::Command;
use std::{env, fs};

use wurk_testkit::binary::{self, workspace};
use wurk_testkit::{Binary, Options};

use crate::readme::blocks;
use crate::support::interpreters::{lines, run};

/// The pages, by their paths in the repository.
fn pages() -> Vec<(String, String)> {
    let root = workspace();
    let docs = fs::read_dir(root.join("docs")).expect("the pages");
    let docs = docs.map(|entry| entry.expect("a page").file_name());
    let docs = docs.map(|name| format!("docs/{}", name.to_string_lossy()));
    let names = ["README", "SECURITY", "CONTRIBUTING", "CHANGELOG"];
    let names = names.map(|name| format!("{name}.md")).into_iter();
    let paths = names.chain(docs.filter(|path| path.ends_with(".md")));
    paths
        .map(|path| {
            let text = fs::read_to_string(root.join(&path)).expect("a page");
            (path, text)
        })
        .collect()
}

fn page(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).expect("a page")
}

/// The lines that are not in a code block.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// The targets of the links that lead to no other site.
fn links(text: &str) -> Vec<&str> {
    let parts = prose(text).flat_map(|line| line.split("](").skip(1));
    let targets = parts.filter_map(|part| part.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains("://")).collect()
}

/// The anchors of the headings, as GitHub makes them.
fn anchors(text: &str) -> HashSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    titles
        .map(|title| {
            let kept = title.chars();
            let kept = kept.filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect()
}

pub fn lead_to_each_other() {
    let readme = page("README.md");
    assert!(readme.lines().count() < 180, "README is a first look");
    let pages = pages();
    assert!(pages.len() >= 10);
    for (path, text) in &pages {
        assert!(
            path == "README.md" || links(&readme).contains(&path.as_str()),
            "README does not lead to {path}"
        );
        let folder = workspace().join(path);
        let folder = folder.parent().expect("a folder");
        for link in links(text) {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if target.is_empty() {
                workspace().join(path)
            } else {
                folder.join(target)
            };
            assert!(target.exists(), "{path}: {link}");
            if !anchor.is_empty() {
                let text = fs::read_to_string(&target).expect("a page");
                assert!(anchors(&text).contains(anchor), "{path}: {link}");
            }
        }
    }
}

/// Lines that are no call of make, and the tests that run them.
const RUN_BY: [(&str, &str); 5] = [
    (
        "{ cat client/lua/before-7.0/write.lua;",
        "readme::takes_a_job_from_a_stock_server",
    ),
    ("wurk-doctor ", "doctor::findings::reports_what_it_found"),
    (
        "cargo install --path doctor",
        "doctor::findings::reports_what_it_found",
    ),
    (
        "redis_exporter --script ",
        "doctor::alarms::name_existing_metrics",
    ),
    ("bash .ci/run", ".ci/run"),
];

/// Every line for a shell is a goal of the Makefile, or is run by another test.
pub fn name_commands_that_are_there() {
    let names = test_names();
    for (path, text) in pages() {
        for line in blocks(&text, "sh").into_iter().flat_map(str::lines) {
            let command = line.split(" #").next().expect("a command").trim();
            let goal = command.strip_prefix("sudo ").unwrap_or(command);
            if let Some(goal) = goal.strip_prefix("make ") {
                let words: Vec<_> = ["--dry-run"].into_iter().chain(goal.split(' ')).collect();
                let output = Command::new("make")
                    .current_dir(workspace())
                    .env_remove("SUDO_USER")
                    .args(words)
                    .output();
                lines(&output.expect("make"));
                continue;
            }
            let run_by = RUN_BY.iter().find(|(begin, _)| command.starts_with(begin));
            let Some((_, test)) = run_by else {
                panic!("{path}: nothing runs {command}");
            };
            assert!(
                names.contains(*test) || workspace().join(test).exists(),
                "{test}"
            );
        }
    }
}

/// The names of all tests, without the servers'.
fn test_names() -> BTreeSet<String> {
    let program = env::current_exe().expect("this program");
    let listed = lines(&run(&program.to_string_lossy(), &["--list"]));
    let names = listed.iter().filter_map(|line| line.strip_suffix(": test"));
    names
        .filter_map(|name| Some(name.split_once("::")?.1.to_owned()))
        .collect()
}

/// Each guarantee names tests that are there.
pub fn name_tests_that_are_there() {
    let names = test_names();
    let guarantees = page("docs/guarantees.md");
    let rows = guarantees.lines().filter(|line| line.starts_with("| "));
    let rows: Vec<_> = rows.skip(2).collect();
    assert!(rows.len() > 10);
    for row in rows {
        let cells: Vec<_> = row.trim_matches(['|', ' ']).split(" | ").collect();
        for test in cells[1].split(", ") {
            let test = test.trim_matches('`');
            let found = match test.strip_suffix('*') {
                Some(begin) => names.iter().any(|name| name.starts_with(begin)),
                None => names.contains(test),
            };
            assert!(found, "{row}: no test is called {test}");
        }
    }
}

/// The write that comes first before 7.0 is in `docs/clients.md` as in its file.
pub fn quote_what_is_sent() {
    let write = page("client/lua/before-7.0/write.lua");
    assert!(
        page("docs/clients.md").contains(&format!("```lua\n{write}```\n")),
        "docs/clients.md quotes another client/lua/before-7.0/write.lua"
    );
}

/// Whether a text is as `pattern` says, in which `…` is anything.
pub fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('…').map(str::trim);
    let begin = parts.next().expect("a part");
    text.strip_prefix(begin).is_some_and(|rest| {
        parts
            .try_fold(rest, |rest, part| Some(rest.split_once(part)?.1))
            .is_some()
    })
}

/// The errors that an operator meets are in `docs/troubleshooting.md`, word by word.
pub fn name_the_errors_that_come(binary: &Binary) {
    let text = page("docs/troubleshooting.md");
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let causes = rows.flat_map(|row| row.split(" | ").next());
    let known: Vec<_> = causes
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();

    let mut options = Options::new(binary);
    if binary.loads_modules() {
        options = options.module().set("enable-module-command", &["yes"]);
    }
    let server = options.start();
    let stock = Options::new(binary).start();
    let (mut con, mut stock) = (server.connect(), stock.connect());
    for con in [&mut con, &mut stock] {
        con.must("RPUSH q job");
        con.must("CONFIG SET maxmemory 1");
    }
    let module = binary::module();
    let load = ["MODULE", "LOAD", &*module.to_string_lossy()];
    let mut replies = vec![
        con.say("LMOVE q p RIGHT LEFT"),
        con.call(&["EVAL", "return redis.call('SET', KEYS[1], 1)", "1", "k"]),
    ];
    if binary.loads_modules() {
        replies.extend([
            stock.say("WURK.CLAIM ps id q p {} 1 60"),
            stock.call(&load),
            stock.say("CONFIG SET enable-module-command yes"),
            con.say("MODULE UNLOAD wurk"),
            con.say("WURK.CLAIM q id q p {} 1 60"),
            stock.say("CONFIG SET wurk.rescue-users worker"),
        ]);
        con.must("CONFIG SET wurk.growth-limit 1");
        replies.push(con.say("WURK.LOCK k 1000"));
        con.must("CONFIG SET wurk.rescue-users default");
        con.must("CONFIG SET wurk.rescue-limit 1");
        replies.push(con.say("WURK.RESCUE SET k v"));
        replies.push(con.say("WURK.RESCUE GET k"));
        con.call(&["CONFIG", "SET", "wurk.rescue-users", ""]);
        con.must("MULTI");
        let queued = con.say("WURK.CLAIM ps id q p {} 1 60");
        if queued.error().is_some() {
            replies.extend([queued, con.say("EXEC")]);
        } else {
            con.must("DISCARD");
        }
    } else {
        let script = page("client/lua/lock.lua");
        replies.push(con.call(&["EVAL", &script, "1", "k", "1000"]));
    }
    con.must("REPLICAOF 127.0.0.1 1");
    con.must("CONFIG SET maxmemory 0");
    replies.push(con.say("RPUSH q job"));
    for reply in replies {
        let error = reply.error().expect("an error");
        // Before 7.0 one inside a script is quoted in another.
        let error = error.split_once(": -OOM").map_or(
            error,
            |_| "OOM command not allowed when used memory > 'maxmemory'.",
        );
        assert!(
            known.iter().any(|known| is_like(error, known)),
            "docs/troubleshooting.md does not know {error}"
        );
    }
}
