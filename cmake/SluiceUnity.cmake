# Unity builds: the compiler reads several files of a folder as one, which takes three quarters of the time. For builds that
# compile everything once: a changed file recompiles its group, and a missing include goes unnoticed. cmake/unity-groups
# chooses the groups.
set(SLUICE_UNITY 0 CACHE STRING "Files of a folder that the compiler reads as one, at most; 0: each by itself (needs Python)")
if(SLUICE_UNITY GREATER 0)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
endif()

# sluice_unity(TARGET): groups its sources so far, after their warnings are set. CMake omits files with options of their own.
function(sluice_unity target)
  if(NOT SLUICE_UNITY GREATER 0)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/unity-groups ${SLUICE_UNITY} ${sources}
                  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^(.*) ([^ ]+)$" line "${line}")
    set_source_files_properties(${CMAKE_MATCH_1} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_2})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A local variable may share its name with a function in another file. Other builds warn about each file on its own.
  target_compile_options(${target} PRIVATE -Wno-shadow)
endfunction()
