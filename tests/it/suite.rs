//! Groups of tests, the servers that they run on, and their names.

use libtest_mimic::Trial;
use wurk_testkit::Binary;
use wurk_testkit::libraries::{LIBRARIES, Library};

/// The name of a test, which is its path, and its function.
pub type Test<F> = (&'static str, F);

/// A test that starts a server.
type OnServer = fn(&Binary);

/// A test that starts a server, and runs a queue library on it.
pub type LibraryTest = Test<fn(&Binary, &'static Library)>;

/// The tests of a group, by the servers that they run on.
pub struct Group {
    /// On each server that can load the module.
    pub with_module: &'static [Test<OnServer>],
    /// On each server that is too old for it.
    pub before_modules: &'static [Test<OnServer>],
    /// On every server.
    pub everywhere: &'static [Test<OnServer>],
    /// On one server only: tests that take a minute, or need something of that server.
    pub on_one: &'static [(&'static str, &'static [Test<OnServer>])],
    /// On these servers, once for each queue library that is installed.
    pub with_libraries: &'static [(&'static str, &'static [LibraryTest])],
    /// Once, without a server of the matrix.
    pub without_server: &'static [Test<fn()>],
}

impl Group {
    /// A group without tests.
    pub const EMPTY: Self = Self {
        with_module: &[],
        before_modules: &[],
        everywhere: &[],
        on_one: &[],
        with_libraries: &[],
        without_server: &[],
    };

    fn on<'g>(&'g self, server: &'g Binary) -> impl Iterator<Item = Test<OnServer>> + 'g {
        let own = if server.loads_modules() {
            self.with_module
        } else {
            self.before_modules
        };
        let special = self.on_one.iter().filter(|(only, _)| *only == server.name);
        let special = special.flat_map(|(_, tests)| *tests);
        own.iter().chain(self.everywhere).chain(special).copied()
    }

    fn with_each_library<'g>(
        &'g self,
        server: &'g Binary,
    ) -> impl Iterator<
        Item = (
            &'static str,
            fn(&Binary, &'static Library),
            &'static Library,
        ),
    > + 'g {
        let here = self.with_libraries.iter();
        let tests = here.filter(|(only, _)| *only == server.name);
        let tests = tests.flat_map(|(_, tests)| *tests);
        tests.flat_map(|(path, test)| LIBRARIES.iter().map(|library| (*path, *test, library)))
    }
}

/// Lists functions as tests, each under its path.
macro_rules! tests {
    [$($test:path),* $(,)?] => {
        &[$((concat!(module_path!(), "::", stringify!($test)), $test)),*]
    };
}

/// Every test, on each of its servers.
pub fn trials(groups: &[Group], servers: &[Binary]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for group in groups {
        for server in servers {
            for (path, test) in group.on(server) {
                let name = format!("{server}::{}", within_program(path));
                let server = server.clone();
                trials.push(Trial::test(name, move || {
                    test(&server);
                    Ok(())
                }));
            }
            for (path, test, library) in group.with_each_library(server) {
                let name = format!("{server}::{}::{}", within_program(path), library.name);
                let server = server.clone();
                trials.push(Trial::test(name, move || {
                    if library.is_installed_or_optional() {
                        test(&server, library);
                    }
                    Ok(())
                }));
            }
        }
        for (path, test) in group.without_server {
            trials.push(Trial::test(within_program(path), move || {
                test();
                Ok(())
            }));
        }
    }
    trials
}

/// A path without the name of this program, which each begins with.
fn within_program(path: &str) -> &str {
    path.split_once("::").map_or(path, |(_, path)| path)
}
