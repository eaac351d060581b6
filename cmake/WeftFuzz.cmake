# weft_fuzz(NAME SOURCES a.cc ... LINKS target ...)
#
# One libFuzzer program, weft_fuzz_NAME, which reads what outsiders can send. ctest runs it for a second over the seeds in
# corpus/NAME beside the calling CMakeLists.txt; for longer runs give it a folder and -max_total_time. The bounds hold for
# every target: no input of a few KiB justifies a large allocation or a second of work.
function(weft_fuzz name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  set(target weft_fuzz_${name})
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINKS} weft_flags)
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  if(NOT IS_DIRECTORY ${seeds})
    message(FATAL_ERROR "fuzz target ${name} has no seeds in ${seeds}")
  endif()
  set(found ${CMAKE_CURRENT_BINARY_DIR}/found/${name}) # what libFuzzer adds goes here, never into the tree
  file(MAKE_DIRECTORY ${found})
  add_test(NAME fuzz_${name} COMMAND ${target} -max_total_time=1 -timeout=5 -malloc_limit_mb=64
                                     -artifact_prefix=${found}/ ${found} ${seeds}
  )
endfunction()
