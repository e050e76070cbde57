# Run by cpack on the installed files: Debian requires compressed man pages and changelogs.
file(GLOB_RECURSE files ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/changelog*
                        ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/sluice*.1)
if(files)
  execute_process(COMMAND gzip -9nf ${files} COMMAND_ERROR_IS_FATAL ANY)
endif()
