//! Digests, whole and short.

use sha2::{Digest, Sha256};

/// SHA-256 in lower-case hexadecimal: 64 digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first `digits` hexadecimal digits of the SHA-256.
pub fn short_sha256(bytes: &[u8], digits: usize) -> String {
    let mut hex = sha256_hex(bytes);
    hex.truncate(digits);
    hex
}
