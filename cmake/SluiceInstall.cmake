# install: libraries, headers, the tool with its man pages, a CMake package and a pkg-config file.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)

install(TARGETS sluice EXPORT sluice_shared_targets)
install(TARGETS sluice_static EXPORT sluice_static_targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
if(TARGET sluice_tool)
  install(TARGETS sluice_tool)
  install(TARGETS sluice_inject LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sluice)
endif()
if(TARGET man)
  install(DIRECTORY ${SLUICE_MAN_FOLDER}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
          FILES_MATCHING PATTERN "*.1")
endif()

foreach(kind shared static)
  install(EXPORT sluice_${kind}_targets NAMESPACE sluice:: DESTINATION ${package_dir}
          FILE sluice-${kind}-targets.cmake)
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sluiceConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/sluiceConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break its users (docs/abi.md).
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sluiceConfig.cmake
              ${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake DESTINATION ${package_dir})

# Paths are relative to the .pc file, so an installed tree may be moved.
file(RELATIVE_PATH SLUICE_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" SLUICE_PC_PREFIX "${SLUICE_PC_PREFIX}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/sluice.pc.in ${PROJECT_BINARY_DIR}/sluice.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sluice.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
