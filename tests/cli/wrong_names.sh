# SPDX-License-Identifier: Apache-2.0
# Names that are not there: the message says which one was probably meant, or which there are.
. "$(dirname "$0")/lib.sh"

run 0 synth photos --count 4 --classes 2 --size-scale 0.1
names="the fields are: image, label, key"
refuses 2 "there is no field with this name; $names" info photos --where 'labl < 1'
refuses 2 "its fields are: image, label, key" info photos --with photos --common labl
refuses 2 "no field \"imag\", it has: image, label, key" bench photos --column x=imag:image
(cd photos && { echo file,score; find . -name '*.jpg' | sed 's/$/,1/'; } > table.csv)
refuses 2 'column "scor": there is no column with this name; the columns are: file, score' info photos/table.csv --field x=scor

# Commands, options and values.
refuses 2 'no command `pakc`; did you mean pack? `sluice --help`' pakc photos packed
refuses 2 'no command `bnech`; did you mean bench?' help bnech
refuses 2 'no command `version`; did you mean --version?' version
refuses 2 'no command `nonsense`; `sluice --help` lists them' nonsense
refuses 2 '--shufle: no such option; did you mean --shuffle? `sluice bench --help`' bench photos --shufle block
refuses 2 'did you mean --shuffle?' bench photos --shufle=block
refuses 2 'did you mean --batch?' bench photos --batch-size 4
refuses 2 'did you mean --workers?' pack photos packed --num-workers 4
refuses 2 'did you mean --overwrite?' pack photos packed --overwite
refuses 2 '--nonsense: no such option; `sluice bench --help` lists them' bench photos --nonsense
refuses 2 '--allow-: which of --allow-case-duplicates, --allow-empty-classes, --allow-outside?' verify photos --allow-
refuses 2 '-Q: no such option; ' bench photos -Q
refuses 2 '--json takes no value' info photos --json=1
refuses 2 '--help takes no value' info --help=1
refuses 2 'one of full|block|none|shards; did you mean block?' bench photos --shuffle blok
refuses 2 'one of u8|f32|f16|bf16; did you mean f16?' bench photos --dtype fp16
refuses 2 'one of u8|f32|f16|bf16; `sluice' bench photos --dtype complex
refuses 2 'did you mean image?' bench photos --column x=image:imag
refuses 2 'it takes partner, dtype, missing' bench photos --column x=label:number,typ=i32
refuses 2 'did you mean dtype?' bench photos --column x=label:number,dtyp=i32
refuses 2 'did you mean random?' view photos --column x=image:image,crop=randm
[ ! -e packed ] || fail "something was packed"
