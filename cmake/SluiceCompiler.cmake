# There are hundreds of tests, which are large with AddressSanitizer: gold links them in a half or a third of bfd's time. Not
# with ThreadSanitizer, which then ends in SIGBUS at startup if file sizes are limited, as in tests.
set(SLUICE_TEST_LINKER)
if(NOT SLUICE_SANITIZE MATCHES "thread" AND NOT CMAKE_CROSSCOMPILING AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  find_program(SLUICE_GOLD ld.gold)
  if(SLUICE_GOLD)
    set(SLUICE_TEST_LINKER -fuse-ld=gold)
  endif()
endif()
if(SLUICE_SANITIZE MATCHES "address")
  add_link_options(${SLUICE_TEST_LINKER})
  # The sanitizer describes each code position with pointers: a position-independent program relocates 350,000 of them at each
  # start.
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()

# sluice_compile_options(TARGET): sets warnings, sanitizers and the feature macro for our own targets.
function(sluice_compile_options target)
  target_compile_options(
    ${target}
    PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
            -Wmissing-prototypes -Wvla -Wcast-qual -Wundef -Wformat=2 -Wimplicit-fallthrough
            $<$<BOOL:${SLUICE_WERROR}>:-Werror>
            # a*b+c stays two roundings with every compiler: results are compared bit for bit
            -ffp-contract=off)
  if(SLUICE_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(SLUICE_BUILD_TESTS) # tests replace open, pread, ...: fortified headers, Ubuntu's default, call other functions
    target_compile_options(${target} PRIVATE -U_FORTIFY_SOURCE)
  endif()
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  if(SLUICE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SLUICE_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${SLUICE_SANITIZE})
  endif()
endfunction()

# sluice_compile_quickly(TARGET): for programs that take longer to compile than to run: the lowest optimisation that still
# warns of uninitialized variables; with sanitizers, no optimisation, since release has given the warnings. These files are
# not checked for undefined behaviour. libFuzzer programs run longer than they compile.
function(sluice_compile_quickly target)
  if(SLUICE_FUZZ)
    return()
  endif()
  if(SLUICE_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
    if(SLUICE_SANITIZE MATCHES "undefined")
      target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
    endif()
  elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# sluice_kernels(FILE ...): marks loops over a sample's bytes and memory of their own thread. ThreadSanitizer, which makes
# them ten times slower, only checks their callers.
function(sluice_kernels)
  if(SLUICE_SANITIZE STREQUAL "thread")
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=thread)
  endif()
endfunction()

# sluice_folder(TARGET SOURCES file ... [USES folder ...] [LIBRARIES target ...]): makes an object library of one folder, with
# exactly the include paths that it may use: itself, the public headers, the folders of USES, the external headers of
# LIBRARIES.
function(sluice_folder target)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  add_library(${target} OBJECT ${ARG_SOURCES})
  sluice_compile_options(${target})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
                                               ${PROJECT_SOURCE_DIR}/include ${ARG_USES})
  # External headers are system headers: their warnings are not ours.
  foreach(library IN LISTS ARG_LIBRARIES)
    target_include_directories(${target} SYSTEM PRIVATE
      $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  sluice_unity(${target})
endfunction()

# sluice_internal_headers(TARGET): adds every module's headers, regardless of the diagram.
function(sluice_internal_headers target)
  foreach(module IN LISTS SLUICE_MODULE_NAMES)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/${module})
  endforeach()
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/src/formats) # format_rows.inc
endfunction()
