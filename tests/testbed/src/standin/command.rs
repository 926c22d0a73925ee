//! Running external programs to their end, with errors that name the program and its last words.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::error::{Error, Result};

/// Runs `command` with stdin closed and gives its whole output, whatever the exit status.
///
/// # Errors
/// Only when the program cannot be started.
pub fn output(command: &mut Command) -> Result<Output> {
    command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::Program { program: describe(command), reason: error.to_string() })
}

/// Runs `command` with stdin closed and gives its standard output.
///
/// # Errors
/// When it cannot be started or exits with anything but 0.
pub fn run(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    checked(command, &output)
}

/// Like [`run`], with `input` on stdin.
///
/// # Errors
/// When it cannot be started or exits with anything but 0.
pub fn run_with_input(command: &mut Command, input: &str) -> Result<String> {
    let failed = |command: &Command, reason: String| Error::Program { program: describe(command), reason };
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(command, error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends early closes its stdin; its exit status tells more than EPIPE.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(command, error.to_string()))?;
    checked(command, &output)
}

/// A command from words, for calls without further settings.
pub fn words<const N: usize>(words: [&str; N]) -> Command {
    let mut iterator = words.into_iter();
    let mut command = Command::new(iterator.next().unwrap_or_default());
    command.args(iterator);
    command
}

fn checked(command: &Command, output: &Output) -> Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = stderr.lines().rev().take(8).collect();
    let last_words: Vec<&str> = lines.into_iter().rev().collect();
    Err(Error::Program { program: describe(command), reason: format!("{}: {}", output.status, last_words.join(" / ")) })
}

fn describe(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args().take(12) {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
