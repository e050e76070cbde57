# install: libraries, headers, the tool with its man pages and completions, a CMake package and a pkg-config file; with
# SLUICE_INSTALL_PYTHON_DIR, the Python package, too. Each component becomes a Debian package (SluicePackages.cmake).
set(SLUICE_INSTALL_PYTHON_DIR "" CACHE STRING
    "Install the Python package, too: into this folder, as lib/python3/dist-packages")
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)

install(TARGETS sluice EXPORT sluice_shared_targets LIBRARY COMPONENT library
        NAMELINK_COMPONENT development)
install(TARGETS sluice_static EXPORT sluice_static_targets COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development FILES_MATCHING PATTERN "*.h")
if(TARGET sluice_tool)
  install(TARGETS sluice_tool COMPONENT tool)
  install(TARGETS sluice_inject LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sluice COMPONENT tool)
endif()
if(TARGET man)
  install(DIRECTORY ${SLUICE_MAN_FOLDER}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool
          FILES_MATCHING PATTERN "*.1")
endif()
if(TARGET completions)
  install(FILES ${SLUICE_COMPLETIONS_FOLDER}/sluice DESTINATION share/bash-completion/completions
          COMPONENT tool)
  install(FILES ${SLUICE_COMPLETIONS_FOLDER}/sluice.fish DESTINATION share/fish/vendor_completions.d
          COMPONENT tool)
  # zsh uses different folders for Debian's packages and for the machine's own files.
  install(CODE "set(zsh site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\" AND EXISTS /etc/debian_version)
  set(zsh vendor-completions)
endif()
file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/share/zsh/\${zsh}\" TYPE FILE
     FILES [[${SLUICE_COMPLETIONS_FOLDER}/_sluice]])" COMPONENT tool)
endif()

foreach(kind shared static)
  install(EXPORT sluice_${kind}_targets NAMESPACE sluice:: DESTINATION ${package_dir}
          FILE sluice-${kind}-targets.cmake COMPONENT development)
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sluiceConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/sluiceConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break its users (docs/abi.md).
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sluiceConfig.cmake
              ${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake DESTINATION ${package_dir}
        COMPONENT development)

# Paths are relative to the .pc file, so an installed tree may be moved.
file(RELATIVE_PATH SLUICE_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" SLUICE_PC_PREFIX "${SLUICE_PC_PREFIX}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/sluice.pc.in ${PROJECT_BINARY_DIR}/sluice.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sluice.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)

if(TARGET sluice_python)
  set(python_dir ${SLUICE_INSTALL_PYTHON_DIR})
  set(only_if_named)
  if(NOT python_dir)
    set(python_dir lib/python3/dist-packages) # Debian's, for any Python version
    set(only_if_named EXCLUDE_FROM_ALL)
  endif()
  install(TARGETS sluice_python LIBRARY DESTINATION ${python_dir}/sluice COMPONENT python
          ${only_if_named})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/sluice DESTINATION ${python_dir} COMPONENT python
          ${only_if_named} PATTERN "__pycache__" EXCLUDE)
  file(CONFIGURE OUTPUT python/METADATA CONTENT [[
Metadata-Version: 2.1
Name: sluice
Version: @PROJECT_VERSION@
]])
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/python/METADATA COMPONENT python ${only_if_named}
          DESTINATION ${python_dir}/sluice-${PROJECT_VERSION}.dist-info)
endif()
