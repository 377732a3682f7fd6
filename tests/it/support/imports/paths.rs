//! The paths in the source of a module, read from its tokens, so that comments and texts
//! do not count.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Path;

/// What a module declares, imports and re-exports.
#[derive(Default)]
pub struct Module {
    /// The modules that it declares in files of their own.
    pub children: Vec<String>,
    /// Every path in it that begins in this crate.
    pub uses: Vec<Path>,
    /// What it re-exports: the name here, and the path that this stands for.
    pub exports: BTreeMap<String, Path>,
}

/// The names in `mod name;`.
fn declared(tokens: &[TokenTree]) -> Vec<String> {
    let modules = tokens.windows(3).filter_map(|three| match three {
        [
            TokenTree::Ident(word),
            TokenTree::Ident(name),
            TokenTree::Punct(end),
        ] if word == "mod" && end.as_char() == ';' => Some(name.to_string()),
        _ => None,
    });
    modules.collect()
}

impl Module {
    /// Reads the text of the module at `here`.
    pub fn read(text: &str, here: &[String]) -> Self {
        let tokens: TokenStream = text
            .parse()
            .unwrap_or_else(|error| panic!("{}: {error}", here.join("::")));
        let tokens = tokens_of(tokens);
        let mut module = Self {
            children: declared(&tokens),
            ..Self::default()
        };
        module.scan(&tokens, here);
        module
    }

    /// Collects the paths in the tokens of the module at `here`.
    fn scan(&mut self, tokens: &[TokenTree], here: &[String]) {
        let mut at = 0;
        let mut public = false;
        while at < tokens.len() {
            let rest = &tokens[at..];
            at += 1;
            match rest {
                [TokenTree::Ident(word), ..] if word == "pub" => {
                    public = true;
                    // The path in `pub(in path)` imports nothing.
                    at += usize::from(matches!(rest.get(1), Some(TokenTree::Group(_))));
                    continue;
                }
                [
                    TokenTree::Ident(word),
                    TokenTree::Ident(name),
                    TokenTree::Group(body),
                    ..,
                ] if word == "mod" => {
                    at += 2;
                    // Tests may use whatever they test with.
                    if name != "tests" {
                        let inner = [here, &[name.to_string()]].concat();
                        self.scan(&tokens_of(body.stream()), &inner);
                    }
                }
                [TokenTree::Ident(word), ..] if word == "use" => {
                    let end = rest.iter().position(|token| is(token, ';'));
                    let tree = &rest[1..end.unwrap_or(rest.len())];
                    at += tree.len();
                    for (path, name) in leaves(tree) {
                        let Some(path) = self.absolute(path, here) else {
                            continue;
                        };
                        if public {
                            self.exports.insert(name, path);
                        } else {
                            self.uses.push(path);
                        }
                    }
                }
                [TokenTree::Ident(_), colon, ..] if is(colon, ':') => {
                    let path = plain_path(rest);
                    at += 3 * (path.len() - 1);
                    if path.len() > 1 {
                        self.uses.extend(self.absolute(path, here));
                    }
                }
                [TokenTree::Group(group), ..] => self.scan(&tokens_of(group.stream()), here),
                _ => {}
            }
            public = false;
        }
    }

    /// The path from the root of the crate, unless it begins in another crate or with
    /// a name that this module imports or defines.
    fn absolute(&self, path: Path, here: &[String]) -> Option<Path> {
        let mut base = here.to_vec();
        let mut rest = path.as_slice();
        match rest.first()?.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
                return Some([&base[..], rest].concat());
            }
            child if self.children.iter().any(|name| name == child) => {
                return Some([here, rest].concat());
            }
            _ => return None,
        }
        Some([&base[..], &rest[1..]].concat())
    }
}

fn tokens_of(stream: TokenStream) -> Vec<TokenTree> {
    stream.into_iter().collect()
}

fn is(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}

/// The names of the path that the tokens begin with: `a::b::c`.
fn plain_path(tokens: &[TokenTree]) -> Path {
    let mut path = Path::new();
    let mut rest = tokens;
    while let [TokenTree::Ident(name), more @ ..] = rest {
        path.push(name.to_string());
        match more {
            [one, two, next @ ..] if is(one, ':') && is(two, ':') => rest = next,
            _ => break,
        }
    }
    path
}

/// The paths in the tree of a `use`, each with the name that it gets here.
fn leaves(tree: &[TokenTree]) -> Vec<(Path, String)> {
    let mut found = Vec::new();
    for branch in tree.split(|token| is(token, ',')) {
        let prefix = plain_path(branch);
        let last = branch.last();
        match last {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                for (path, name) in leaves(&tokens_of(group.stream())) {
                    let path = if path == ["self"] { vec![] } else { path };
                    let name = if name == "self" {
                        prefix.last().cloned().unwrap_or_default()
                    } else {
                        name
                    };
                    found.push(([&prefix[..], &path].concat(), name));
                }
            }
            Some(last) if !prefix.is_empty() => found.push((prefix, last.to_string())),
            _ => {}
        }
    }
    found
}
