//! The `oikos` binary.

fn main() {}
