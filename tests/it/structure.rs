//! The structure of the code: `src/server.rs` and `client/src/lib.rs` promise that each
//! module imports only from modules that do not import from it.

use std::fs;
use std::path::Path;

use wurk_testkit::binary::workspace;

use crate::support::imports::Crate;

/// The roots of the crates whose modules form no cycle.
const ROOTS: [&str; 3] = ["src/lib.rs", "client/src/lib.rs", "doctor/src/main.rs"];

/// The text of a module: of `root`, `folder/a.rs` or `folder/a/mod.rs`.
fn source(root: &Path, path: &[String]) -> String {
    let folder = root.parent().expect("a folder");
    let file = folder.join(path.join("/"));
    let candidates = match path {
        [] => vec![root.to_owned()],
        _ => vec![file.with_extension("rs"), file.join("mod.rs")],
    };
    let text = candidates
        .iter()
        .find_map(|file| fs::read_to_string(file).ok());
    text.unwrap_or_else(|| panic!("none of {candidates:?}"))
}

pub fn modules_import_one_way() {
    for root in ROOTS {
        let root = workspace().join(root);
        let cycle = Crate::read(&|path| source(&root, path)).cycle();
        assert_eq!(cycle, None, "{}: these import each other", root.display());
    }
}

/// What the check finds in a crate of the modules `a`, `b`, and `b::c` and `b::d`.
fn cycle_of(a: &str, b: &str, c: &str, d: &str) -> Option<Vec<String>> {
    let krate = Crate::read(&|path| {
        let text = match path.join("::").as_str() {
            "" => "mod a; mod b;",
            "a" => a,
            "b" => &format!("mod c; mod d; {b}"),
            "b::c" => c,
            "b::d" => d,
            other => panic!("{other} was never declared"),
        };
        text.to_owned()
    });
    krate.cycle()
}

pub fn the_check_finds_cycles() {
    let found = |a, b, c, d| cycle_of(a, b, c, d).map(|cycle| cycle.join(" "));
    assert_eq!(found("use crate::b::c::X;", "", "struct X;", ""), None);
    assert_eq!(
        found("use crate::b::X;", "use crate::a;", "", "").as_deref(),
        Some("a b a")
    );
    // By a path in the code, and from a module within one of the two.
    let inline = "fn f() { g(crate::b::c::h()) }";
    let within = "use super::super::a::{self, f};";
    let cycle = found(inline, "", within, "");
    assert_eq!(cycle.as_deref(), Some("a b a"));
    // Siblings, one of which is re-exported by their parent.
    let parent = "pub(crate) use c::{X, Y as Z};";
    let cycle = found("", parent, "use super::d::f;", "use super::Z;");
    assert_eq!(cycle.as_deref(), Some("b::c b::d b::c"));
    // In a macro.
    let cycle = found("", parent, "m!(super::d::f);", "fn f(x: super::X) {}");
    assert_eq!(cycle.as_deref(), Some("b::c b::d b::c"));
    // A comment, a text, tests and a visibility import nothing.
    let quiet = r#"
        //! See [`crate::a::f`].
        const TEXT: &str = "crate::a::f";
        pub(in crate::a) const X: u8 = 1;
        mod tests { use crate::a::f; }
    "#;
    assert_eq!(found("use crate::b::c::X;", "", quiet, ""), None);
}
