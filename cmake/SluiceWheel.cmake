# The target `wheel`: the binaries of a wheel, linked from the objects of this build, below BUILD/wheel; python/backend.py
# packs them. External libraries are beside them, also for their own dependencies: hence RPATH, not RUNPATH.
set(folder ${PROJECT_BINARY_DIR}/wheel)
get_property(objects GLOBAL PROPERTY SLUICE_OBJECTS)
get_property(tool_objects GLOBAL PROPERTY SLUICE_TOOL_OBJECTS)
get_target_property(foreign sluice_static INTERFACE_LINK_LIBRARIES)
# libcrypto would double the wheel.
list(REMOVE_ITEM foreign PkgConfig::CRYPTO)
add_library(sluice_wheel_base OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/src/base/digest_crypto_absent.c)
sluice_compile_options(sluice_wheel_base)
target_include_directories(sluice_wheel_base PRIVATE ${PROJECT_SOURCE_DIR}/include)
set(library "$<FILTER:${objects},EXCLUDE,/digest_crypto(_absent)?[.]c[.]o$>" $<TARGET_OBJECTS:sluice_wheel_base>)

add_library(sluice_wheel_python MODULE EXCLUDE_FROM_ALL $<TARGET_OBJECTS:sluice_python> ${library})
set_target_properties(sluice_wheel_python PROPERTIES PREFIX "" OUTPUT_NAME _sluice SUFFIX .abi3.so BUILD_RPATH "$ORIGIN/lib"
                                                     LIBRARY_OUTPUT_DIRECTORY ${folder})
add_executable(sluice_wheel_tool EXCLUDE_FROM_ALL $<TARGET_OBJECTS:sluice_tool> ${tool_objects} ${library})
set_target_properties(sluice_wheel_tool PROPERTIES OUTPUT_NAME sluice BUILD_RPATH "$ORIGIN/../lib"
                                                   RUNTIME_OUTPUT_DIRECTORY ${folder}/bin)
target_link_libraries(sluice_wheel_tool PRIVATE JPEG::JPEG PNG::PNG)
foreach(target sluice_wheel_python sluice_wheel_tool)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  target_link_libraries(${target} PRIVATE ${foreign})
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags -s)
endforeach()
# It needs only the C library.
add_custom_command(OUTPUT ${folder}/bin/libsluice_inject.so
                   COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}/bin
                   COMMAND ${CMAKE_STRIP} -o ${folder}/bin/libsluice_inject.so $<TARGET_FILE:sluice_inject>
                   DEPENDS sluice_inject VERBATIM)
set(all)
if(SLUICE_BUILD_TESTS) # python_wheel packs it
  set(all ALL)
endif()
add_custom_target(wheel ${all} DEPENDS ${folder}/bin/libsluice_inject.so)
add_dependencies(wheel sluice_wheel_python sluice_wheel_tool)
