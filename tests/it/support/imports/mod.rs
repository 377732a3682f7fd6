//! Which modules of a crate import which, read from its source.

mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::slice::from_ref;

use self::paths::Module;

/// The path of a module or an item from the root of its crate, which is empty.
pub type Path = Vec<String>;

/// The modules of a crate.
#[derive(Default)]
pub struct Crate {
    modules: BTreeMap<Path, Module>,
}

impl Crate {
    /// Reads a crate from its root. `source` returns the text of a module.
    pub fn read(source: &dyn Fn(&[String]) -> String) -> Self {
        let mut krate = Self::default();
        let mut unread = vec![Path::new()];
        while let Some(path) = unread.pop() {
            let module = Module::read(&source(&path), &path);
            let children = module.children.iter();
            unread.extend(children.map(|child| [&path[..], from_ref(child)].concat()));
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
                let within = |name: &String| [&parent[..], from_ref(name)].concat().join("::");
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

/// The modules of a cycle that can be reached from `at`, the first one also last.
fn find_cycle(
    at: &String,
    edges: &BTreeMap<String, BTreeSet<String>>,
    on_the_way: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(start) = on_the_way.iter().position(|name| name == at) {
        return Some([&on_the_way[start..], from_ref(at)].concat());
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
