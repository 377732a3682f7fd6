//! Rejects targets that the module cannot be built for, before its dependencies fail
//! in many lines, or cargo succeeds without having built it.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    // The types of redis-module are those of a 64-bit server.
    if target("POINTER_WIDTH") != "64" {
        println!("cargo::error=wurk is for 64-bit servers only");
    }
    if target("ENV") == "musl" && target("FEATURE").split(',').any(|it| it == "crt-static") {
        println!(
            "cargo::error=a module needs musl to be linked dynamically: \
             add '-C target-feature=-crt-static' to RUSTFLAGS, which replaces .cargo/config.toml"
        );
    }
}
