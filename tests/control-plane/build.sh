#!/usr/bin/env bash
# Brings the real Kubernetes parts of the demo and the tests, once per pin, into a cache outside the source tree:
# fetches what is released (fetch.sh), and builds the rest, or all of it, from the pinned Go modules beside this file.
#
#   build.sh [TOOL...]     TOOL: kube-apiserver etcd kubectl kube-controller-manager helm
#                          default: all but kube-controller-manager
#
# Standard output: one line "TOOL PATH" for each tool asked for. Progress goes to standard error.
# KUBEBUILDER_ASSETS, when set, wins: only what is missing there is built.
# Cache: ${OIKOS_CACHE:-${XDG_CACHE_HOME:-~/.cache}/oikos}.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${OIKOS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/oikos}

say() { printf 'control plane: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

module_of() { # the directory with the go.mod that pins a tool
    case $1 in
        kube-apiserver | etcd | kubectl | kube-controller-manager) printf '%s\n' "$here" ;;
        helm) printf '%s\n' "$here/../helm" ;;
        *) fail "unknown tool '$1' (known: kube-apiserver etcd kubectl kube-controller-manager helm)" ;;
    esac
}

package_of() {
    case $1 in
        etcd) printf 'go.etcd.io/etcd/server/v3\n' ;;
        helm) printf 'helm.sh/helm/v4/cmd/helm\n' ;;
        *) printf 'k8s.io/kubernetes/cmd/%s\n' "$1" ;;
    esac
}

minutes_of() { # cold, on two cores
    case $1 in
        kube-apiserver) printf 5 ;;
        kube-controller-manager | helm) printf 2 ;;
        *) printf 1 ;;
    esac
}

# Without the version the server calls itself v0.0.0 and clients take it for an ancient one.
linker_flags() { # module directory
    local version major minor
    version=$(pinned_version "$1" k8s.io/kubernetes)
    printf -- '-s -w'
    [ -n "$version" ] || return 0
    IFS=. read -r major minor _ <<<"${version#v}"
    local package
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        printf -- ' -X %s.gitVersion=%s -X %s.gitMajor=%s -X %s.gitMinor=%s -X %s.gitTreeState=clean' \
            "$package" "$version" "$package" "$major" "$package" "$minor" "$package"
    done
}

pinned_version() { # module directory, module path
    sed -n "s|^[[:space:]]*\(require \)\{0,1\}$2 \(v[^ ]*\).*|\2|p" "$1/go.mod" | head -n 1
}

pinned_minor() {
    local version
    version=$(pinned_version "$here" k8s.io/kubernetes)
    version=${version#v}
    printf '%s\n' "${version%.*}"
}

# Whether kube-apiserver is among the tools: the others build in seconds, and are fetched with it.
is_released() {
    case " $* " in *" kube-apiserver "*) ;; *) return 1 ;; esac
}

# The pins and the way of building them name the cache entry, so that neither can be stale.
entry_of() { # module directory
    local key
    key=$({ cat "$1/go.mod" "$1/go.sum"; linker_flags "$1"; } | sha256sum | cut -c 1-16)
    printf '%s/%s/%s\n' "$cache" "$(basename "$(cd "$1" && pwd)")" "$key"
}

require_go() { # module directory
    local wanted found
    wanted=$(sed -n 's/^go //p' "$1/go.mod")
    command -v go >/dev/null || fail "Go is needed to build the control plane and was not found in PATH: install Go $wanted or newer" \
        "(or set KUBEBUILDER_ASSETS to a directory with kube-apiserver, etcd and kubectl)"
    # "local" keeps an old Go from quietly fetching another toolchain; whoever wants that sets GOTOOLCHAIN.
    export GOTOOLCHAIN=${GOTOOLCHAIN:-local}
    # Asked outside the module: inside, an old Go refuses to answer.
    found=$(cd / && go env GOVERSION)
    found=${found#go}
    if [ "$GOTOOLCHAIN" = local ] && [ "$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)" != "$wanted" ]; then
        fail "Go $wanted or newer is needed, $(command -v go) is $found: install a newer Go, or set GOTOOLCHAIN=auto to let this one fetch it"
    fi
}

build() { # module directory, cache entry, tools...
    local module=$1 entry=$2 tool minutes=0
    shift 2
    require_go "$module"
    local packages=()
    for tool; do
        packages+=("$(package_of "$tool")")
        minutes=$((minutes + $(minutes_of "$tool")))
    done
    say "building $* with $(cd / && go env GOVERSION): about $minutes minutes the first time on two cores, seconds when Go's own cache is warm"
    local fresh
    fresh=$(mktemp -d "$entry/.build.XXXXXX")
    # shellcheck disable=SC2064  # the name as it is now
    trap "rm -rf '$fresh'" EXIT
    local started=$SECONDS
    (cd "$module" && nice -n 5 go build -buildvcs=false -trimpath -ldflags "$(linker_flags "$module")" -o "$fresh/" "${packages[@]}") >&2 ||
        fail "the build of $* failed, see above"
    if [ -e "$fresh/server" ]; then mv "$fresh/server" "$fresh/etcd"; fi # the package's last path element is "server"
    for tool; do mv "$fresh/$tool" "$entry/$tool"; done                  # one rename each: never a half-written binary
    rm -rf "$fresh"
    trap - EXIT
    say "built $* in $((SECONDS - started)) s, kept in $entry"
}

main() {
    local tools=("$@") tool module entry
    [ $# -gt 0 ] || tools=(kube-apiserver etcd kubectl helm)

    local wanted=() # what KUBEBUILDER_ASSETS does not have
    for tool in "${tools[@]}"; do
        module_of "$tool" >/dev/null
        if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$tool" ]; then
            printf '%s %s\n' "$tool" "$KUBEBUILDER_ASSETS/$tool"
        else
            wanted+=("$tool")
        fi
    done

    for module in "$here" "$here/../helm"; do
        entry=$(entry_of "$module")
        local mine=() missing=()
        for tool in ${wanted[@]+"${wanted[@]}"}; do
            [ "$(module_of "$tool")" = "$module" ] || continue
            mine+=("$tool")
            [ -x "$entry/$tool" ] || missing+=("$tool")
        done
        [ ${#mine[@]} -gt 0 ] || continue
        if [ ${#missing[@]} -gt 0 ]; then
            mkdir -p "$entry"
            exec 9>"$entry/.lock"
            if ! flock --nonblock 9; then
                say "another build is running, waiting for it"
                flock 9
            fi
            rm -rf "$entry"/.build.* # of a build that was killed
            local still=()           # the other build may have made some
            for tool in "${missing[@]}"; do
                [ -x "$entry/$tool" ] || still+=("$tool")
            done
            # Descriptor 9 stays here: a Go process that outlives us must not hold the lock.
            if is_released "${still[@]}" && require_go "$module" && "$here/fetch.sh" "$(pinned_minor)" "$entry" 9>&-; then
                local unreleased=()
                for tool in "${still[@]}"; do
                    [ -x "$entry/$tool" ] || unreleased+=("$tool")
                done
                still=(${unreleased[@]+"${unreleased[@]}"})
            fi
            if [ ${#still[@]} -gt 0 ]; then build "$module" "$entry" "${still[@]}" 9>&-; fi
            exec 9>&-
        fi
        for tool in "${mine[@]}"; do printf '%s %s\n' "$tool" "$entry/$tool"; done
    done
}

main "$@"
