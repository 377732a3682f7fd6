//! The servers on this machine, and the modules to load into them.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The matrix that `make servers` fetches.
pub const MATRIX: [&str; 6] = [
    "redis-6.2",
    "redis-7.0",
    "redis-8.2",
    "valkey-8.0",
    "valkey-9.1",
    "redict-7.3",
];

/// The variable with the servers that must be there, separated by commas, or `all`.
pub const REQUIRED: &str = "WURK_REQUIRE_SERVERS";

/// The variable with the folder of the servers in place of `target/servers`.
pub const SERVERS: &str = "WURK_SERVERS";

/// The variable with the module to load in place of the one that was built.
pub const MODULE: &str = "WURK_MODULE";

/// A server program.
#[derive(Clone, Debug)]
pub struct Binary {
    /// Its name, e.g. `valkey-9.1`.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Its version: major, minor, patch.
    pub version: (u32, u32, u32),
}

impl Binary {
    /// Returns the program at `path`, if it is a server. A name without a folder is
    /// also looked up in `PATH`, as a shell does.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        // Links are kept: Debian's `redis-server` links to `redis-check-rdb`, and the
        // program decides by its own name which of the two it is.
        let path = match in_path(path) {
            Some(found) if !path.exists() => found,
            _ => path.to_owned(),
        };
        let path = std::path::absolute(path).ok()?;
        let said = Command::new(&path).arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let kind = said.split_whitespace().next()?.to_lowercase();
        let version = said.split(" v=").nth(1)?.split_whitespace().next()?;
        let mut parts = version.split('.').map(|part| part.parse().ok());
        let version = (parts.next()??, parts.next()??, parts.next()??);
        Some(Self {
            name: format!("{kind}-{}.{}", version.0, version.1),
            path,
            version,
        })
    }

    /// Returns each server of the matrix that is there, and the one in `PATH` if none
    /// of them loads modules.
    ///
    /// # Panics
    /// If a server is missing that [`REQUIRED`] lists.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let folder = workspace().join(env::var_os(SERVERS).unwrap_or("target/servers".into()));
        let mut found: Vec<_> = MATRIX
            .iter()
            .filter_map(|name| Self::at(&folder.join(name).join("server")))
            .collect();
        if !found.iter().any(Self::loads_modules) {
            let mut more: Vec<_> = ["redis-server", "valkey-server", "redict-server"]
                .iter()
                .filter_map(|name| Self::at(&in_path(Path::new(name))?))
                .collect();
            // Takes one: the first that loads modules, or else the first.
            more.sort_by_key(|binary| !binary.loads_modules());
            more.retain(|binary| found.is_empty() || binary.loads_modules());
            found.extend(more.into_iter().take(1));
        }
        let required = env::var(REQUIRED).unwrap_or_default();
        let required = match required.as_str() {
            "all" => MATRIX.join(","),
            _ => required,
        };
        for name in required.split(',').filter(|name| !name.is_empty()) {
            assert!(
                found.iter().any(|binary| binary.name == name),
                "{REQUIRED} wants {name}, which is not in {}: run 'make servers'",
                folder.display()
            );
        }
        found
    }

    /// Whether it can load the module, which needs the API of 7.0.
    #[must_use]
    pub fn loads_modules(&self) -> bool {
        self.version >= (7, 0, 0)
    }

    /// Whether it is Redis itself, not one of its forks.
    #[must_use]
    pub fn is_redis(&self) -> bool {
        self.name.starts_with("redis-")
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Returns the module: the one that [`MODULE`] names, or the one that cargo built
/// beside this program.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn module() -> PathBuf {
    if let Some(path) = env::var_os(MODULE) {
        let path = workspace().join(path);
        assert!(
            path.exists(),
            "{MODULE} names {}, which is not there",
            path.display()
        );
        return path;
    }
    built(&["libwurk.so", "deps/libwurk.so"])
        .unwrap_or_else(|| panic!("no libwurk.so beside this program: run 'cargo build'"))
}

/// Returns another module, which cargo built as an example of `package`.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn example_module(package: &str, name: &str) -> PathBuf {
    built(&[&format!("examples/lib{name}.so")]).unwrap_or_else(|| {
        panic!("no {name}: run 'cargo build --package {package} --example {name}'")
    })
}

/// Finds the first of these that cargo built beside this program, which is in cargo's
/// folder or, if it is a test, in a folder there.
fn built(files: &[&str]) -> Option<PathBuf> {
    let program = env::current_exe().expect("the path of this program");
    let folders = program.ancestors().skip(1).take(2);
    folders
        .flat_map(|folder| files.iter().map(|file| folder.join(file)))
        .find(|path| path.exists())
}

/// The root of the workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("the workspace is above this package")
        .to_owned()
}

/// Finds the program that a shell would start by this name.
fn in_path(name: &Path) -> Option<PathBuf> {
    if name.components().count() != 1 {
        return None;
    }
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}
