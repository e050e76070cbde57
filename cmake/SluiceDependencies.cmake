# The libraries that sluice stands on, each as an imported target.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG 1.6 REQUIRED) # with zlib
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(URING REQUIRED IMPORTED_TARGET liburing>=2.3)

set(SLUICE_WEBP AUTO CACHE STRING "Decode WebP pictures (ON: needs libwebp; AUTO: where it is; OFF)")
set_property(CACHE SLUICE_WEBP PROPERTY STRINGS AUTO ON OFF)
set(SLUICE_WEBP_PC "")
if(SLUICE_WEBP STREQUAL "AUTO")
  pkg_check_modules(WEBP IMPORTED_TARGET libwebp>=1.2)
elseif(SLUICE_WEBP)
  pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp>=1.2)
endif()
if(TARGET PkgConfig::WEBP)
  set(SLUICE_WEBP_PC ", libwebp")
else()
  message(STATUS "WebP pictures will be refused: built without libwebp")
endif()

set(SLUICE_EXPAT AUTO CACHE STRING "Read annotations in XML (ON: needs libexpat; AUTO: where it is; OFF)")
set_property(CACHE SLUICE_EXPAT PROPERTY STRINGS AUTO ON OFF)
set(SLUICE_EXPAT_PC "")
if(SLUICE_EXPAT STREQUAL "AUTO")
  pkg_check_modules(EXPAT IMPORTED_TARGET expat>=2.4)
elseif(SLUICE_EXPAT)
  pkg_check_modules(EXPAT REQUIRED IMPORTED_TARGET expat>=2.4)
endif()
if(TARGET PkgConfig::EXPAT)
  set(SLUICE_EXPAT_PC ", expat")
else()
  message(STATUS "Annotations in XML (Pascal VOC) will be refused: built without libexpat")
endif()

# libjpeg-turbo >= 2.1: its version is a macro of jconfig.h, not of every .pc file.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES JPEG::JPEG)
check_c_source_compiles("
#include <stdio.h>
#include <jpeglib.h>
#if !defined(LIBJPEG_TURBO_VERSION_NUMBER) || LIBJPEG_TURBO_VERSION_NUMBER < 2001000
#error too old
#endif
int main(void) { return 0; }" SLUICE_JPEG_IS_TURBO)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT SLUICE_JPEG_IS_TURBO)
  message(FATAL_ERROR "sluice needs libjpeg-turbo 2.1 or newer (Debian: libjpeg62-turbo-dev, "
                      "Ubuntu: libjpeg-turbo8-dev)")
endif()
