//! Under `bundle exec`, which it may be loaded before, Ruby's file patches the client
//! that the Gemfile names, not the newest that is installed.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tempfile::TempDir;

use wurk_testkit::binary::workspace;
use wurk_testkit::libraries::Library;

use crate::support::interpreters;

pub fn bundled_clients_are_patched() {
    const BUNDLE: &str = "require 'bundler/friendly_errors'; require 'bundler/cli'; \
        Bundler::CLI.start(ARGV, debug: true)";
    const PROGRAM: &str = "#!/usr/bin/env ruby\nrequire 'redis'\n\
        print Redis::VERSION.to_i, Redis::Client.include?(WurkRescue::Client)";
    let library = Library::by_name("sidekiq-7").expect("a library");
    let Some(ruby) = interpreters::ruby().filter(|_| library.is_installed_or_optional()) else {
        return;
    };
    let newest = library.installation();
    let newest = newest.join("root/usr/share/rubygems-integration/all");
    let path = Command::new(ruby)
        .args(["-e", "print Gem.path.join(':')"])
        .output()
        .expect("the path of gems")
        .stdout;
    let path = [&path, b":".as_slice(), newest.as_os_str().as_bytes()].concat();
    let path = OsString::from_vec(path);
    let folder = TempDir::new().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("Gemfile", "gem 'redis', '< 5'\n");
    write("bundle", &format!("require 'bundler'; {BUNDLE}"));
    write("program", PROGRAM);
    let program = folder.path().join("program");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("an executable");

    let file = workspace().join("clients/ruby/wurk_rescue.rb");
    let before_bundler = ["exec", "./program"];
    let in_its_child = ["exec", "ruby", "./program"];
    for words in [&before_bundler[..], &in_its_child] {
        let mut command = Command::new(ruby);
        command.arg("bundle").args(words).current_dir(&folder);
        command.env("GEM_PATH", &path).env("HOME", folder.path());
        command.env("RUBYOPT", format!("-r{}", file.display()));
        let output = command.output().expect("an interpreter");
        assert_eq!(output.stdout, b"4true", "{words:?}: {output:?}");
    }
}
