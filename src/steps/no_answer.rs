//! What it means that a script was sent to a target and no line of it came back.

use super::access::HostAccess;
use super::capture::sanitise;
use super::channel::Ended;
use super::error::ConnectError;
use super::step::Place;

/// The error for a target on which our script never ran, from what came instead of an answer.
pub(crate) fn no_answer(
    access: &HostAccess,
    place: Place,
    ended: &Ended,
    stdout: &[u8],
    stderr: &[u8],
) -> ConnectError {
    let host = access.name.clone();
    let said = sanitise(if stderr.is_empty() { stdout } else { stderr });
    let detail: String = match said.trim() {
        "" => format!("nothing (exit {:?}, signal {:?})", ended.exit, ended.signal),
        text => text.chars().take(500).collect(),
    };
    match place {
        Place::Guest { .. }
            if detail.contains("not found") && ended.exit == Some(127) && !detail.contains("lxc-attach") =>
        {
            ConnectError::PctMissing { host, detail }
        }
        Place::Guest { vmid } => ConnectError::GuestUnavailable { host, vmid, detail },
        Place::Host => ConnectError::ShellUnusable { host, detail },
    }
}
