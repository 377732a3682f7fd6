//! Child processes that do not outlive this program.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the child be killed when the thread that starts it ends, so that none is left
/// running if this program is killed.
#[allow(unsafe_code)]
pub fn end_with_this_program(command: &mut Command) {
    // SAFETY: between fork and exec only one system call is made, which accesses no
    // memory.
    unsafe {
        command.pre_exec(
            || match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            },
        );
    }
}
