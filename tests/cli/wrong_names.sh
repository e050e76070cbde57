# SPDX-License-Identifier: Apache-2.0
# Names that do not exist: the message suggests the likely name, or lists the existing ones.
. "$(dirname "$0")/lib.sh"

run 0 synth photos --count 4 --classes 2 --size-scale 0.1
names="the fields are image, label, key"
refuses 2 "no field has this name: $names" info photos --where 'labl < 1'
refuses 2 "its fields are image, label, key" info photos --with photos --common labl
refuses 2 "the dataset has no field \"imag\": its fields are image, label, key" bench photos --column x=imag:image
(cd photos && { echo file,score; find . -name '*.jpg' | sed 's/$/,1/'; } > table.csv)
refuses 2 'column "scor": no column has this name: the columns are file, score' info photos/table.csv --field x=scor

# Commands, options and values.
refuses 2 'unknown command `pakc`; did you mean pack? `sluice --help` lists the commands' pakc photos packed
refuses 2 'unknown command `bnech`; did you mean bench?' help bnech
refuses 2 'unknown command `version`; did you mean --version?' version
refuses 2 'unknown option `--hlep`; did you mean --help?' --hlep
refuses 2 'unknown command `nonsense`; `sluice --help` lists the commands' nonsense
refuses 2 'unknown option --shufle; did you mean --shuffle? `sluice bench --help-all` lists all options' bench photos --shufle block
refuses 2 'did you mean --shuffle?' bench photos --shufle=block
refuses 2 'did you mean --batch?' bench photos --batch-size 4
refuses 2 'did you mean --workers?' pack photos packed --num-workers 4
refuses 2 'did you mean --overwrite?' pack photos packed --overwite
refuses 2 'unknown option --nonsense; `sluice bench --help-all` lists all options' bench photos --nonsense
refuses 2 '--allow- is ambiguous: write one of --allow-case-duplicates, --allow-empty-classes, --allow-outside' verify photos --allow-
refuses 2 'unknown option -Q; `sluice bench --help-all` lists' bench photos -Q
refuses 2 '--json takes no value: write --json alone' info photos --json=1
refuses 2 '--help takes no value' info --help=1
refuses 2 '--help-all takes no value' info --help-all=1
refuses 2 '--with needs a value: --with PATH' info photos --with
refuses 2 '-b needs a value: -b ROWS' bench photos -b
refuses 2 '--pipeline needs a value: --pipeline MODE' view photos --pipeline
refuses 2 'one of full|block|none|shards; did you mean block?' bench photos --shuffle blok
refuses 2 'one of u8|f32|f16|bf16; did you mean f16?' bench photos --dtype fp16
refuses 2 'one of u8|f32|f16|bf16' bench photos --dtype complex
refuses 2 'did you mean image?' bench photos --column x=image:imag
refuses 2 'it takes dtype, partner, missing' bench photos --column x=label:number,typ=i32
refuses 2 'did you mean dtype?' bench photos --column x=label:number,dtyp=i32
refuses 2 'did you mean random?' view photos --column x=image:image,crop=randm

# Missing or extra arguments: each is named, with an example.
example='write for example `sluice'
refuses 2 "DATASET is missing: $example bench photos\`; \`sluice bench --help\` shows more" bench
refuses 2 "DATASET and OUT are missing: $example pack photos packed\`" pack
refuses 2 "OUT is missing: $example pack photos packed\`" pack photos
refuses 2 "DATASET and OUT are missing: $example unpack" unpack
refuses 2 "OUT is missing: $example unpack" unpack photos
refuses 2 "FOLDER is missing: $example synth photos\`" synth
refuses 2 "PROGRAM is missing: $example idle -- python" idle
refuses 2 'too many arguments: `more` is not expected; usage: sluice view [OPTION ...] DATASET' view photos more
refuses 2 'too many arguments: `more` is not expected; usage: sluice devices [OPTION ...]' devices more
refuses 2 'give a DATASET, --system or --formats' info
refuses 1 'nothere: cannot open' bench nothere
[ ! -e packed ] || fail "something was packed"
