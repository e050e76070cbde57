# SPDX-License-Identifier: Apache-2.0
# Datasets with other classes, joined, mixed and added to a packed one by class name.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

run 0 synth all --count 12 --classes 3 --seed 3
names=(all/*/)
for folder in pets birds cases; do mkdir $folder; done
cp -r "${names[0]}" pets/cat
cp -r "${names[1]}" pets/dog
cp -r "${names[1]}" birds/dog
cp -r "${names[2]}" birds/emu
cp -r "${names[0]}" cases/Cat

refuses 2 "a label must mean the same in all" info pets --with birds
run 0 info pets --with birds --labels union --json
json '.classes == 3 and .samples == 16'
run 0 info pets --with birds --labels union
says out "cat, dog, emu"
run 0 info birds --with pets --labels union
says out "dog, emu, cat"
run 0 info pets --with birds --labels union --where 'label == "dog"' --json
json '.samples == 8'
run 0 verify pets --with birds --labels union
run 0 bench pets --mix birds=0.5 --labels union --batch 4 --size 32 --epochs 1

# Names given by a file.
echo '["emu", "cat", "dog"]' > order.json
echo '{"Cat": "cat", "emu": null}' > names.json
run 0 info pets --with birds --labels order.json
says out "emu, cat, dog"
refuses 2 'cannot rename class "Cat": no dataset has it' info pets --with birds --labels names.json
run 0 info pets --with birds --with cases --labels names.json
says out "cat, dog"
run 0 info pets --mix birds=1 --mix cases=1 --labels names.json
run 0 info pets --with birds --mix cases=1 --labels names.json
says out "cat, dog"
refuses 1 "nothing.json" info pets --with birds --labels nothing.json
echo '["cat", 1]' > wrong.json
refuses 2 "not a file of class names" info pets --with birds --labels wrong.json

# Names that differ only in case.
refuses 2 "differ only in case" info pets --with cases --labels union
says err "--allow-case-duplicates"
run 0 info pets --with cases --labels union --allow-case-duplicates --json
json '.classes == 3'

# Added to a packed dataset.
run 0 pack pets packed
refuses 1 "the classes must be the same" pack birds packed --append
says err "--labels union"
run 0 pack birds packed --append --labels union
run 0 pack birds packed --append --labels union
says out "were in packed already"
echo '{"Cat": "cat"}' > cat.json
run 0 pack cases packed --append --labels cat.json --json
json '.samples == 4'
run 0 info packed
says out "cat, dog, emu"
run 0 verify packed --decode --json
json '.samples == 20 and .bad == 0'
run 0 pack birds packed --append --seed 1 --labels order.json
run 0 info packed
says out "cat, dog, emu"
