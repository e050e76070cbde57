# cmake -DLOG=FILE -P SluiceLogged.cmake COMMAND ARGUMENT ...: runs the command with its output in FILE, and prints it on
# failure.
set(command)
foreach(index RANGE 4 ${CMAKE_ARGC})
  if(index LESS CMAKE_ARGC)
    list(APPEND command "${CMAKE_ARGV${index}}")
  endif()
endforeach()
execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
file(WRITE "${LOG}" "${said}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${said}")
endif()
