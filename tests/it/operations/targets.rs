//! Targets that this machine cannot build for.

use std::process::Command;
use std::{env, fs};

use wurk_testkit::binary::workspace;

use crate::support::programs::{Programs, outcome};

/// cargo passes the right flags to rustc for a target whose libraries are missing.
pub fn musl_is_linked_dynamically() {
    let programs = Programs::new();
    let asked = programs.path().join("asked");
    // Queries go to rustc itself; a compilation is recorded, and fails.
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

/// `build.rs` refuses targets that the module does not support.
pub fn unsupported_targets_are_reported() {
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
