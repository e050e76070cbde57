# Completions for bash, zsh and fish, made from the built tool's --help (cmake/make-completions).
if(SLUICE_SANITIZE OR CMAKE_CROSSCOMPILING) # the tool may not run here
  return()
endif()

set(SLUICE_COMPLETIONS_FOLDER ${PROJECT_BINARY_DIR}/completions)
add_custom_command(
  OUTPUT ${SLUICE_COMPLETIONS_FOLDER}/sluice ${SLUICE_COMPLETIONS_FOLDER}/_sluice
         ${SLUICE_COMPLETIONS_FOLDER}/sluice.fish
  COMMAND ${PROJECT_SOURCE_DIR}/cmake/make-completions $<TARGET_FILE:sluice_tool>
          ${SLUICE_COMPLETIONS_FOLDER}
  DEPENDS sluice_tool ${PROJECT_SOURCE_DIR}/cmake/make-completions
  COMMENT "Making the shells' completions" VERBATIM)
add_custom_target(completions ALL DEPENDS ${SLUICE_COMPLETIONS_FOLDER}/sluice)
