# SPDX-License-Identifier: Apache-2.0
# Names that are not there: the message says which one was probably meant, or which there are.
. "$(dirname "$0")/lib.sh"

run 0 synth photos --count 4 --classes 2 --size-scale 0.1
names="there are: image, label, key"
refuses 2 "there is no field of this name, $names" info photos --where 'labl < 1'
refuses 2 "which is asked for, it has: image, label, key" info photos --with photos --common labl
refuses 2 "no field \"imag\", it has: image, label, key" bench photos --column x=imag:image
(cd photos && { echo file,score; find . -name '*.jpg' | sed 's/$/,1/'; } > table.csv)
refuses 2 'column "scor": there is none of that name, there are: file, score' info photos/table.csv --field x=scor
