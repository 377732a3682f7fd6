//! Everything on one processor.
#![allow(unsafe_code)]

use std::mem;
use std::thread;

/// Runs `measure` in a thread that stays on one processor, with all that it starts.
///
/// Two processors of a virtual machine are often one core's: a server there takes twice
/// the time while its client runs beside it, and no two turns are alike.
pub(crate) fn to_one_processor(measure: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(|| {
            pin();
            measure();
        });
    });
}

/// Keeps this thread on the processor where it is. Without effect if that is not
/// allowed: the figures are noisier then.
fn pin() {
    // SAFETY: the set is plain bits, valid for these calls, and larger than any number
    // of a processor that `CPU_SET` takes.
    unsafe {
        let Ok(here) = usize::try_from(libc::sched_getcpu()) else {
            return;
        };
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(here, &mut set);
        libc::sched_setaffinity(0, mem::size_of_val(&set), &raw const set);
    }
}
