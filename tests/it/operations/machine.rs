//! Other machines: servers with other names and in other places, and missing tools.
//! The scripts in `tools/` run beside programs that only record how they are called.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use wurk_testkit::binary::{SERVERS, workspace};
use wurk_testkit::{Binary, Options};

use crate::support::programs::{Programs, outcome};

/// Debian's `redis-server` is a link to `redis-check-rdb`: one program, which decides by
/// the name that it is started by.
pub fn a_server_is_started_by_its_own_path(binary: &Binary) {
    let programs = Programs::new();
    let server = format!("exec '{}' \"$@\"", binary.path.display());
    programs.script(
        "redis-check-rdb",
        &format!(
            "case $0 in */redis-server) {server} ;; esac\necho \"Usage: $0 <rdb-file-name>\"\nexit 1"
        ),
    );
    let link = programs.path().join("redis-server");
    symlink("redis-check-rdb", &link).expect("a link");
    let found = Binary::at(&link).expect("a server");
    assert_eq!(found.path, link);
    let server = Options::new(&found).start();
    assert_eq!(server.connect().say("PING").to_string(), "PONG");
}

/// The servers that this program finds, which it prints at its start.
fn found(path: &str, servers: &Path) -> (bool, String) {
    let mut tests = Command::new(std::env::current_exe().expect("the path of this program"));
    tests.env("PATH", path).env(SERVERS, servers);
    tests.env_remove("WURK_REQUIRE_SERVERS");
    let (well, said) = outcome(tests.arg("--list"));
    let line = said.lines().find(|line| line.starts_with("servers: "));
    (well, line.unwrap_or_default().to_owned())
}

pub fn a_server_is_found_in_path() {
    let (programs, none) = (Programs::new(), Programs::new());
    let path = programs.path().display().to_string();
    assert!(!found(&path, none.path()).0);

    programs.server("redis-server", "6.0.16");
    let old = found(&path, none.path());
    assert_eq!(old, (true, "servers: redis-6.0".into()));
    programs.server("redict-server", "7.3.5");
    let newer = found(&path, none.path());
    assert_eq!(newer, (true, "servers: redis-7.3".into()));

    // `make servers` may have fetched a server that loads no modules.
    none.server("redis-6.2/server", "6.2.14");
    let both = found(&path, none.path());
    assert_eq!(both, (true, "servers: redis-6.2, redis-7.3".into()));
    none.server("redis-7.0/server", "7.0.15");
    let fetched = found(&path, none.path());
    assert_eq!(fetched, (true, "servers: redis-6.2, redis-7.0".into()));
}

/// Runs `tools/need` on a machine that has only these programs and cannot install any.
fn need(programs: &Programs, things: &[&str]) -> (bool, String) {
    for tool in ["bash", "dirname", "sed", "grep", "head", "sort"] {
        let link = programs.path().join(tool);
        if !link.exists() {
            let here = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
            let here = here.iter().find(|path| path.exists()).expect("a tool");
            symlink(here, link).expect("a link");
        }
    }
    programs.script("id", "echo 1000");
    programs.script("sudo", "exit 1");
    programs.script("apt-get", "exit 1");
    let mut need = Command::new("bash");
    need.arg(workspace().join("tools/need")).args(things);
    need.env("PATH", programs.path());
    outcome(need.env_remove("CARGO").env_remove("RUSTC"))
}

pub fn all_that_is_missing_is_listed_at_once() {
    let programs = Programs::new();
    let (well, said) = need(&programs, &["rust", "compiler", "valgrind", "clippy"]);
    assert!(!well);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[0].starts_with("missing: Rust 1."), "{said}");
    assert!(lines[0].contains("here is no cargo"), "{said}");
    assert!(lines[1].contains("clippy"), "{said}");
    assert!(
        lines[2].ends_with(": sudo apt-get install gcc libc6-dev valgrind"),
        "{said}"
    );
}

pub fn an_old_rust_is_reported() {
    let needed = env!("CARGO_PKG_RUST_VERSION");
    let programs = Programs::new();
    let version = |version: &str| {
        programs.script("cargo", &format!("echo 'cargo {version} (0 2025-01-01)'"));
        programs.script("rustc", &format!("echo 'rustc {version} (0 2025-01-01)'"));
        need(&programs, &["rust"])
    };
    let (well, said) = version("1.85.0");
    assert!(!well);
    let wanted = format!(
        "missing: Rust {needed} or later (here is cargo 1.85.0 (0 2025-01-01)): install it with https://rustup.rs\n"
    );
    assert_eq!(said, wanted);
    assert_eq!(version(&format!("{needed}.0")), (true, String::new()));
    assert_eq!(version("1.100.0"), (true, String::new()));
    programs.script("rustup", "exit 0");
    assert!(version("1.85.0").1.contains("rustup update stable"));
}

/// The module is installed from where `cargo build` reports to have put it.
pub fn what_cargo_built_is_installed() {
    let programs = Programs::new();
    let (build, install) = (programs.copy("tools/build"), programs.copy("tools/install"));
    let elsewhere = programs.path().join("else where/libwurk.so");
    let artifact = |files: &str| {
        let line = format!(
            r#"{{"reason":"compiler-artifact","target":{{"name":"wurk"}},"filenames":[{files}],"executable":null}}"#
        );
        programs.script("cargo", &format!("echo '{line}'"))
    };
    let built = || {
        let mut build = Command::new(&build);
        outcome(build.env("CARGO", programs.path().join("cargo")))
    };
    let installed = |prefix: &str| {
        let mut install = Command::new(&install);
        install.env("DESTDIR", programs.path().join("dest"));
        outcome(install.env("PREFIX", prefix))
    };

    // cargo reports no module, as for a static musl.
    artifact("\"/nowhere/libwurk.rlib\"");
    assert!(!built().0);
    let (well, said) = installed("/usr");
    assert!(!well && said.contains("make build"), "{said}");
    fs::create_dir_all(programs.path().join("target/release")).expect("a folder");
    fs::write(programs.path().join("target/release/libwurk.so"), "").expect("an empty file");
    assert!(!installed("/usr").0);

    fs::create_dir_all(elsewhere.parent().expect("a folder")).expect("a folder");
    fs::write(&elsewhere, "the module").expect("a module");
    artifact(&format!(
        "\"/nowhere/libwurk.rlib\",\"{}\"",
        elsewhere.display()
    ));
    assert_eq!(built(), (true, String::new()));
    let (well, said) = installed("/usr");
    assert!(well && !said.contains("note"), "{said}");
    assert!(
        said.contains("loadmodule /usr/lib/redis/modules/wurk.so\n"),
        "{said}"
    );
    let there = |path: &str| fs::read_to_string(programs.path().join("dest").join(path));
    let module = there("usr/lib/redis/modules/wurk.so").expect("a module");
    assert_eq!(module, "the module");

    // In a folder from which Debian's service may not execute.
    let (well, said) = installed("/usr/local");
    assert!(well && said.contains("failed to map segment"), "{said}");
    assert!(
        said.contains("ExecPaths=/usr/local/lib/redis/modules\n"),
        "{said}"
    );
    assert!(there("usr/local/lib/redis/modules/wurk.so").is_ok());
}
