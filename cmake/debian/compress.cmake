# Run by cpack on what was installed: Debian has man pages and changelogs compressed.
file(GLOB_RECURSE files ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/changelog*
                        ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/sluice*.1)
if(files)
  execute_process(COMMAND gzip -9nf ${files} COMMAND_ERROR_IS_FATAL ANY)
endif()
