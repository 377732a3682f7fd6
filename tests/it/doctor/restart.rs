//! Which ways of loading the module survive a `CONFIG REWRITE`, and what the
//! doctor, README and the packaged file say of it.

use std::fs;
use std::process::Command;

use tempfile::TempDir;
use wurk_testkit::{Binary, Options, Resp, Server, binary};

use crate::doctor::findings::ask;

const PACKAGED: &str = include_str!("../../../packaging/wurk.conf");
const PACKAGED_LINE: &str = "loadmodule /usr/lib/redis/modules/wurk.so";

/// A folder with the configuration file `main.conf`, and with `wurk.conf`, which it
/// may include.
fn folder(main: &str, included: &str) -> TempDir {
    let folder = TempDir::with_prefix("wurk-").expect("a folder");
    for (name, text) in [("main.conf", main), ("wurk.conf", included)] {
        fs::write(folder.path().join(name), format!("{text}\n")).expect("a file");
    }
    folder
}

/// What the doctor reports of the next start, and what the command prints that it
/// advises to run.
fn diagnosis(server: &Server) -> (String, String) {
    let output = ask(&format!("redis://127.0.0.1:{}/", server.port), &["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = json["findings"].as_array().expect("findings");
    let finding = findings
        .iter()
        .find(|finding| finding["topic"] == "restart");
    let finding = finding.expect("a finding");
    let text = |name| finding[name].as_str().expect("a text").to_owned();
    let command = text("do");
    let found = if command.starts_with("grep ") {
        let output = Command::new("sh").args(["-c", &command]).output();
        String::from_utf8_lossy(&output.expect("a shell").stdout).into_owned()
    } else {
        command
    };
    (format!("{}: {}", text("level"), text("found")), found)
}

fn is_loaded(con: &mut Resp) -> bool {
    con.must("MODULE LIST").to_string().contains("\"wurk\"")
}

pub fn says_what_survives_a_rewrite(binary: &Binary) {
    let module = binary::module().display().to_string();
    let line = format!("loadmodule {module}");
    let packaged = PACKAGED.replace(PACKAGED_LINE, &line);
    assert_ne!(packaged, PACKAGED);
    let limit = "wurk.growth-limit 10";
    let own = format!("{line} growth-limit 10");
    let both = format!("{line}\ninclude wurk.conf");
    // The configuration file, the file that it may include, whether the command line
    // loads the module, and whether the server starts again.
    let ways: [(&str, &str, bool, bool); 6] = [
        (&own, "", false, true),
        (&packaged, "", false, true),
        (&both, limit, false, true),
        ("include wurk.conf", &line, false, false),
        ("include wurk.conf", &packaged, false, false),
        ("", "", true, false),
    ];
    for (main, included, on_command_line, survives) in ways {
        let what = format!("{main:?}, {included:?}, on the command line: {on_command_line}");
        let mut options = Options::new(binary).port().config("main.conf");
        if on_command_line {
            options = options.module();
        }
        let server = options.try_start(folder(main, included));
        let server = server.unwrap_or_else(|log| panic!("{what}: {log}"));
        let mut con = server.connect();
        assert!(is_loaded(&mut con), "{what}");
        let (restart, line_in_file) = diagnosis(&server);
        let file = server.folder().join("main.conf");
        assert_eq!(restart, format!("fine: {}", file.display()));
        assert_eq!(
            line_in_file.lines().count(),
            usize::from(survives),
            "{what}"
        );
        con.must("CONFIG REWRITE");
        let again = options.try_start(server.stop().into_folder());
        assert_eq!(
            again.is_ok(),
            survives,
            "{what}: {}",
            again.err().unwrap_or_default()
        );
        if let Ok(server) = again {
            let mut con = server.connect();
            assert!(is_loaded(&mut con), "{what}");
            assert_eq!(
                con.must("CONFIG GET wurk.growth-limit").to_string(),
                r#"["wurk.growth-limit", "10"]"#,
                "{what}"
            );
            // And again.
            con.must("CONFIG REWRITE");
            drop(options.start_over(server.stop()));
        }
    }

    // If the module is loaded at run time, a rewrite puts the line where it belongs.
    for rewritten in [false, true] {
        let options = Options::new(binary).port().config("main.conf");
        let server = options.try_start(folder("enable-module-command yes", ""));
        let server = server.expect("a server");
        let mut con = server.connect();
        con.call(&["MODULE", "LOAD", &module]);
        assert!(is_loaded(&mut con));
        if rewritten {
            con.must("CONFIG REWRITE");
        }
        let again = options.start_over(server.stop());
        assert_eq!(is_loaded(&mut again.connect()), rewritten);
    }

    // Without a configuration file there is nothing to rewrite.
    let options = Options::new(binary).port().module();
    let server = options.start();
    let mut con = server.connect();
    assert_eq!(diagnosis(&server).0, "fine: no configuration file");
    let refusal = con.say("CONFIG REWRITE");
    assert!(
        refusal
            .error()
            .is_some_and(|text| text.contains("without a config file")),
        "{refusal}"
    );
    let again = options.start_over(server.stop());
    assert!(is_loaded(&mut again.connect()));

    // What the documents advise is what survives.
    for text in [
        PACKAGED,
        include_str!("../../../README.md"),
        include_str!("../../../tools/install"),
    ] {
        assert!(text.contains("CONFIG REWRITE"), "{text}");
    }
    assert!(!PACKAGED.contains("or include this file"));
}
