//! The files that rescue a client's own commands, with the clients that queue libraries
//! bring: what they do on a full server is what the client does on one with room.

use std::fs;
use std::path::Path;
use std::process::Command;

use wurk_testkit::binary::workspace;
use wurk_testkit::libraries::Library;
use wurk_testkit::{Binary, Options, Server};

use crate::support::interpreters;

/// A library whose client is used, and the versions of the protocol that it speaks.
const CLIENTS: [(&str, &[&str]); 6] = [
    ("rq", &["2"]),             // redis-py 8; its programs use both protocols
    ("arq", &["2"]),            // redis-py 5
    ("bullmq", &["2", "3"]),    // ioredis 6
    ("bull", &["2"]),           // ioredis 5
    ("bee-queue", &["2"]),      // node_redis 3
    ("sidekiq-7", &["2", "3"]), // redis-rb 5 in the first, redis-client
];

/// Random commands agree, and the data at the end.
pub fn agrees_with_a_server_with_room(binary: &Binary) {
    run_each(binary, "differential");
}

/// What is carried and what is not; nothing is sent twice.
pub fn keeps_the_rules(binary: &Binary) {
    run_each(binary, "rules");
}

fn run_each(binary: &Binary, program: &str) {
    if let Some(ruby) = interpreters::ruby() {
        // redis-rb 4
        run(binary, "ruby", program, "2", with_ruby(Command::new(ruby)));
    }
    for (name, protocols) in CLIENTS {
        let library = Library::by_name(name).expect("a library");
        if !library.is_installed_or_optional() {
            continue;
        }
        for protocol in protocols {
            let (language, command) = of_library(&library.installation(), protocol);
            run(binary, language, program, protocol, command);
        }
    }
}

/// The language of a library that is installed there, and its interpreter, which loads
/// the file.
fn of_library(at: &Path, protocol: &str) -> (&'static str, Command) {
    let [python, ruby] = ["bin/python", "bin/ruby"].map(|program| at.join(program));
    if python.exists() {
        let mut command = Command::new(python);
        command.args(["-W", "ignore"]);
        command.env("PYTHONPATH", workspace().join("clients/python"));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        ("python", command)
    } else if ruby.exists() {
        let mut command = with_ruby(Command::new(ruby));
        if protocol == "3" {
            command.env("CLIENT", "redis-client");
        }
        ("ruby", command)
    } else {
        let mut command = Command::new("node");
        command.env("NODE_PATH", at.join("node_modules"));
        ("node", command)
    }
}

fn with_ruby(mut ruby: Command) -> Command {
    ruby.arg("-r");
    ruby.arg(workspace().join("clients/ruby/wurk_rescue.rb"));
    ruby
}

/// Runs a program of `tests/clients`, for two minutes at most.
fn run(binary: &Binary, language: &str, program: &str, protocol: &str, mut command: Command) {
    let ending = match language {
        "python" => "py",
        "node" => "js",
        _ => "rb",
    };
    let [full, roomy] = [(); 2].map(|()| Options::new(binary).port().start());
    full.connect().must("CONFIG SET maxmemory 1");
    let url = |server: &Server| format!("redis://127.0.0.1:{}/0", server.port);
    command
        .arg(format!("tests/clients/{language}/{program}.{ending}"))
        .current_dir(workspace())
        .env("FULL_URL", url(&full))
        .env("ROOMY_URL", url(&roomy))
        .env("PROTOCOL", protocol);
    if !binary.loads_modules() {
        command.env("BEFORE_7", "yes");
    }
    let mut limited = Command::new("timeout");
    limited.arg("120").arg(command.get_program());
    limited.args(command.get_args()).current_dir(workspace());
    limited.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let output = limited.output().expect("an interpreter");
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Each file contains the scripts as `tools/embed` writes them.
pub fn files_contain_the_scripts() {
    for (file, indent) in [
        ("clients/python/wurk_rescue.py", ""),
        ("clients/node/wurk-rescue.js", ""),
        ("clients/ruby/wurk_rescue.rb", "    "),
    ] {
        let text = fs::read_to_string(workspace().join(file)).expect("the file");
        let scripts = [
            wurk_client::scripts::RESCUE.text,
            wurk_client::scripts::WATCHED,
        ];
        for script in scripts {
            let lines = script.lines().map(|line| match line {
                "" => String::new(),
                line => format!("{indent}{line}"),
            });
            let embedded = lines.collect::<Vec<_>>().join("\n");
            assert!(text.contains(&embedded), "{file}: run 'tools/embed'");
        }
    }
}
