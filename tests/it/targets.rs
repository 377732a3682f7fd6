//! Targets that the module is not built for here, and the images it is put into.

use std::env;
use std::fs;
use std::process::Command;

use wurk_testkit::binary::{module, workspace};
use wurk_testkit::{Binary, Options, Server};

use crate::machine::{Programs, outcome};

/// What cargo asks of rustc for a target whose libraries are not here.
pub fn musl_is_linked_dynamically() {
    let programs = Programs::new();
    let asked = programs.path().join("asked");
    // Questions are for rustc itself; what is compiled is written down, and fails.
    let rustc = programs.script(
        "rustc",
        &format!(
            "case \"$*\" in *___*|-vV|--version) exec rustc \"$@\" ;; esac\n\
             echo \"$@\" >> '{}'\nexit 1",
            asked.display()
        ),
    );
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args([
        "build",
        "--offline",
        "--keep-going",
        "--package",
        "wurk-testkit",
    ]);
    cargo.args(["--target", "x86_64-unknown-linux-musl", "--target-dir"]);
    cargo.arg(programs.path().join("target"));
    cargo.env("RUSTC", rustc).current_dir(workspace());
    for flags in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER"] {
        cargo.env_remove(flags);
    }
    let (_, said) = outcome(&mut cargo);
    let asked = fs::read_to_string(asked).expect(&said);
    let for_musl = asked.lines().find(|line| line.contains("--target"));
    let for_musl = for_musl.expect(&asked);
    assert!(
        for_musl.contains("-C target-feature=-crt-static"),
        "{for_musl}"
    );
}

/// `build.rs`, asked about targets that are not here.
pub fn what_cannot_be_built_is_said() {
    let programs = Programs::new();
    let build = programs.path().join("build");
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()));
    rustc
        .args(["--edition", "2024", "build.rs", "-o"])
        .arg(&build);
    let (built, said) = outcome(rustc.current_dir(workspace()));
    assert!(built, "{said}");
    let error = |width: &str, libc: &str, features: &str| {
        let mut build = Command::new(&build);
        build.env("CARGO_CFG_TARGET_POINTER_WIDTH", width);
        build.env("CARGO_CFG_TARGET_ENV", libc);
        let (_, said) = outcome(build.env("CARGO_CFG_TARGET_FEATURE", features));
        said.lines()
            .find_map(|line| line.strip_prefix("cargo::error=").map(str::to_owned))
    };
    assert_eq!(error("64", "gnu", "fxsr,sse"), None);
    assert_eq!(error("64", "musl", "fxsr,sse"), None);
    let bits = error("32", "gnu", "fxsr,sse").expect("an error");
    assert!(bits.contains("64-bit"), "{bits}");
    let musl = error("64", "musl", "crt-static,fxsr").expect("an error");
    assert!(musl.contains("RUSTFLAGS"), "{musl}");
}

/// The entrypoint of the images, with this module, above another that only says
/// what it was asked to start.
fn entrypoint(programs: &Programs, below: &str) -> std::path::PathBuf {
    let text = fs::read_to_string(workspace().join("packaging/docker-entrypoint"));
    let text = text.expect("an entrypoint");
    let ours = text.replace(
        "module=/usr/lib/redis/modules/wurk.so",
        &format!("module='{}'", module().display()),
    );
    assert_ne!(text, ours);
    programs.script("docker-entrypoint.sh", below);
    programs.script("wurk-entrypoint", &ours)
}

pub fn an_image_loads_it_whatever_is_asked() {
    let programs = Programs::new();
    let entrypoint = entrypoint(&programs, "echo \"$@\"");
    programs.script("redis-server", "");
    let module = format!("--loadmodule {}", module().display());
    let starts = |arguments: &[&str], started: &str| {
        let mut entrypoint = Command::new(&entrypoint);
        entrypoint.args(arguments).env("PATH", programs.first());
        let (well, said) = outcome(entrypoint.current_dir(programs.path()));
        assert!(well, "{said}");
        assert_eq!(said.trim_end(), started.replace("MODULE", &module));
    };
    starts(&[], "redis-server MODULE");
    starts(
        &["--maxmemory", "1gb"],
        "redis-server --maxmemory 1gb MODULE",
    );
    starts(
        &["redis-server", "--save", ""],
        "redis-server --save  MODULE",
    );
    starts(&["/x/valkey-server"], "/x/valkey-server MODULE");
    starts(&["a.conf"], "redis-server a.conf MODULE");

    // What is no server that holds data.
    starts(&["bash", "-c", "x"], "bash -c x");
    starts(&["redis-server", "--version"], "redis-server --version");
    let sentinel = ["redis-server", "s.conf", "--sentinel"];
    starts(&sentinel, "redis-server s.conf --sentinel");

    // What names it already.
    let named = ["redis-server", "--loadmodule", "/my/wurk.so"];
    starts(&named, "redis-server --loadmodule /my/wurk.so");
    let write = |name: &str, text: &str| fs::write(programs.path().join(name), text).expect(name);
    write(
        "a.conf",
        "# loadmodule /x/wurk.so\nport 0\ninclude b.conf\n",
    );
    write("b.conf", "loadmodule /x/other.so\n");
    starts(&["a.conf"], "redis-server a.conf MODULE");
    write("b.conf", "include \"c*.conf\"\n");
    write("c1.conf", "LOADMODULE \"/x/libwurk.so\" growth-limit 10\n");
    starts(&["a.conf"], "redis-server a.conf");
}

pub fn an_image_starts_again_after_a_rewrite(binary: &Binary) {
    let programs = Programs::new();
    let entrypoint = entrypoint(
        &programs,
        &format!("shift\nexec '{}' \"$@\"", binary.path.display()),
    );
    let config = programs.path().join("redis.conf");
    fs::write(&config, "maxmemory 64mb\n").expect("a configuration");
    let started = programs.script(
        "started",
        &format!(
            "[ \"$1\" != --version ] || exec '{}' --version\n\
             PATH='{}' exec '{}' '{}' \"$@\"",
            binary.path.display(),
            programs.first(),
            entrypoint.display(),
            config.display(),
        ),
    );
    let options = Options::new(&Binary::at(&started).expect("a server"));
    let loaded = |server: &Server| {
        let modules = server.connect().say("MODULE LIST").to_string();
        assert_eq!(modules.matches("\"wurk\"").count(), 1, "{modules}");
    };
    let server = options.start();
    loaded(&server);
    server.connect().must("CONFIG REWRITE");
    let text = fs::read_to_string(&config).expect("a configuration");
    assert!(text.contains("loadmodule"), "{text}");
    loaded(&options.start_over(server.stop()));
}
