#!/usr/bin/env bash
# Install tdb-dap into an environment of its own; its directory of programs goes to TDB_BIN of the steps that follow.
# Reads TDB_SPEC (empty: the sources that this script is from), TDB_PYTHON, RUNNER_TEMP (a directory); appends to the
# file GITHUB_ENV.
set -euo pipefail

sources="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)"

environment="${RUNNER_TEMP//\\//}/tdb-dap"
"$TDB_PYTHON" -m venv "$environment"
bin="$environment/bin"
[ -d "$bin" ] || bin="$environment/Scripts" # Windows
"$bin/python" -m pip --disable-pip-version-check --quiet install "${TDB_SPEC:-$sources}"
"$bin/tdb-dap" --version
echo "TDB_BIN=$bin" >>"$GITHUB_ENV"
