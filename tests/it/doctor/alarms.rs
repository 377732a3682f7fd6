//! The alarms of `packaging/prometheus-rules.yml` name what every server has.

use std::collections::{BTreeSet, HashMap};

use wurk_testkit::{Binary, Options, Resp};

const RULES: &str = include_str!("../../../packaging/prometheus-rules.yml");
const SCRIPT: &str = include_str!("../../../packaging/redis_exporter.lua");

/// The metrics that redis_exporter makes of fields of `INFO` (`exporter/exporter.go`, read
/// in 1.45.0 and 1.88.0; the first was also run on every server of the matrix).
const METRICS: [(&str, &str); 9] = [
    ("redis_aof_enabled", "aof_enabled"),
    ("redis_aof_last_write_status", "aof_last_write_status"),
    ("redis_errors_total", "errorstat_"),
    ("redis_evicted_keys_total", "evicted_keys"),
    (
        "redis_mem_not_counted_for_eviction_bytes",
        "mem_not_counted_for_evict",
    ),
    ("redis_memory_max_bytes", "maxmemory"),
    ("redis_memory_used_bytes", "used_memory"),
    ("redis_rdb_last_bgsave_status", "rdb_last_bgsave_status"),
    ("redis_unexpected_error_replies", "unexpected_error_replies"),
];

/// The metric that `--script` makes of the pairs of the script.
const BY_SCRIPT: &str = "redis_script_values";

/// The words in the rules that begin with `redis_`.
fn metrics() -> BTreeSet<&'static str> {
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let words = RULES
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let words = words.flat_map(|line| line.split(word));
    words.filter(|word| word.starts_with("redis_")).collect()
}

/// The values of a label in the rules.
fn labels(name: &str) -> BTreeSet<&'static str> {
    let begin = format!("{{{name}");
    let after = RULES.split(&begin).skip(1);
    let quoted = after.filter_map(|text| text.split('"').nth(1));
    quoted.flat_map(|text| text.split('|')).collect()
}

fn info(con: &mut Resp) -> HashMap<String, String> {
    let info = con.must("INFO all");
    let info = String::from_utf8_lossy(info.bytes().expect("text")).into_owned();
    let lines = info.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Calls the script as redis_exporter does, and returns its pairs.
fn by_script(con: &mut Resp) -> HashMap<String, String> {
    let reply = con.call(&["EVAL", SCRIPT, "0", "0"]);
    let texts: Vec<_> = reply
        .items()
        .iter()
        .map(|item| String::from_utf8_lossy(item.bytes().expect("text")).into_owned())
        .collect();
    texts
        .chunks(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect()
}

pub fn name_existing_metrics(binary: &Binary) {
    let known = METRICS.iter().map(|(metric, _)| *metric);
    assert_eq!(metrics(), known.chain([BY_SCRIPT]).collect());

    let server = Options::new(binary).module_if_supported().start();
    let mut con = server.connect();
    con.must("CONFIG SET min-replicas-to-write 1");
    con.say("SET a b");
    con.must("CONFIG SET min-replicas-to-write 0");
    con.must("RPUSH q a");
    con.must("CONFIG SET maxmemory 1");
    con.say("SET a b");
    let fields = info(&mut con);
    for (metric, field) in METRICS {
        let names = match metric {
            "redis_errors_total" => labels("err=~")
                .iter()
                .map(|err| format!("{field}{err}"))
                .collect(),
            _ => vec![field.to_owned()],
        };
        assert!(!names.is_empty(), "{metric}");
        for name in names {
            let value = fields
                .get(&name)
                .unwrap_or_else(|| panic!("{metric}: no {name}"));
            // The exporter can read a number, the result of a save, or a count.
            let read = value.strip_prefix("count=").unwrap_or(value);
            assert!(
                read.parse::<f64>().is_ok() || read == "ok",
                "{name}: {value}"
            );
        }
    }

    // The counters of the module on a full server.
    let wanted = labels("key=");
    assert_eq!(wanted.len(), 3);
    if binary.loads_modules() {
        con.must("WURK.CLAIM ps id q p i 1 60");
        let values = by_script(&mut con);
        for field in info(&mut con)
            .keys()
            .filter(|field| field.starts_with("wurk_"))
        {
            assert!(values[field].parse::<u64>().is_ok(), "{field}");
        }
        for field in wanted {
            assert!(values.contains_key(field), "{field}");
        }
        assert_eq!(values["wurk_calls_at_maxmemory"], "1");
    } else {
        assert!(by_script(&mut con).is_empty());
    }
}
