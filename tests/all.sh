#!/usr/bin/env bash
# Installs what the tests need and passes them.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tests/install.sh
# The same random histories for everybody, so that a failure is one for everybody; to look at others,
# set another seed.
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}"
cargo test --locked --no-fail-fast "$@"
