#!/usr/bin/env bash
# Installs what the tests need beside cargo: real MCP servers from npm, real agents from PyPI, all
# at exact versions. Needs npm and python3 (3.10 or newer). Does nothing where it is done already.
set -euo pipefail
cd "$(dirname "$0")/.."

once() { # once STAMP INPUT… -- COMMAND…
    local stamp=$1 inputs=() sum
    shift
    while [ "$1" != -- ]; do inputs+=("$1"); shift; done
    shift
    sum=$(cat "${inputs[@]}" | sha256sum)
    if [ "$(cat "$stamp" 2>/dev/null || true)" = "$sum" ]; then return; fi
    "$@"
    printf '%s\n' "$sum" > "$stamp"
}

servers() { (cd tests/npm && npm ci --no-audit --no-fund); }
once tests/npm/node_modules/.installed tests/npm/package.json tests/npm/package-lock.json -- servers

agents() {
    rm -rf target/venv
    python3 -m venv target/venv
    target/venv/bin/pip install --quiet --no-deps -r agents/openai-agents/requirements.txt
}
mkdir -p target
once target/venv/.installed agents/openai-agents/requirements.txt -- agents
