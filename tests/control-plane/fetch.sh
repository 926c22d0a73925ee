#!/usr/bin/env bash
# Fetches released control plane binaries (kube-apiserver, etcd, kubectl) instead of building them.
#
#   fetch.sh MINOR DIRECTORY     MINOR: such as 1.37; the newest patch of it is taken, never another minor
#
# setup-envtest (pinned in ../envtest) downloads them and refuses an archive whose SHA-512 is not that of the index.
# Gives up after 20 seconds when the index does not answer. OIKOS_FETCH=no leaves the network alone;
# OIKOS_ENVTEST_INDEX names another index, such as a mirror's.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
minor=$1 target=$2
index=${OIKOS_ENVTEST_INDEX:-https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml}

say() { printf 'control plane: %s\n' "$*" >&2; }

[ "${OIKOS_FETCH:-yes}" != no ] || exit 1
started=$SECONDS
say "looking for released binaries of Kubernetes $minor"
draft=$(mktemp -d "$target/.build.XXXXXX")
# The store makes its directories read-only.
trap 'chmod -R u+w "$draft"; rm -rf "$draft"' EXIT
if ! timeout 20 curl --fail --silent --show-error --location --max-time 18 --output "$draft/index.yaml" "$index" 2>"$draft/error"; then
    say "no released binaries: $(tail -n 1 "$draft/error") (gave up after $((SECONDS - started)) s)"
    exit 1
fi
if ! (cd "$here/../envtest" && go build -buildvcs=false -trimpath -o "$draft/setup-envtest" sigs.k8s.io/controller-runtime/tools/setup-envtest) >&2; then
    say "no released binaries: setup-envtest could not be built, see above"
    exit 1
fi
if ! found=$(timeout 300 "$draft/setup-envtest" use "$minor.x" --index "$index" --bin-dir "$draft/store" --print path 2>"$draft/error"); then
    say "no released binaries: $(grep -v "^[[:space:]]*\$" "$draft/error" | tail -n 1 || echo "the download did not end") (after $((SECONDS - started)) s)"
    exit 1
fi
for tool in kube-apiserver etcd kubectl; do
    [ -x "$found/$tool" ] || { say "no released binaries: the archive has no $tool"; exit 1; }
done
for tool in kube-apiserver etcd kubectl; do mv "$found/$tool" "$target/$tool"; done # one rename each
say "fetched kube-apiserver, etcd and kubectl $(basename "$found") in $((SECONDS - started)) s, kept in $target"
