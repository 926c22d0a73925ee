#!/usr/bin/env bash
# Installs and builds what the demo and the tests need, once, and says what it does. Safe to run again.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
say() { printf 'setup: %s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || fail "run as root (sudo make …): the stand-in Proxmox host runs real containers"
command -v cargo >/dev/null || fail "cargo is missing: install Rust 1.93 or newer (https://rustup.rs)"
command -v go >/dev/null || fail "go is missing: install Go 1.26 or newer (https://go.dev/dl); the control plane is built with it"
command -v apt-get >/dev/null || fail "this is no Debian or Ubuntu: the stand-in Proxmox host is made from Debian's packages"

# Program that must be there, and the package that brings it.
declare -A package_of=(
    [cc]=gcc [make]=make [lxc-start]=lxc [mmdebstrap]=mmdebstrap [sshd]=openssh-server [ssh]=openssh-client
    [ssh-keygen]=openssh-client [nft]=nftables [ip]=iproute2 [zstd]=zstd [tar]=tar [curl]=curl [setpriv]=util-linux
    [flock]=util-linux
)
missing=()
for program in "${!package_of[@]}"; do
    command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] || missing+=("${package_of[$program]}")
done
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)

if [ ${#missing[@]} -gt 0 ]; then
    mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
    say "installing ${missing[*]}"
    # The packages of sshd and lxc start services; nothing of this machine is to change but its files.
    guard=/usr/sbin/policy-rc.d
    guarded=
    if [ ! -e "$guard" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$guard"
        chmod +x "$guard"
        guarded=yes
    fi
    unguard() { [ -z "$guarded" ] || rm -f "$guard"; }
    trap unguard EXIT
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    unguard
    trap - EXIT
    if [ -d /run/systemd/system ]; then
        for unit in openssh-server:ssh.service lxc:lxc.service lxc:lxc-net.service; do
            case " ${missing[*]} " in *" ${unit%%:*} "*) systemctl disable --quiet "${unit#*:}" || true ;; esac
        done
    fi
fi

# Three long jobs side by side: the control plane, the Rust build, and, as soon as its program is there, the container
# template. Each line says whose it is; a job that fails is named at the end, and setup fails with it.
control_plane() { "$here/control-plane/build.sh" kube-apiserver etcd kubectl kube-controller-manager helm >/dev/null; }

rust() { # quiet but for what cargo compiles and what goes wrong
    cd "$here/.."
    "${CARGO:-cargo}" build --workspace --bins 2>&1 | sed -u 's/^/rust: /'
    local binaries
    binaries=$("${CARGO:-cargo}" metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug
    "$binaries/pve-standin" template
}

started=$SECONDS
declare -A job_of=()
(set -e; control_plane) &
job_of[$!]="the control plane"
(set -e; rust) &
job_of[$!]="the Rust build or the container template"
trap 'kill "${!job_of[@]}" 2>/dev/null || true' INT TERM
failed=()
for pid in "${!job_of[@]}"; do
    wait "$pid" || failed+=("${job_of[$pid]}")
done
for job in ${failed[@]+"${failed[@]}"}; do say "$job failed, see above" >&2; done
[ ${#failed[@]} -eq 0 ] || exit 1
say "ready after $((SECONDS - started)) s"
