//! A table of commands by name, for a filter that every command passes.

/// How many places there are, as bits: names of one place are compared one by one.
const PLACE_BITS: u32 = 8;
const PLACES: usize = 1 << PLACE_BITS;

/// How many bytes a word holds.
const WORD: usize = size_of::<u64>();

/// Values by the names of commands, in which case does not matter.
pub(super) struct Names<T>([Vec<Entry<T>>; PLACES]);

struct Entry<T> {
    /// What the name begins with: most names are told apart by that.
    word: u64,
    name: Vec<u8>,
    value: T,
}

impl<T> Names<T> {
    pub(super) const EMPTY: Self = Self([const { Vec::new() }; PLACES]);

    /// The value of this name.
    pub(super) fn get(&self, name: &[u8]) -> Option<&T> {
        let word = first_word(name);
        let entries = self.0.get(place_of(word))?;
        let found = entries.iter().find(|entry| entry.is(word, name));
        found.map(|entry| &entry.value)
    }

    /// The value of this name, which is added if it is not there.
    pub(super) fn get_or_insert(&mut self, name: &[u8], value: impl FnOnce() -> T) -> &mut T {
        let word = first_word(name);
        // Both places are there.
        #[allow(clippy::indexing_slicing)]
        let entries = &mut self.0[place_of(word)];
        let found = entries.iter().position(|entry| entry.is(word, name));
        let at = found.unwrap_or(entries.len());
        if found.is_none() {
            entries.push(Entry {
                word,
                name: name.to_vec(),
                value: value(),
            });
        }
        #[allow(clippy::indexing_slicing)]
        &mut entries[at].value
    }
}

impl<T> Entry<T> {
    #[inline]
    fn is(&self, word: u64, name: &[u8]) -> bool {
        self.word == word
            && self.name.len() == name.len()
            && (name.len() <= WORD || self.name.eq_ignore_ascii_case(name))
    }
}

/// The first bytes of a name in lower case.
#[inline]
fn first_word(name: &[u8]) -> u64 {
    name.iter().take(WORD).fold(0, |word, byte| {
        word << 8 | u64::from(byte.to_ascii_lowercase())
    })
}

#[inline]
fn place_of(word: u64) -> usize {
    // The golden ratio spreads what differs in few bits, into the highest ones.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let place = word.wrapping_mul(SPREAD) >> (u64::BITS - PLACE_BITS);
    usize::try_from(place).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_found_in_any_case() {
        let mut names = Names::EMPTY;
        for (number, name) in ["set", "SetEx", "", "wurk.rescue", "\u{e9}", "[", "{"]
            .into_iter()
            .enumerate()
        {
            *names.get_or_insert(name.as_bytes(), || 0) += number;
        }
        *names.get_or_insert(b"SETEX", || 0) += 10;
        for (name, value) in [
            ("SET", Some(0)),
            ("sETEX", Some(11)),
            ("", Some(2)),
            ("WURK.RESCUE", Some(3)),
            ("\u{e9}", Some(4)),
            ("[", Some(5)),
            ("{", Some(6)),
            ("\u{c9}", None),
            ("sets", None),
            ("\0set", None),
            ("wurk.rescuf", None),
            ("wurk.res", None),
        ] {
            assert_eq!(names.get(name.as_bytes()).copied(), value, "{name:?}");
        }
    }
}
