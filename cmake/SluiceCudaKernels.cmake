# Device code, compiled by nvcc to a fatbin that a C file embeds with .incbin: no CUDA language, no
# runtime library. Without a toolkit the library is built without kernels, and pictures are converted
# on the host.
set(SLUICE_CUDA_KERNELS AUTO CACHE STRING "Build the CUDA kernels: AUTO (where nvcc is), ON, OFF")
set_property(CACHE SLUICE_CUDA_KERNELS PROPERTY STRINGS AUTO ON OFF)
set(SLUICE_CUDA_ARCHS "" CACHE STRING
    "Compute capabilities to build them for, as 75;90 [what the toolkit has, PTX of the newest]")

set(SLUICE_HAS_CUDA_KERNELS FALSE)
if(NOT SLUICE_CUDA_KERNELS STREQUAL "OFF")
  find_package(CUDAToolkit 12.0 QUIET)
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
    set(SLUICE_HAS_CUDA_KERNELS TRUE)
  elseif(SLUICE_CUDA_KERNELS STREQUAL "ON")
    message(FATAL_ERROR "SLUICE_CUDA_KERNELS=ON, but no CUDA toolkit 12.0 or newer with nvcc was "
                        "found (CUDAToolkit_ROOT says where to look)")
  endif()
endif()

function(sluice_cuda_flags out)
  set(archs ${SLUICE_CUDA_ARCHS})
  if(NOT archs)
    set(archs 75 80 86 89 90)
    if(CUDAToolkit_VERSION VERSION_LESS 13)
      list(PREPEND archs 70)
    endif()
    if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
      list(APPEND archs 100 120)
    endif()
  endif()
  set(flags)
  foreach(arch IN LISTS archs)
    list(APPEND flags -gencode arch=compute_${arch},code=sm_${arch})
  endforeach()
  # PTX of the newest for GPUs to come, and of 90 for those in between.
  list(GET archs -1 newest)
  set(virtual ${newest})
  if(90 IN_LIST archs)
    list(APPEND virtual 90)
  endif()
  list(REMOVE_DUPLICATES virtual)
  foreach(arch IN LISTS virtual)
    list(APPEND flags -gencode arch=compute_${arch},code=compute_${arch})
  endforeach()
  # Compressed with zstd, as toolkits of 12.8 and newer may, drivers before 12.4 could not read it.
  if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
    list(APPEND flags --compress-mode=none)
  else()
    list(APPEND flags --no-compress)
  endif()
  set(${out} ${flags} PARENT_SCOPE)
endfunction()

# sluice_embed_cuda(TARGET NAME DEFINITION DEPENDS file ...): compiles NAME.cu of the current folder
# and gives NAME_kernel.c of TARGET the path of the fatbin as DEFINITION.
function(sluice_embed_cuda target name definition)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  if(NOT SLUICE_HAS_CUDA_KERNELS)
    return()
  endif()
  sluice_cuda_flags(flags)
  set(fatbin ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
  list(TRANSFORM ARG_DEPENDS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_custom_command(
    OUTPUT ${fatbin}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -fatbin -O3 ${flags} -I${PROJECT_SOURCE_DIR}/include
            -o ${fatbin} ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cu
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cu ${ARG_DEPENDS}
    COMMENT "Compiling ${name}.cu" VERBATIM)
  set_source_files_properties(${name}_kernel.c PROPERTIES
    OBJECT_DEPENDS ${fatbin} COMPILE_DEFINITIONS "${definition}=\"${fatbin}\"")
  target_sources(${target} PRIVATE ${fatbin})
endfunction()
