#!/usr/bin/env bash
# scripts/setup.sh: installs the packages of packages.txt that are missing.
# Silent when nothing is; everything it says goes to stderr.
set -euo pipefail
exec 1>&2

list="$(dirname -- "${BASH_SOURCE[0]}")/packages.txt"
mapfile -t packages < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$list")

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  if ! command -v cmake >/dev/null; then
    echo "podsim: this system has no apt-get. Install cmake >= 3.25, ninja, a C++20 compiler, pkg-config,"
    echo "podsim: python3, SimGrid 3.32, Boost headers, nlohmann-json 3, CLI11 2, pugixml 1.12, zlib, yaml-cpp 0.7 and Catch2 2; then retry."
    exit 1
  fi
  echo "podsim: no apt-get here: expecting SimGrid 3.32, Boost headers, nlohmann-json 3, CLI11 2, pugixml 1.12, zlib, yaml-cpp 0.7 and Catch2 2"
  exit 0
fi

# dpkg-query fails if it does not know one of the names and still lists the others.
# shellcheck disable=SC2016  # the braces are dpkg-query's
installed="$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)"
missing=()
for package in "${packages[@]}"; do
  grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

install_command="apt-get install -y --no-install-recommends ${missing[*]}"
as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "podsim: missing packages, and installing them needs root. Run as root, then retry:"
    echo "  apt-get update && $install_command"
    exit 1
  fi
  as_root=(sudo)
fi

echo "installing missing packages: ${missing[*]}"
# A fresh machine often runs its own upgrades: wait for the lock instead of failing.
apt_get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
  apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
if ! "${apt_get[@]}" update; then
  echo "podsim: apt-get update failed; trying with the package lists that are here"
fi
if ! "${apt_get[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null; then
  echo
  echo "podsim: could not install: ${missing[*]}"
  echo "podsim: the reason is in apt-get's lines above. No network or a proxy: fix it in /etc/apt/ or"
  echo "podsim: http_proxy. Package not found: the names are Debian 12's (bookworm, main); elsewhere"
  echo "podsim: install the same libraries in your own way. Then run this as root, and retry:"
  echo "  apt-get update && $install_command"
  exit 1
fi
