# Man pages, made from the built tool's --help (cmake/make-man).
if(SLUICE_SANITIZE OR CMAKE_CROSSCOMPILING) # the tool may not run here
  return()
endif()

set(SLUICE_MAN_FOLDER ${PROJECT_BINARY_DIR}/man/man1)
add_custom_command(
  OUTPUT ${SLUICE_MAN_FOLDER}/stamp
  COMMAND ${PROJECT_SOURCE_DIR}/cmake/make-man $<TARGET_FILE:sluice_tool> ${SLUICE_MAN_FOLDER}
  COMMAND ${CMAKE_COMMAND} -E touch ${SLUICE_MAN_FOLDER}/stamp
  DEPENDS sluice_tool ${PROJECT_SOURCE_DIR}/cmake/make-man
  COMMENT "Making the man pages" VERBATIM)
add_custom_target(man ALL DEPENDS ${SLUICE_MAN_FOLDER}/stamp)
