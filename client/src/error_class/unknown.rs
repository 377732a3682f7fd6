//! Reads that a server does not know a command, in the words of servers and of
//! the proxies before them. `docs/clients.md` lists who says what.

/// Whether `line`, an error without the code `ERR`, says that `command` itself is
/// unknown. Reads no further than the command's name: what follows it are the
/// caller's own bytes.
pub(super) fn names_unknown(line: &str, command: &str) -> bool {
    if command.is_empty() {
        return false;
    }
    // Garnet names none: then it is the one that was sent.
    if line.trim_end() == "unknown command" {
        return true;
    }
    let starts = [
        "unknown command ",
        "unsupported command ",
        "unknown or unsupported command ",
    ];
    if let Some(rest) = starts.iter().find_map(|start| strip(line, start)) {
        return after_name(rest, command).is_some();
    }
    // The whole error: with more behind it, it is a right that a user lacks.
    strip(line, "command ")
        .and_then(|rest| after_name(rest, command))
        .is_some_and(|rest| rest.trim_end() == " not support")
}

/// Whether `line` says that a service lets this user run no `command`, as those
/// of Alibaba Cloud do: `command eval not support for normal user`.
pub(super) fn names_unsupported(line: &str, command: &str) -> bool {
    strip(line, "command ")
        .and_then(|rest| after_name(rest, command))
        .is_some_and(|rest| rest.starts_with(" not support"))
}

/// What follows `prefix`, in upper or lower case.
fn strip<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// What follows `command` and the quotes around it, if there are any; nothing
/// where another name stands there.
fn after_name<'t>(text: &'t str, command: &str) -> Option<&'t str> {
    let quote = text.chars().next().filter(|c| "'`\"".contains(*c));
    let name = &text[quote.map_or(0, char::len_utf8)..];
    let rest = strip(name, command)?;
    match quote {
        Some(quote) => rest.strip_prefix(quote),
        None => (rest.is_empty() || rest.starts_with([' ', ','])).then_some(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::{names_unknown, names_unsupported};

    #[test]
    fn every_wording_names_the_command() {
        for line in [
            "unknown command 'WURK.CLAIM', with args beginning with: 'ps' 'id' ",
            "unknown command `wurk.claim`, with args beginning with: `ps`, ",
            "unknown command \"wurk.claim\"",
            "unknown command WURK.CLAIM, with args beginning with: ps",
            "unknown command WURK.CLAIM",
            "Unknown command 'WURK.CLAIM'",
            "unknown command",
            "unsupported command 'wurk.claim'",
            "unknown or unsupported command 'wurk.claim'",
            "command 'wurk.claim' not support",
        ] {
            assert!(names_unknown(line, "WURK.CLAIM"), "{line}");
        }
    }

    #[test]
    fn another_name_is_none() {
        for line in [
            "unknown command 'WURK.CLAIMS', with args beginning with: ",
            "unknown command 'WURK.CLAIM",
            "unknown command 'WURK.CLAIM`",
            "unknown command WURK.CLAIMS",
            "unknown command WURK.CLAIM.X",
            "unknown command 'LMOVE', with args beginning with: 'WURK.CLAIM' ",
            "unknown command ''",
            "unknown command called from script",
            "unknown commands 'WURK.CLAIM'",
            "unknown subcommand 'WURK.CLAIM'. Try COMMAND HELP.",
            "an unknown command 'WURK.CLAIM'",
            "unsupported command 'LMOVE' WURK.CLAIM",
            // Known, and forbidden.
            "command 'WURK.CLAIM' is not allowed",
            "command 'WURK.CLAIM' not support for normal user",
            "command WURK.CLAIM not support for your account",
            "command 'LMOVE' not support",
            "command not support",
            "é",
        ] {
            assert!(!names_unknown(line, "WURK.CLAIM"), "{line}");
        }
        assert!(!names_unknown("unknown command ''", ""));
    }

    #[test]
    fn a_service_without_scripts_names_them() {
        for line in [
            "command eval not support for normal user",
            "command 'EVAL' not support for your account",
        ] {
            assert!(names_unsupported(line, "EVAL"), "{line}");
        }
        for line in [
            "command 'LMOVE' not support for normal user",
            "command 'evalsha' not support for normal user",
        ] {
            assert!(!names_unsupported(line, "EVAL"), "{line}");
        }
    }
}
