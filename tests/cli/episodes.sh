# SPDX-License-Identifier: Apache-2.0
# Batches of whole episodes; the classes are the samples' labels.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

"$sluice" synth photos --count 60 --classes 4 --size-scale 0.3 > /dev/null || fail synth
"$sluice" pack photos packed > /dev/null || fail pack

for data in photos packed; do
    run 0 bench $data --size 32 --batch 24 --episode-classes 3 --episode-samples 8 --epochs 2 --json
    json '.samples == 2 * 2 * 24 and .bad_samples == 0' # 60 samples make 2 episodes
    run 0 bench $data --size 32 --batch 12 --episode-classes 2 --episode-samples 6 --episodes 11 --epochs 1 --json
    json '.samples == 11 * 12'
done

refuses 2 "--batch is 10, but a batch has whole episodes: expected a multiple of the 24 samples" \
    bench photos --size 32 --batch 10 --episode-classes 3 --episode-samples 8
refuses 2 "of the dataset's 4 classes only 0 have as many" bench photos --size 32 --batch 40 --episode-classes 2 --episode-samples 20
refuses 2 "options --episode-classes and --episode-samples need each other" bench photos --size 32 --batch 8 --episode-classes 2
refuses 3 "episodes need option --shuffle full" \
    bench photos --size 32 --batch 6 --episode-classes 2 --episode-samples 3 --shuffle block

(cd photos && tar -cf ../plain.tar ./*/*)
refuses 3 "sample 0 has no class label" bench plain.tar --size 32 --batch 6 --episode-classes 2 --episode-samples 3
