# The target `bundle`: BUILD/sluice-bundle/ and BUILD/sluice-bundle.tar.xz, which run on another machine of the same
# architecture: programs, tests, libraries, a dataset and scripts/gpu-check.

# A second build of the tool: the installed one must not search for libraries beside itself.
add_executable(sluice_portable_tool $<TARGET_OBJECTS:sluice_tool>)
target_link_libraries(sluice_portable_tool PRIVATE $<TARGET_PROPERTY:sluice_tool,LINK_LIBRARIES>)
set_target_properties(sluice_portable_tool PROPERTIES
  LINKER_LANGUAGE C OUTPUT_NAME sluice RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/portable)

set(portable sluice_portable_tool)
foreach(folder examples tests/unit tests/api tests/abi tests/gpu)
  get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} PROPERTY BUILDSYSTEM_TARGETS)
  list(APPEND portable ${targets})
endforeach()
foreach(target IN LISTS portable)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    # Libraries are first searched beside the program: there are none here, but the bundle has them. Uses RPATH, because
    # RUNPATH does not apply to the libraries of libraries.
    set_property(TARGET ${target} PROPERTY BUILD_RPATH_USE_ORIGIN ON)
    set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH "$ORIGIN/../lib")
    set_property(TARGET ${target} APPEND PROPERTY LINK_OPTIONS "LINKER:--disable-new-dtags")
  endif()
endforeach()

add_custom_target(
  bundle
  COMMAND ${PROJECT_SOURCE_DIR}/cmake/make-bundle ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
          ${PROJECT_BINARY_DIR}/sluice-bundle
  DEPENDS ${portable} sluice sluice_inject
  USES_TERMINAL VERBATIM)
if(TARGET wheel) # where Python's headers are
  add_dependencies(bundle wheel)
endif()
