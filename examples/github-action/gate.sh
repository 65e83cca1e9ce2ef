#!/usr/bin/env bash
# gate.sh OLD NEW [SCENARIO]: is the gateway NEW as fast as OLD? Both are programs: builds of lft-gateway for a scenario
# with gateway.kind = "lft", or any others for a scenario whose command lines begin with $gateway.
#
# Runs the scenario with OLD, then gates NEW against that run, all in virtual time: no privilege, no noise of the
# machine. Prints the Markdown and appends it to GITHUB_STEP_SUMMARY, where GitHub shows it. The exit status is that of
# `lfp gate`: 1 also when the trials did not run OLD and NEW, which their hashes show, 2 when they would not. A run ends
# when its first three trials fail alike. It wants `lfp` on PATH. RUNS: folder for the runs (gate-runs). SEED: of both runs, 1 and up (1). MARGIN:
# how much slower NEW may be (5%).
set -euo pipefail

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    echo "gate.sh: want OLD NEW [SCENARIO], as in: gate.sh old/lft-gateway new/lft-gateway" >&2
    exit 2
fi
for program in "$1" "$2"; do
    if [ ! -x "$program" ]; then
        echo "gate.sh: $program: not a program; build it, or name another" >&2
        exit 2
    fi
done
old=$(realpath "$1")
new=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
scenario=${3:-$here/../gate.toml}
runs=${RUNS:-gate-runs}
seed=${SEED:-1}

mkdir -p "$runs"
rm -f "$runs/gate.md"
LFP_LFT_GATEWAY=$old LFP_GATEWAY=$old lfp run "$scenario" --time virtual --seed "$seed" --runs-dir "$runs" \
    --gateway "$old" --give-up 3
status=0
LFP_LFT_GATEWAY=$new LFP_GATEWAY=$new lfp gate last "$scenario" --seed "$((seed + 1))" --runs-dir "$runs" \
    --baseline-gateway "$old" --gateway "$new" --margin "${MARGIN:-5%}" --markdown "$runs/gate.md" || status=$?
if [ -e "$runs/gate.md" ]; then
    tee -a "${GITHUB_STEP_SUMMARY:-/dev/null}" <"$runs/gate.md"
fi
exit "$status"
