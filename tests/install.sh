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

# Agent programs, 1.6 GB. Their build scripts would fetch headers from elsewhere; only those that
# put a program into its place are run.
programs() {
    (cd tests/agents-npm && npm ci --ignore-scripts --no-audit --no-fund &&
        npm rebuild --no-audit --no-fund @anthropic-ai/claude-code opencode-ai)
}
once tests/agents-npm/node_modules/.installed tests/agents-npm/package.json tests/agents-npm/package-lock.json -- programs

agents() {
    rm -rf target/venv
    python3 -m venv target/venv
    target/venv/bin/pip install --quiet --no-deps -r agents/openai-agents/requirements.txt
}
mkdir -p target
once target/venv/.installed agents/openai-agents/requirements.txt -- agents
