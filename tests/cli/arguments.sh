# SPDX-License-Identifier: Apache-2.0
# Wrong arguments: exit code 2, and a message that names the argument and the remedy.
. "$(dirname "$0")/lib.sh"

for command in synth pack verify bench view; do
    refuses 2 "sluice $command: " "$command"
    refuses 2 "missing" "$command"
    refuses 2 "--nonsense" "$command" --nonsense x y
    refuses 2 "too many" "$command" a b c d
done
refuses 2 "needs a value" bench x --batch
refuses 2 "from 1 to 65536" bench x --batch 0
refuses 2 "from 1 to 65536" bench x --batch 65537
refuses 2 "whole number" bench x --batch -1
refuses 2 "whole number" bench x --batch 1.5
refuses 2 "whole number" bench x --batch 12x
refuses 2 "whole number" bench x --batch ' 12'
refuses 2 "whole number" bench x --seed 18446744073709551616
refuses 2 "from 1 to 512" bench x --io-depth 513
refuses 2 "a size like 64MiB or 256K, from 1 MiB to 1 TiB" bench x --read-buffer 1023K
refuses 2 "a duration like 10s or 5ms, from 1e-09s" bench x --stall-fail 0
refuses 2 "one of auto|apply|ignore" bench x --exif yes
refuses 2 "did you mean shards" bench x --shuffle shard
refuses 2 "a duration like" bench x --seconds 5parsecs
refuses 2 "a duration like" bench x --seconds nan
refuses 2 "a duration like" bench x --seconds 0
refuses 2 "a duration like" bench x --step-ms 2h
refuses 2 "one of u8|f32|f16|bf16" bench x --dtype f64
refuses 2 "one of train|eval|crop|none" view x --pipeline test
refuses 2 "a number from" bench x --area-min 0
refuses 2 "a number from" bench x --area-max 1.5
refuses 2 "is above" bench x --area-min 0.5 --area-max 0.25
refuses 2 "not both" bench x --epochs 2 --seconds 3
refuses 2 "give one" bench x --step-ms 5 --accelerator resnet50-h100
refuses 2 "give one" bench x --step-ms 5 --supply-ratio 1.3
refuses 2 "give one" bench x --step-ms 5 --steps 20 --epochs 2
refuses 2 "one of resnet50-h100|" bench x --accelerator abacus
refuses 2 "--scale" bench x --step-ms 5 --scale 0.5
refuses 2 "a number from" bench x --accelerator resnet50-h100 --scale 0
refuses 2 "a number from" bench x --supply-ratio 0
refuses 2 "leave out --batch" bench x --accelerator resnet50-h100 --batch 8
refuses 2 "need steps" bench x --steps 20
refuses 2 "need steps" bench x --supply
refuses 2 "from 1 to 1000" bench x --step-ms 5 --repeats 0
refuses 2 "from 0 to 8" bench x --step-ms 5 --ahead 9
refuses 2 "--yardstick" bench x --step-ms 5 --yardstick y
refuses 2 "--device-slots" bench x --device-slots 3
refuses 2 "from 2 to 64" bench x --device cuda --device-slots 1
refuses 2 "sluice devices" bench x --device abacus
refuses 2 "not empty" bench x --trace ''
refuses 2 "a size like" pack x y --shard-size 1K
refuses 2 "a size like" pack x y --shard-size 99999999999GiB
refuses 2 "a size like" pack x y --shard-size 64furlongs
refuses 2 "fail|skip" pack x y --on-bad replace
refuses 2 "keep|drop" pack x y --metadata some
refuses 2 "--keep-bytes" pack x y --keep-bytes --metadata drop
refuses 2 "--keep-bytes" pack x y --tile-mcus 4 --keep-bytes
refuses 2 "DATASET, --system or --formats" info
refuses 2 "DATASET, --system or --formats" info x --system
refuses 2 "too large" view . --samples 256 --draws 64 --size 1024
refuses 2 "a number from" synth x --size-scale 0

# A path that is not a dataset.
mkdir empty
echo text > file
for command in "info" "verify" "bench" "view"; do
    refuses 1 "there-is-none" "$command" there-is-none
    refuses 2 "a dataset is" "$command" empty
    code=0
    "$sluice" "$command" file > out 2> err || code=$?
    case $code in 1 | 2 | 3) ;; *) fail "$command file: exit code $code" ;; esac
    says err "file"
done
refuses 1 "there-is-none" pack there-is-none packed
[ ! -e packed ] || fail "pack made a folder for nothing"

# With --json, every outcome is one object.
for command in "info" "verify" "bench" "view" "pack x" "bench --batch 0" "pack" "info --system" \
    "verify --nonsense" "synth --count 0"; do
    code=0
    # shellcheck disable=SC2086
    "$sluice" $command there-is-none --json > out 2> err || code=$?
    [ $code -ne 0 ] && [ -s err ] || fail "$command there-is-none --json"
    [ "$(jq -s 'length == 1 and (.[0] | .exit_code == '$code' and (.error.text | length > 0))' out)" \
        = true ] || fail "$command: JSON of a failure"
done
