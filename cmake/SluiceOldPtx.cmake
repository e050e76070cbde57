# cmake -DIN=... -DOUT=... -DVERSION=7.0 -DPTXAS=... "-DARCHS=75 90" -P SluiceOldPtx.cmake
# Declares nvcc's PTX as an older version of the language: nvcc names its own, newest version, which
# older drivers reject regardless of the instructions. The assembler checks for each architecture that
# the older version has all instructions; if not, nothing is written. OUT.log has its output for each.
file(READ "${IN}" text)
string(REGEX MATCHALL "(^|\n)\\.version [0-9]+\\.[0-9]+" found "${text}")
list(LENGTH found count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "${IN} has ${count} lines with a .version, not one")
endif()
string(REGEX REPLACE "(^|\n)\\.version [0-9]+\\.[0-9]+" "\\1.version ${VERSION}" text "${text}")
# A hint about the load that follows, of PTX 8.3.
string(REGEX REPLACE "\n[ \t]*\\.pragma \"used_bytes_mask [^\n]*" "" text "${text}")
file(WRITE "${OUT}.new" "${text}")
separate_arguments(archs UNIX_COMMAND "${ARCHS}")
set(log)
foreach(arch IN LISTS archs)
  execute_process(COMMAND "${PTXAS}" -v -arch sm_${arch} -o "${OUT}.code" "${OUT}.new"
                  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  file(REMOVE "${OUT}.code")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "as PTX ${VERSION} it does not assemble for sm_${arch} (ptxas: ${code}):\n"
                        "${said}")
  endif()
  string(APPEND log "${said}")
endforeach()
file(WRITE "${OUT}.log" "${log}")
file(RENAME "${OUT}.new" "${OUT}")
