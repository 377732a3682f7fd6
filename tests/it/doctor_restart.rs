//! Which ways of loading the module survive a `CONFIG REWRITE`, and what the
//! doctor, README and the packaged file say of it.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wurk_testkit::{Binary, Resp, binary, server::free_port};

use crate::doctor::ask;

const PACKAGED: &str = include_str!("../../packaging/wurk.conf");
const PACKAGED_LINE: &str = "loadmodule /usr/lib/redis/modules/wurk.so";

/// A server with a configuration file, or with none.
struct Configured {
    binary: Binary,
    folder: TempDir,
    arguments: Vec<String>,
    port: u16,
    child: Option<Child>,
}

impl Configured {
    /// `main` goes into its configuration, `included` into a file beside it, which
    /// `main` may include as `wurk.conf`.
    fn new(binary: &Binary, main: Option<&str>, included: &str, arguments: &[&str]) -> Self {
        let folder = TempDir::with_prefix("wurk-").expect("a folder");
        let port = free_port();
        let base = [
            ("port", port.to_string()),
            ("bind", "127.0.0.1".to_owned()),
            (
                "unixsocket",
                folder.path().join("socket").display().to_string(),
            ),
            ("dir", folder.path().display().to_string()),
        ];
        fs::write(folder.path().join("wurk.conf"), included).expect("a file");
        let mut all = Vec::new();
        if let Some(main) = main {
            let base = base
                .map(|(name, value)| format!("{name} {value}\n"))
                .concat();
            let text = format!("{base}{main}\n");
            fs::write(folder.path().join("main.conf"), text).expect("a file");
            all.push(folder.path().join("main.conf").display().to_string());
        } else {
            all.extend(
                base.map(|(name, value)| [format!("--{name}"), value])
                    .concat(),
            );
        }
        all.extend(arguments.iter().map(ToString::to_string));
        Self {
            binary: binary.clone(),
            folder,
            arguments: all,
            port,
            child: None,
        }
    }

    /// Starts it, or says that it ended at once.
    fn start(&mut self) -> Option<Resp> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))
            .expect("a log");
        let child = Command::new(&self.binary.path)
            .args(&self.arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stderr(log.try_clone().expect("a log"))
            .stdout(log)
            .spawn();
        let child = self.child.insert(child.expect("a server"));
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            if child.try_wait().expect("its state").is_some() {
                return None;
            }
            if let Ok(mut con) = Resp::unix(&self.folder.path().join("socket"))
                && con
                    .try_call(&["PING"])
                    .is_ok_and(|pong| pong.to_string() == "PONG")
            {
                return Some(con);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("no answer and no end: {}", self.log());
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
            let _ = fs::remove_file(self.folder.path().join("socket"));
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// What the doctor says of its next start, and what the command finds that it
    /// advises.
    fn diagnosis(&self) -> (String, String) {
        let output = ask(&format!("redis://127.0.0.1:{}/", self.port), &["--json"]);
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
}

impl Drop for Configured {
    fn drop(&mut self) {
        self.stop();
    }
}

fn is_loaded(con: &mut Resp) -> bool {
    con.must("MODULE LIST").to_string().contains("\"wurk\"")
}

pub fn survives_a_rewrite_in_one_way(binary: &Binary) {
    let module = binary::module().display().to_string();
    let line = format!("loadmodule {module}");
    let packaged = PACKAGED.replace(PACKAGED_LINE, &line);
    assert_ne!(packaged, PACKAGED);
    let limit = "wurk.growth-limit 10";
    let own = format!("{line} growth-limit 10");
    let both = format!("{line}\ninclude wurk.conf");
    let command_line = ["--loadmodule", &module];
    // The configuration, a file beside it, the command line, and whether the
    // server starts again.
    let ways: [(&str, &str, &[&str], bool); 6] = [
        (&own, "", &[], true),
        (&packaged, "", &[], true),
        (&both, limit, &[], true),
        ("include wurk.conf", &line, &[], false),
        ("include wurk.conf", &packaged, &[], false),
        ("", "", &command_line, false),
    ];
    for (main, included, arguments, survives) in ways {
        let what = format!("{main:?}, {included:?}, {arguments:?}");
        let mut server = Configured::new(binary, Some(main), included, arguments);
        let mut con = server
            .start()
            .unwrap_or_else(|| panic!("{what}: {}", server.log()));
        assert!(is_loaded(&mut con), "{what}");
        let (restart, line_in_file) = server.diagnosis();
        let file = server.folder.path().join("main.conf");
        assert_eq!(restart, format!("fine: {}", file.display()));
        assert_eq!(
            line_in_file.lines().count(),
            usize::from(survives),
            "{what}"
        );
        con.must("CONFIG REWRITE");
        server.stop();
        let again = server.start();
        assert_eq!(again.is_some(), survives, "{what}: {}", server.log());
        if let Some(mut con) = again {
            assert!(is_loaded(&mut con), "{what}");
            assert_eq!(
                con.must("CONFIG GET wurk.growth-limit").to_string(),
                r#"["wurk.growth-limit", "10"]"#,
                "{what}"
            );
            // And again.
            con.must("CONFIG REWRITE");
            server.stop();
            assert!(server.start().is_some(), "{what}: {}", server.log());
        }
    }

    // Loaded at run time: a rewrite puts the line where it belongs.
    let allowed = "enable-module-command yes";
    for rewritten in [false, true] {
        let mut server = Configured::new(binary, Some(allowed), "", &[]);
        let mut con = server.start().expect("a server");
        con.call(&["MODULE", "LOAD", &module]);
        assert!(is_loaded(&mut con));
        if rewritten {
            con.must("CONFIG REWRITE");
        }
        server.stop();
        assert_eq!(is_loaded(&mut server.start().expect("a server")), rewritten);
    }

    // Nothing to rewrite.
    let mut server = Configured::new(binary, None, "", &command_line);
    let mut con = server.start().expect("a server");
    assert_eq!(server.diagnosis().0, "fine: no configuration file");
    let refusal = con.say("CONFIG REWRITE");
    assert!(
        refusal
            .error()
            .is_some_and(|text| text.contains("without a config file")),
        "{refusal}"
    );
    server.stop();
    assert!(is_loaded(&mut server.start().expect("a server")));

    // What is advised is what survives.
    for text in [
        PACKAGED,
        include_str!("../../README.md"),
        include_str!("../../tools/install"),
    ] {
        assert!(text.contains("CONFIG REWRITE"), "{text}");
    }
    assert!(!PACKAGED.contains("or include this file"));
}
