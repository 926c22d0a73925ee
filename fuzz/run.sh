#!/usr/bin/env bash
# Fuzzes the classifier for FUZZ_SECONDS (60) on the lines of the corpora; `make fuzz`. Needs rustup's nightly compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v cargo-fuzz >/dev/null || { echo "==> installing cargo-fuzz"; cargo install --quiet cargo-fuzz; }
rustup run nightly rustc --version >/dev/null || { echo "a nightly compiler is missing: rustup toolchain install nightly" >&2; exit 1; }

echo "==> writing the corpora's lines to fuzz/corpus/classify"
mkdir -p fuzz/corpus/classify
awk -F'\t' '!/^#/ { gsub("⏎", "\n", $3); printf "%s", $3 > ("fuzz/corpus/classify/" $1); close("fuzz/corpus/classify/" $1) }' \
  crates/risk/tests/data/homelab.tsv
{
  cat fuzz/shell.dict
  awk '$1 == "cmd" { for (i = 2; i <= NF; i++) print "\"" $i " \"" }' crates/risk/src/tables/*.risk
} >fuzz/corpus/dictionary

echo "==> fuzzing for ${FUZZ_SECONDS:=60} seconds; a text that takes 1 second is a failure"
cargo +nightly fuzz run classify -- -dict=fuzz/corpus/dictionary -timeout=1 -max_total_time="$FUZZ_SECONDS" -max_len=2048
