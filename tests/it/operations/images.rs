//! The entrypoint of the container images.

use std::fs;
use std::process::Command;

use wurk_testkit::binary::{module, workspace};
use wurk_testkit::{Binary, Options, Server};

use crate::support::programs::{Programs, outcome};

/// Adds the entrypoint of the images, with this module, and the entrypoint of the base
/// image, which is the script `below`.
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

pub fn loads_the_module_with_any_arguments() {
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

    // Commands that start no server with data are left alone.
    starts(&["bash", "-c", "x"], "bash -c x");
    starts(&["redis-server", "--version"], "redis-server --version");
    let sentinel = ["redis-server", "s.conf", "--sentinel"];
    starts(&sentinel, "redis-server s.conf --sentinel");

    // Commands and configurations that load the module already are left alone.
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

pub fn starts_again_after_a_rewrite(binary: &Binary) {
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
