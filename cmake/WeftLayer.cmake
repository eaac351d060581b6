# weft_layer(NAME [FOLDER path] HEADERS a.h ... SOURCES a.cc ... [USES layer ...] [LINKS target ...])
#
# One folder of the house (NAME, or FOLDER where it lies deeper) as one library, weft_NAME. HEADERS is every header of the folder: each is installed and each
# must compile alone (target all_verify_interface_header_sets). USES names lower layers; LINKS, third parties.
function(weft_layer name)
  cmake_parse_arguments(arg "" "FOLDER" "HEADERS;SOURCES;USES;LINKS" ${ARGN})
  if(NOT arg_FOLDER)
    set(arg_FOLDER ${name})
  endif()
  set(target weft_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  # Through the link, so that "weft/..." is the only way to spell an include of ours.
  list(TRANSFORM arg_HEADERS PREPEND ${WEFT_INCLUDE_DIR}/weft/${arg_FOLDER}/)
  target_sources(
    ${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${WEFT_INCLUDE_DIR} FILES ${arg_HEADERS}
  )
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  list(TRANSFORM arg_USES PREPEND weft_)
  target_link_libraries(
    ${target}
    PUBLIC ${arg_USES} ${arg_LINKS}
    PRIVATE $<BUILD_INTERFACE:weft_flags>
  )
  set_property(GLOBAL APPEND PROPERTY WEFT_LAYERS ${target})
endfunction()
