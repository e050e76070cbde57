# cmake -DIN=FILE -P SluicePackImage.cmake: FILE.zst, packed with zstd, and FILE.size, how large it is
# unpacked, as a line for the assembler. Code for one GPU is much like that for the next.
file(SIZE "${IN}" size)
file(ARCHIVE_CREATE OUTPUT "${IN}.zst" PATHS "${IN}" FORMAT raw COMPRESSION Zstd COMPRESSION_LEVEL 9)
file(WRITE "${IN}.size" ".quad ${size}\n")
