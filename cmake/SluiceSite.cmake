# The target `site`: the documentation as web pages, in BUILD/site/html. docs/site/build.py names the packages that it needs;
# nothing else of the build looks for them.
add_custom_target(site
  COMMAND ${PROJECT_SOURCE_DIR}/docs/site/build.py ${PROJECT_BINARY_DIR} ${PROJECT_VERSION} ${PROJECT_BINARY_DIR}/python
  DEPENDS sluice_python sluice_tool USES_TERMINAL VERBATIM)
