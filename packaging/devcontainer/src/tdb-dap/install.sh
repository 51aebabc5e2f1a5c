#!/bin/sh
# Install tdb-dap for all users of a Debian or Ubuntu, as root: into /usr/local/lib/tdb-dap, with the command in
# /usr/local/bin. Also for images that are no dev container; again, it brings what is there up to date.
#
# SPEC: what pip installs: a wheel, a source directory, or a directory with the wheels of a release, of which that for
# this machine is taken. FINDLINKS: a directory with wheels; then no package registry is asked.
# TDB_DAP_PREFIX: instead of /usr/local.
#
# Python 3.10 or newer is taken as it is. Without one, the distribution's is installed; if that is older, a Python that
# only tdb-dap uses (uv; needs the network).
set -eu
umask 022

SPEC="${SPEC:-}"
FINDLINKS="${FINDLINKS:-}"
PREFIX="${TDB_DAP_PREFIX:-/usr/local}"
HOME_OF_TDB="$PREFIX/lib/tdb-dap"
NEWEST_PYTHON=3.13
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_CACHE_DIR=1 DEBIAN_FRONTEND=noninteractive

fail() {
  echo "tdb-dap: error: $*" >&2
  exit 2
}

# Prints the first Python that is new enough; fails if there is none.
new_enough() {
  for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do
    found="$(command -v "$name" 2>/dev/null)" || continue
    if "$found" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      echo "$found"
      return 0
    fi
  done
  return 1
}

# Debian has the module venv, and pip in it, in packages of their own.
has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

packages_updated=no
apt_install() {
  command -v apt-get >/dev/null 2>&1 || fail "Python 3.10 or newer with venv is needed, and there is no apt-get to get $*"
  if [ "$packages_updated" = no ]; then
    apt-get update -qq || fail "apt-get update fails; is there a network? Otherwise install $* first"
    packages_updated=yes
  fi
  apt-get install -qq -y --no-install-recommends "$@" >/dev/null || fail "apt-get cannot install $*"
}

# Makes the environment $HOME_OF_TDB with a Python that is new enough, unless it is there and works.
make_environment() {
  if "$HOME_OF_TDB/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    return
  fi
  rm -rf "$HOME_OF_TDB"
  mkdir -p "$PREFIX/lib" "$PREFIX/bin"
  python="$(new_enough)" || {
    apt_install python3 python3-venv
    python="$(new_enough)" || python=""
  }
  if [ -n "$python" ] && ! has_venv "$python"; then
    version="$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    if [ "$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))')" = "$(readlink -f /usr/bin/python3 2>/dev/null)" ]; then
      apt_install python3-venv
    else
      apt_install "python$version-venv"
    fi
    has_venv "$python" || fail "$python has no module venv, and apt-get brings none"
  fi
  if [ -n "$python" ]; then
    "$python" -m venv "$HOME_OF_TDB"
  else
    private_python
  fi
}

# An environment with a Python that uv downloads: the distribution's is too old.
private_python() {
  old="$(command -v python3)" || fail "apt-get has installed no python3"
  tools="$(mktemp -d)"
  "$old" -m venv "$tools" || fail "$old cannot make an environment"
  "$tools/bin/python" -m pip install -q uv || fail "uv cannot be installed; install Python 3.10 or newer first"
  UV_PYTHON_INSTALL_DIR="$PREFIX/lib/tdb-dap-python" UV_NO_CACHE=1 \
    "$tools/bin/uv" venv -q --seed --python "$NEWEST_PYTHON" --python-preference only-managed "$HOME_OF_TDB" ||
    fail "uv cannot get Python $NEWEST_PYTHON; install Python 3.10 or newer first"
  rm -rf "$tools"
}

[ -n "$SPEC" ] || fail "spec: name the wheel of a release, as its path in the container or its address with #sha256=HASH"
[ "$(id -u)" = 0 ] || [ "$PREFIX" != /usr/local ] || fail "run this as root, or set TDB_DAP_PREFIX to a directory of yours"
make_environment
wheels="$(mktemp -d)"
if [ -d "$SPEC" ] && [ ! -e "$SPEC/pyproject.toml" ]; then # no registry is asked, where others may own the name
  "$HOME_OF_TDB/bin/python" -m pip download -q --no-index --no-deps --only-binary :all: --find-links "$SPEC" \
    --dest "$wheels" tdb-dap || fail "spec: $SPEC has no wheel of tdb-dap for this machine"
  SPEC="$(echo "$wheels"/*.whl)"
fi
set -- --upgrade
[ -z "$FINDLINKS" ] || set -- "$@" --no-index --find-links "$FINDLINKS"
"$HOME_OF_TDB/bin/python" -m pip install -q "$@" "$SPEC" || fail "pip cannot install $SPEC"
rm -rf "$wheels"
ln -sf "$HOME_OF_TDB/bin/tdb-dap" "$PREFIX/bin/tdb-dap"
"$PREFIX/bin/tdb-dap" --version
[ "$packages_updated" = no ] || rm -rf /var/lib/apt/lists/*
