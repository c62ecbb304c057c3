#!/usr/bin/env bash
# Trains a reduced grid of the paper's experiments on a CPU - small models, few epochs, one or two seeds - and makes the report of
# it. What was interrupted goes on; what is done is not done again.
#   scripts/reproduce_quick.sh [OUT, default reproduce]
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-reproduce}
mkdir -p "$out/runs"
jobs=$(mktemp)
trap 'rm -f "$jobs"' EXIT

job() { # job NAME FLAGS...
  local name=$1
  shift
  echo "bin/torchpe train --device cpu --threads 1 --quiet --resume --out $out/runs/$name $*" >>"$jobs"
}
lst() { # lst NAME EPOCHS FLAGS...
  local name=$1 epochs=$2
  shift 2
  job "$name" --preset quick --epochs "$epochs" "$@"
}

common="2d-fixed relative random rope 1d-fixed nope c-nope"
lst learn 20 --pe learn --sigma .1,.1,.2,.2,.5,.5,1,1,1.5,1.5,2,2 --seeds 1,2,1,2,1,2,1,2,1,2,1,2
for pe in $common; do lst "$pe" 20 --pe "$pe" --seeds 1,2; done
lst tiny 20 --pe learn --sigma .01,.05 --seeds 1,1
lst sgd 8 --pe learn --sigma .01,.05,.1,.2 --seeds 1,1,1,1 --optimizer sgd --lr 1e-3
lst decay-learn 8 --pe learn --sigma .1,.2,1,2 --seeds 1,1,1,1 --optimizer adamw --weight-decay .1
for pe in $common; do lst "decay-$pe" 8 --pe "$pe" --optimizer adamw --weight-decay .1; done
for heads in 2 4; do
  lst "heads$heads-learn" 8 --pe learn --sigma .2,2 --seeds 1,1 --heads $heads
  for pe in 2d-fixed relative rope 1d-fixed nope; do lst "heads$heads-$pe" 8 --pe "$pe" --heads $heads; done
done
for corner in block,probe input,last input,probe; do
  lst "corner-${corner/,/-}" 20 --pe learn --sigma .2,2 --seeds 1,1 --pe-placement "${corner%,*}" --read-out "${corner#*,}"
done

nmar="--task nmar --steps 3000 --batch 32 --lr 1e-3 --pe-placement input --nmar-frames 10000 --test-frames 256"
job nmar-learn $nmar --pe learn --sigma .1,.2,1,2 --seeds 1,1,1,1
for pe in 1d-fixed random; do job "nmar-$pe" $nmar --pe $pe; done
for pe in relative rope; do job "nmar-$pe" ${nmar/--pe-placement input /} --pe $pe; done

fmri="--task fmri --surrogate subjects=6,frames=400 --batch 4 --lr 1e-3 --pe-placement input --test-frames 64"
for level in .5 .15 .75 .9; do
  steps=300 && [ $level = .5 ] && steps=600
  sized="$fmri --mask-level $level --steps $steps"
  job "fmri$level-learn" $sized --pe learn --sigma .1,.2,1,2 --seeds 1,1,1,1
  for pe in 1d-fixed random; do job "fmri$level-$pe" $sized --pe $pe; done
  for pe in relative rope; do job "fmri$level-$pe" ${sized/--pe-placement input /} --pe $pe; done
done

start=$SECONDS
total=$(wc -l <"$jobs")
echo "$total runs, $(nproc) at a time"
export total start
# A worker's own message names what went wrong; the first failure stops the queue, and a second call goes on.
nl -w1 -s' ' "$jobs" | xargs -P "$(nproc)" -L 1 bash -c 'n=$0; "$@" >/dev/null || { echo "failed: $*" >&2; exit 255; }; echo "$n of '"$total"' done"'
echo "trained in $((SECONDS - start)) s"
bin/torchpe report "$out/runs" --out "$out/report"
