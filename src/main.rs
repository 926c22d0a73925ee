//! The `oikos` binary.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match oikos::cli::run(oikos::cli::Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("oikos: {error:#}");
            ExitCode::FAILURE
        }
    }
}
