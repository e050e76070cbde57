# Device code, compiled by nvcc to a fatbin that a C file embeds with .incbin, compressed with zstd: no CUDA language, no
# runtime library. Without a toolkit, the library is built without kernels, and images are converted on the host.
set(SLUICE_CUDA_KERNELS AUTO CACHE STRING "Build the CUDA kernels: AUTO (where nvcc is), ON, OFF")
set_property(CACHE SLUICE_CUDA_KERNELS PROPERTY STRINGS AUTO ON OFF)
set(SLUICE_CUDA_ARCHS "" CACHE STRING
    "Compute capabilities to build them for, as 75;90 [what the toolkit has, PTX of the newest]")
set(SLUICE_CUDA_IMAGES "" CACHE PATH
    "A build folder of this tree whose kernels are embedded, as built there last, instead of building them again")

set(SLUICE_HAS_CUDA_KERNELS FALSE)
if(NOT SLUICE_CUDA_KERNELS STREQUAL "OFF")
  find_package(CUDAToolkit 12.0 QUIET)
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
    set(SLUICE_HAS_CUDA_KERNELS TRUE)
    get_filename_component(nvcc_dir ${CUDAToolkit_NVCC_EXECUTABLE} DIRECTORY)
    find_program(SLUICE_PTXAS ptxas HINTS ${nvcc_dir} REQUIRED)
  elseif(SLUICE_CUDA_KERNELS STREQUAL "ON")
    message(FATAL_ERROR "SLUICE_CUDA_KERNELS=ON, but no CUDA toolkit 12.0 or newer with nvcc was "
                        "found (CUDAToolkit_ROOT says where to look)")
  endif()
endif()

# For drivers that reject the fatbin: PTX of CUDA 11.0 for the oldest GPU. Every driver that the library accepts compiles it,
# for every later GPU.
set(SLUICE_PTX_VERSION 7.0)
set(SLUICE_PTX_ARCH 75)

function(sluice_cuda_archs out)
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
  set(${out} ${archs} PARENT_SCOPE)
endfunction()

function(sluice_cuda_flags out)
  sluice_cuda_archs(archs)
  set(flags)
  foreach(arch IN LISTS archs)
    list(APPEND flags -gencode arch=compute_${arch},code=sm_${arch})
  endforeach()
  # PTX of the newest architecture for future GPUs, and of 90 for those in between.
  list(GET archs -1 newest)
  set(virtual ${newest})
  if(90 IN_LIST archs)
    list(APPEND virtual 90)
  endif()
  list(REMOVE_DUPLICATES virtual)
  foreach(arch IN LISTS virtual)
    list(APPEND flags -gencode arch=compute_${arch},code=compute_${arch})
  endforeach()
  # Drivers before 12.4 could not read it if it were compressed with zstd, as toolkits from 12.8 on may do.
  if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
    list(APPEND flags --compress-mode=none)
  else()
    list(APPEND flags --no-compress)
  endif()
  set(${out} ${flags} PARENT_SCOPE)
endfunction()

# Architectures that the PTX is assembled for, as a check.
function(sluice_ptx_archs out)
  sluice_cuda_archs(archs)
  list(FILTER archs INCLUDE REGEX "^[0-9]+$")
  list(APPEND archs ${SLUICE_PTX_ARCH} 80 86 89 90)
  list(REMOVE_DUPLICATES archs)
  list(REMOVE_ITEM archs 70) # older than the PTX
  set(${out} ${archs} PARENT_SCOPE)
endfunction()

# sluice_embed_images(NAME DEFINITION FATBIN PTX): passes the paths, without .zst and .size, to NAME_kernel.c.
function(sluice_embed_images name definition fatbin ptx)
  set_source_files_properties(${name}_kernel.c PROPERTIES
    OBJECT_DEPENDS "${fatbin}.zst;${fatbin}.size;${ptx}.zst;${ptx}.size"
    COMPILE_DEFINITIONS "${definition}=\"${fatbin}\";${definition}_PTX=\"${ptx}\"")
endfunction()

# sluice_embed_cuda(TARGET NAME DEFINITION DEPENDS file ...): compiles NAME.cu of the current folder and passes the path of
# the fatbin to NAME_kernel.c of TARGET as DEFINITION, that of the PTX as DEFINITION_PTX. Each is stored as FILE.zst, and
# FILE.size has its size for the assembler. FILE.log has ptxas's register report.
function(sluice_embed_cuda target name definition)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  if(NOT SLUICE_HAS_CUDA_KERNELS)
    return()
  endif()
  if(SLUICE_CUDA_IMAGES)
    file(RELATIVE_PATH inside ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR})
    set(image ${SLUICE_CUDA_IMAGES}/${inside}/${name})
    sluice_embed_images(${name} ${definition} ${image}.fatbin ${image}.ptx)
    return()
  endif()
  sluice_cuda_flags(flags)
  sluice_ptx_archs(archs)
  list(JOIN archs " " archs)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cu)
  set(fatbin ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
  set(ptx ${CMAKE_CURRENT_BINARY_DIR}/${name}.ptx)
  set(nvcc ${CUDAToolkit_NVCC_EXECUTABLE} -O3 -I${PROJECT_SOURCE_DIR}/include)
  set(logged ${PROJECT_SOURCE_DIR}/cmake/SluiceLogged.cmake)
  list(TRANSFORM ARG_DEPENDS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_custom_command(
    OUTPUT ${fatbin}
    COMMAND ${CMAKE_COMMAND} -DLOG=${fatbin}.log -P ${logged} ${nvcc} -fatbin -Xptxas -v ${flags} -o ${fatbin} ${source}
    DEPENDS ${source} ${ARG_DEPENDS} ${logged}
    COMMENT "Compiling ${name}.cu" VERBATIM)
  set(lower ${PROJECT_SOURCE_DIR}/cmake/SluiceOldPtx.cmake)
  add_custom_command(
    OUTPUT ${ptx}
    COMMAND ${nvcc} -ptx -arch=compute_${SLUICE_PTX_ARCH} -o ${ptx}.nvcc ${source}
    COMMAND ${CMAKE_COMMAND} -DIN=${ptx}.nvcc -DOUT=${ptx} -DVERSION=${SLUICE_PTX_VERSION}
            -DPTXAS=${SLUICE_PTXAS} -DARCHS=${archs} -P ${lower}
    DEPENDS ${source} ${ARG_DEPENDS} ${lower}
    COMMENT "Compiling ${name}.cu to PTX ${SLUICE_PTX_VERSION}" VERBATIM)
  set(packed)
  foreach(image IN ITEMS ${fatbin} ${ptx})
    add_custom_command(
      OUTPUT ${image}.zst ${image}.size
      COMMAND ${CMAKE_COMMAND} -DIN=${image} -P ${PROJECT_SOURCE_DIR}/cmake/SluicePackImage.cmake
      DEPENDS ${image} ${PROJECT_SOURCE_DIR}/cmake/SluicePackImage.cmake VERBATIM)
    list(APPEND packed ${image}.zst ${image}.size)
  endforeach()
  sluice_embed_images(${name} ${definition} ${fatbin} ${ptx})
  target_sources(${target} PRIVATE ${packed})
endfunction()
