# sluice_find_mpi(OUT WHAT): finds a working MPI as the target MPI::MPI_C. If only its compiler works, reports that WHAT is
# omitted. find_package(MPI) aborts the configuration if a folder named by the compiler is missing, so it is first tried in a
# separate project.
function(sluice_find_mpi out what)
  set(${out} FALSE PARENT_SCOPE)
  find_program(SLUICE_MPICC NAMES mpicc DOC "An MPI's compiler")
  mark_as_advanced(SLUICE_MPICC)
  if(NOT SLUICE_MPICC AND NOT MPI_C_COMPILER AND NOT MPI_HOME)
    return()
  endif()
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/mpi_probe)
  file(REMOVE_RECURSE ${probe}) # an earlier result may be outdated
  file(WRITE ${probe}/probe.c "int main(void) { return 0; }\n")
  file(WRITE ${probe}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(mpi_probe LANGUAGES C)
find_package(MPI REQUIRED COMPONENTS C)
add_executable(probe probe.c)
target_link_libraries(probe PRIVATE MPI::MPI_C)\n")
  foreach(name CMAKE_C_COMPILER CMAKE_C_FLAGS CMAKE_MAKE_PROGRAM CMAKE_PREFIX_PATH CMAKE_TOOLCHAIN_FILE MPI_C_COMPILER
               MPI_HOME)
    if(DEFINED ${name})
      file(APPEND ${probe}/cache.cmake "set(${name} [==[${${name}}]==] CACHE STRING \"\")\n")
    endif()
  endforeach()
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${probe} -B ${probe}/build -G ${CMAKE_GENERATOR} -C ${probe}/cache.cmake
                  RESULT_VARIABLE failed OUTPUT_FILE ${probe}/log ERROR_FILE ${probe}/log)
  if(failed)
    message(STATUS "There is an MPI, but not all of it, or not for this machine: ${what} is left out (why: ${probe}/log)")
    return()
  endif()
  find_package(MPI COMPONENTS C QUIET)
  set(${out} ${MPI_C_FOUND} PARENT_SCOPE)
endfunction()
