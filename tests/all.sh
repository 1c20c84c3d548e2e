#!/usr/bin/env bash
# Installs what the tests need and passes them.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tests/install.sh
cargo test --locked --no-fail-fast "$@"
