# SPDX-License-Identifier: Apache-2.0
# Tests lengths of token sequences, and the result of packing them into rows.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need python3

# Megatron files: documents of 10, 20, ..., 1000 tokens.
python3 - << 'END'
import struct
sizes = [10 * n for n in range(1, 101)]
starts = [2 * sum(sizes[:n]) for n in range(100)]
open("web.bin", "wb").write(bytes(2 * sum(sizes)))
open("web.idx", "wb").write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 100, 101) + struct.pack("<100i", *sizes) + struct.pack("<100q", *starts)
                            + struct.pack("<101q", *range(101)))
END
run 0 info web.bin
says out "lengths      of tokens: median 500, p99 990, longest 1000, 50500 in all (from the index)"
run 0 info web.bin --json
json '.lengths == {field: "tokens", source: "index", samples: 100, empty: 0, tokens: 50500, median: 500, p99: 990, longest: 1000, packing: []}'

# All rows are full except the last one of the only window: 25 of 2,048 would be 51,200.
run 0 info web.bin --pack-length 2048,50500 --max-documents 100 --json
json '.lengths.packing | map(.length) == [2048, 50500]'
json '.lengths.packing[0] | .rows == 25 and .end_padding == 700 and .align_padding == 0 and .documents_cut == 0 and .rows_closed == 0'
json '.lengths.packing[0] | .targets == 50400 and (.padding_share - 700 / 51200 | fabs) < 1e-6 and (.trained_share - 50400 / 50500 | fabs) < 1e-6'
json '.lengths.packing[1] | .rows == 1 and .end_padding == 0 and .most_documents == 100'
run 0 info web.bin --pack-length 2048 --align 16 --max-documents 2
says out "packing      align 16, at most 2 samples a row, cut none"
says out "rows have space left, but 2 samples already (--max-documents)"
run 0 info web.bin --pack-length 512 --cut split --json
json '.lengths.packing[0] | .cut == "split" and .rows == 99 and .documents_cut > 50'

# What does not go.
refuses 2 "the longest document, 99, has 1000 elements, but a row has 512: cut=\"long\"" info web.bin --pack-length 512
refuses 2 "length 1000 is not a multiple of align 16: 992 and 1008 are" info web.bin --pack-length 1000 --align 16
refuses 2 "expected up to 16 numbers of tokens" info web.bin --pack-length 2048,x
refuses 2 "--align, --max-documents and --cut go with --pack-length" info web.bin --cut long
refuses 2 "unknown field" info web.bin --lengths nothing
refuses 2 "show a DATASET" info --system --lengths tokens
run 0 synth photos --count 4 --classes 2
refuses 2 "no field of the dataset looks like tokens" info photos --pack-length 2048
refuses 2 'field "image" has no length per sample' info photos --lengths image

# Whole samples are read only on request: those of zstd frames have no index of fields.
run 0 pack web.bin packed --keep-order
run 0 info packed
says out "lengths      of tokens: shown by --lengths tokens, which reads every sample"
run 0 info packed --json
json 'has("lengths") | not'
run 0 info packed --lengths tokens
says out "50500 in all (every sample was read)"
run 0 info packed --subset :10 --lengths tokens --json
json '.lengths | .samples == 10 and .tokens == 550 and .source == "samples"'
