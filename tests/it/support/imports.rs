//! Which modules of a crate import which, read from its source.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The path of a module or an item from the root of its crate, which is empty.
pub type Path = Vec<String>;

/// The modules of a crate.
#[derive(Default)]
pub struct Crate {
    modules: BTreeMap<Path, Module>,
}

#[derive(Default)]
struct Module {
    /// The modules that it declares in files of their own.
    children: Vec<String>,
    /// Every path in it that begins in this crate.
    uses: Vec<Path>,
    /// What it re-exports: the name here, and the path that this stands for.
    exports: BTreeMap<String, Path>,
}

impl Crate {
    /// Reads a crate from its root. `source` returns the text of a module.
    pub fn read(source: &dyn Fn(&[String]) -> String) -> Self {
        let mut krate = Self::default();
        let mut unread = vec![Path::new()];
        while let Some(path) = unread.pop() {
            let text = source(&path);
            let tokens: TokenStream = text.parse().unwrap_or_else(|error| {
                panic!("{}: {error}", path.join("::"));
            });
            let tokens: Vec<_> = tokens.into_iter().collect();
            let mut module = Module {
                children: declared(&tokens),
                ..Module::default()
            };
            module.scan(&tokens, &path);
            let children = module.children.iter();
            unread.extend(children.map(|child| [&path[..], &[child.clone()]].concat()));
            krate.modules.insert(path, module);
        }
        krate
    }

    /// A cycle among the children of one module, by their paths, if there is one.
    pub fn cycle(&self) -> Option<Vec<String>> {
        self.modules.keys().find_map(|parent| {
            let edges = self.edges_among_children(parent);
            let mut done = BTreeSet::new();
            edges.keys().find_map(|start| {
                let cycle = find_cycle(start, &edges, &mut Vec::new(), &mut done)?;
                let within = |name: &String| [&parent[..], &[name.clone()]].concat().join("::");
                Some(cycle.iter().map(within).collect())
            })
        })
    }

    /// For each child of a module, the siblings that it or anything in it imports from.
    fn edges_among_children(&self, parent: &[String]) -> BTreeMap<String, BTreeSet<String>> {
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, module) in &self.modules {
            let Some([from, ..]) = path.strip_prefix(parent) else {
                continue;
            };
            for used in &module.uses {
                let used = self.resolve(used.clone());
                if let Some([to, ..]) = used.strip_prefix(parent)
                    && to != from
                {
                    edges.entry(from.clone()).or_default().insert(to.clone());
                }
            }
        }
        edges
    }

    /// The module that an item is defined in, which others may re-export.
    fn resolve(&self, mut path: Path) -> Path {
        for _ in 0..self.modules.len() {
            let depth = (0..=path.len())
                .rev()
                .find(|depth| self.modules.contains_key(&path[..*depth]));
            let depth = depth.unwrap_or(0);
            let export = path
                .get(depth)
                .and_then(|name| self.modules[&path[..depth]].exports.get(name));
            match export {
                Some(target) => path = [&target[..], &path[depth + 1..]].concat(),
                None => return path[..depth].to_vec(),
            }
        }
        panic!("{} is a re-export of itself", path.join("::"));
    }
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

/// The modules of a cycle that can be reached from `at`, the first one also last.
fn find_cycle(
    at: &String,
    edges: &BTreeMap<String, BTreeSet<String>>,
    on_the_way: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(start) = on_the_way.iter().position(|name| name == at) {
        return Some([&on_the_way[start..], &[at.clone()]].concat());
    }
    if done.contains(at) {
        return None;
    }
    on_the_way.push(at.clone());
    let cycle = edges
        .get(at)
        .into_iter()
        .flatten()
        .find_map(|next| find_cycle(next, edges, on_the_way, done));
    on_the_way.pop();
    done.insert(at.clone());
    cycle
}
