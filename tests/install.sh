#!/usr/bin/env bash
# Installs what the tests need beside cargo: real MCP servers from npm, real agents from npm and
# PyPI, all at exact versions, 2.5 GB. Needs npm and python3 (3.10 or newer); Node 22 for some agents
# comes along on Linux. Does nothing where it is done already.
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

# Agent programs, 1.7 GB. Their build scripts would fetch headers from elsewhere; only those that
# put a program into its place are run. Not `npm ci`: it insists on the programs for other systems
# in the lock file, of which some are missing there; npm finds the one that it needs.
programs() {
    (cd tests/agents-npm && npm install --no-save --ignore-scripts --no-audit --no-fund &&
        npm rebuild --no-audit --no-fund @anthropic-ai/claude-code opencode-ai)
}
once tests/agents-npm/node_modules/.installed tests/agents-npm/package.json tests/agents-npm/package-lock.json -- programs

vercel() { (cd agents/vercel-ai-sdk && npm ci --ignore-scripts --no-audit --no-fund); }
once agents/vercel-ai-sdk/node_modules/.installed agents/vercel-ai-sdk/package.json agents/vercel-ai-sdk/package-lock.json -- vercel

python() { # python FOLDER REQUIREMENTS INTERPRETER
    rm -rf "$1"
    "$3" -m venv "$1"
    # Compiled when it is first used: most of it never is. The exact versions are known to go together,
    # also under an older patch of the same Python.
    "$1/bin/pip" install --quiet --no-deps --no-compile --ignore-requires-python -r "$2"
}
interpreter() { # interpreter 3.13: one that works, of the PATH or of pyenv
    local found
    for found in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python3; do
        if "$found" -c 'import venv' > /dev/null 2>&1; then echo "$found"; return; fi
    done
}
mkdir -p target/venvs
for agent in openai-agents pydantic-ai mcp-use; do
    folder=target/venvs/$agent
    if [ "$agent" = openai-agents ]; then folder=target/venv; fi
    once "$folder/.installed" "agents/$agent/requirements.txt" -- python "$folder" "agents/$agent/requirements.txt" python3
done

# Programs that need a newer Python than the tests themselves are tried where there is one; mistral-vibe,
# 400 MB, only where `WITH_MISTRAL_VIBE=1` asks for it.
tried=(llm: fast-agent:3.13)
if [ "${WITH_MISTRAL_VIBE:-}" = 1 ]; then tried+=(mistral-vibe:3.12); fi
for entry in "${tried[@]}"; do
    agent=${entry%%:*} wants=${entry#*:} python=python3
    if [ -n "$wants" ]; then python=$(interpreter "$wants"); fi
    if [ -z "$python" ]; then echo "$agent is not tried here: it needs Python $wants" >&2; continue; fi
    once "target/venvs/$agent/.installed" "tests/agents-py/$agent.txt" -- python "target/venvs/$agent" "tests/agents-py/$agent.txt" "$python"
done
