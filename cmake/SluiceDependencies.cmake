# The libraries that sluice needs, each as an imported target.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG 1.6 REQUIRED) # with zlib
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(URING REQUIRED IMPORTED_TARGET liburing>=2.3)

# Libraries that sluice can be built without: SLUICE_<name> controls each (AUTO: if it is found). SLUICE_OPTIONAL has the
# names of those found, _MODULES their pkg-config names, _DEBIAN their Debian packages.
set(SLUICE_OPTIONAL "")
set(SLUICE_OPTIONAL_MODULES "")
set(SLUICE_OPTIONAL_DEBIAN "")
macro(sluice_optional name module package without)
  set(SLUICE_${name} AUTO CACHE STRING "Use ${module} (ON: required; AUTO: if found; OFF)")
  set_property(CACHE SLUICE_${name} PROPERTY STRINGS AUTO ON OFF)
  if(SLUICE_${name} STREQUAL "AUTO")
    pkg_check_modules(${name} IMPORTED_TARGET "${module}")
  elseif(SLUICE_${name})
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET "${module}")
  endif()
  if(TARGET PkgConfig::${name})
    list(APPEND SLUICE_OPTIONAL ${name})
    list(APPEND SLUICE_OPTIONAL_MODULES "${module}")
    list(APPEND SLUICE_OPTIONAL_DEBIAN ${package})
  else()
    message(STATUS "${without}: built without ${module}")
  endif()
endmacro()
sluice_optional(WEBP "libwebp>=1.2" libwebp-dev "WebP images will be rejected")
sluice_optional(BROTLI "libbrotlidec>=1.0" libbrotli-dev "Parquet files and MDS shards compressed with Brotli will be rejected")
sluice_optional(LZ4 "liblz4>=1.9" liblz4-dev "Parquet and Arrow files compressed with LZ4 will be rejected")
sluice_optional(EXPAT "expat>=2.4" libexpat1-dev "XML annotations (Pascal VOC) will be rejected")
sluice_optional(YAML "yaml-0.1>=0.2.2" libyaml-dev "YAML files (YOLO's data.yaml) will be rejected")
sluice_optional(CRYPTO "libcrypto>=3.0" libssl-dev "Hashes of MDS shards other than xxHash's will not be verified")

# SLUICE_REMOTE: reading from object stores. Only headers are needed: libcurl and libcrypto are opened when the first remote address is used,
# so that wheels and machines without them work.
set(SLUICE_REMOTE AUTO CACHE STRING "Read from object stores with libcurl (ON: its headers are required; AUTO: if found; OFF)")
set_property(CACHE SLUICE_REMOTE PROPERTY STRINGS AUTO ON OFF)
add_library(sluice_curl_headers INTERFACE)
set(SLUICE_HAS_REMOTE FALSE)
if(SLUICE_REMOTE)
  pkg_check_modules(CURL_HEADERS "libcurl>=7.81")
  if(CURL_HEADERS_FOUND)
    set(SLUICE_HAS_REMOTE TRUE)
    target_include_directories(sluice_curl_headers SYSTEM INTERFACE ${CURL_HEADERS_INCLUDE_DIRS})
  elseif(NOT SLUICE_REMOTE STREQUAL "AUTO")
    message(FATAL_ERROR "SLUICE_REMOTE is ON, and there are no headers of libcurl 7.81 or newer (Debian: libcurl4-openssl-dev)")
  endif()
endif()
if(NOT SLUICE_HAS_REMOTE)
  message(STATUS "Addresses of object stores (s3://, gs://, hf://, https://) will be rejected: built without libcurl")
endif()
list(TRANSFORM SLUICE_OPTIONAL_MODULES REPLACE "([^>]+)(>=.*)" ", \\1" OUTPUT_VARIABLE SLUICE_OPTIONAL_PC)
list(JOIN SLUICE_OPTIONAL_PC "" SLUICE_OPTIONAL_PC)

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
