# weft_layer(NAME [FOLDER path] [PUBLIC_HEADERS a.h ...] HEADERS b.h ... SOURCES a.cc ... [USES layer ...]
#            [LINKS target ...])
#
# One folder of the house (NAME, or FOLDER where it lies deeper) as one library, weft_NAME. PUBLIC_HEADERS are installed,
# HEADERS are the other headers of the folder; each of both must compile alone (target all_verify_interface_header_sets).
# USES names lower layers; LINKS, third parties.
function(weft_layer name)
  cmake_parse_arguments(arg "" "FOLDER" "PUBLIC_HEADERS;HEADERS;SOURCES;USES;LINKS" ${ARGN})
  if(NOT arg_FOLDER)
    set(arg_FOLDER ${name})
  endif()
  set(target weft_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  weft_headers(${target} PUBLIC ${arg_FOLDER} ${arg_PUBLIC_HEADERS})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  list(TRANSFORM arg_USES PREPEND weft_)
  target_link_libraries(
    ${target}
    PUBLIC ${arg_USES} ${arg_LINKS}
    PRIVATE $<BUILD_INTERFACE:weft_flags>
  )
  set_property(GLOBAL APPEND PROPERTY WEFT_LAYERS ${target})

  # CMake installs all header sets of a library or none, and verifies no private ones. So the private headers are the set
  # of a library beside it, which is not installed and exists to be verified.
  add_library(${target}_private_headers INTERFACE)
  weft_headers(${target}_private_headers INTERFACE ${arg_FOLDER} ${arg_HEADERS})
  target_link_libraries(${target}_private_headers INTERFACE ${target})
endfunction()

# weft_headers(TARGET SCOPE FOLDER a.h ...): the target's header set. Its paths go through the link in the build folder, so
# that "weft/..." is the only way to spell an include of ours.
function(weft_headers target scope folder)
  set(headers ${ARGN})
  list(TRANSFORM headers PREPEND ${WEFT_INCLUDE_DIR}/weft/${folder}/)
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${WEFT_INCLUDE_DIR} FILES ${headers})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()
