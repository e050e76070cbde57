# Debian packages of the built files, by `cpack` or the target `package`: one package per component of SluiceInstall.cmake, in
# BUILD/packages. With the prefix /usr (preset `deb`), their libraries are installed in Debian's folder for the architecture.
set(SLUICE_PACKAGE_CONTACT "sluice maintainers <sluice@localhost>" CACHE STRING
    "Maintainer of the packages")
set(abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(release 1)
set(same "(= ${PROJECT_VERSION}-${release})")
set(about "sluice reads, decodes and augments samples ahead of a training loop, in a fixed
amount of memory, and returns finished batches of images, tensors, token
windows, text and numbers.")

set(CPACK_COMPONENTS_ALL library development)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libsluice${abi})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "library that keeps a GPU fed during training
${about}
.
This is the shared library.")
if(SLUICE_HAS_REMOTE) # opened for the first object store address, so that no program needs it
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "libcurl4, ca-certificates")
endif()
file(CONFIGURE OUTPUT debian/triggers CONTENT "activate-noawait ldconfig\n")
file(CONFIGURE OUTPUT debian/shlibs CONTENT
     "libsluice ${abi} libsluice${abi} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
    ${PROJECT_BINARY_DIR}/debian/triggers ${PROJECT_BINARY_DIR}/debian/shlibs)

# pkg-config and the static library also need the libraries that sluice uses.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libsluice-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libsluice${abi} ${same}, libjansson-dev, libjpeg-dev, libpng-dev, liburing-dev (>= 2.3), libxxhash-dev, libzstd-dev, zlib1g-dev")
foreach(package IN LISTS SLUICE_OPTIONAL_DEBIAN)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", ${package}")
endforeach()
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "library that keeps a GPU fed during training (development files)
${about}
.
These are the headers, the static library, and what CMake and pkg-config need.")

if(TARGET sluice_tool)
  list(APPEND CPACK_COMPONENTS_ALL tool)
  set(CPACK_DEBIAN_TOOL_PACKAGE_NAME sluice)
  set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION utils)
  set(CPACK_DEBIAN_TOOL_DESCRIPTION "packs, checks and measures datasets for training
${about}
.
This is the command-line tool: it packs datasets into shards, checks them,
shows what a training loop will see, and measures what feeding one costs and
how long its GPU has nothing to do.")
endif()

if(TARGET sluice_tool AND TARGET sluice_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-sluice)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.11), sluice ${same}")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS python3-numpy)
  set(CPACK_DEBIAN_PYTHON_DESCRIPTION "batches for training, ready before the loop asks for them
${about}
.
This is the package for Python 3; sluice.torch takes the place of torch's
DataLoader.")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/python/postinst
                                                ${PROJECT_SOURCE_DIR}/cmake/debian/python/prerm)
endif()

# Files that Debian requires in each package.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(CONFIGURE OUTPUT debian/changelog.Debian CONTENT [[
sluice (@PROJECT_VERSION@-@release@) unstable; urgency=medium

  * Built by cpack; changelog.gz lists the changes.

 -- @SLUICE_PACKAGE_CONTACT@  @date@
]])
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} name)
  set(folder share/doc/${CPACK_DEBIAN_${name}_PACKAGE_NAME})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian/copyright
                ${PROJECT_BINARY_DIR}/debian/changelog.Debian
          DESTINATION ${folder} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md RENAME changelog
          DESTINATION ${folder} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

# The packages that their programs need are determined when the packages are made.
set(binaries "set(library_binaries [[$<TARGET_FILE:sluice>]])\n")
if(TARGET sluice_tool)
  string(APPEND binaries "set(tool_binaries [[$<TARGET_FILE:sluice_tool>]] "
                         "[[$<TARGET_FILE:sluice_inject>]])\n")
endif()
if(TARGET sluice_python)
  string(APPEND binaries "set(python_binaries [[$<TARGET_FILE:sluice_python>]])\n")
endif()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/debian/depends.cmake
     CONTENT "${binaries}include([[${PROJECT_SOURCE_DIR}/cmake/debian/depends.cmake]])\n")

set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_CONTACT "${SLUICE_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
    GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/debian/depends.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/compress.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_DEBIAN_PACKAGE_SOURCE sluice)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
