# How every file of this tree is compiled. Nothing here reaches the users of an installed package.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Sources say #include "weft/core/mailbox/mailbox.h", in the tree as in the installed package, so that our folders can never
# be mistaken for folders of an application that embeds us.
set(WEFT_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${WEFT_INCLUDE_DIR})
file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${WEFT_INCLUDE_DIR}/weft SYMBOLIC)

find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE AND PROJECT_IS_TOP_LEVEL)
  # ccache reuses in one clone what another clone compiled: no command names the folder but through paths that ccache makes
  # relative, and debug information is relative to the root of the tree (so start a debugger there).
  set(launcher env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${WEFT_CCACHE})
  # Without these two ccache leaves sources with precompiled headers alone.
  list(INSERT launcher 1 CCACHE_SLOPPINESS=pch_defines,time_macros)
  # Without a run of the preprocessor before the compiler's, which costs a seventh of a header's check. The compiler then
  # gets absolute paths, so it is not for what carries the names of files to sanitizers and debuggers.
  set(quick_launcher ${launcher})
  list(INSERT quick_launcher 1 CCACHE_DEPEND=1)
  if(WEFT_LINT)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${quick_launcher})
  else()
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  endif()
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${quick_launcher})
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.>)
endif()

# Warnings are errors for the compilers that the checks run with. Another version may warn of more, which is no reason
# for somebody's build to fail.
set(WEFT_ERRORS "")
if(WEFT_WERROR AND ((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
                    OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^19\\."))
)
  set(WEFT_ERRORS -Werror)
endif()

# Flags shared by all our targets, the tests and benches included.
add_library(weft_flags INTERFACE)
target_include_directories(weft_flags INTERFACE ${WEFT_INCLUDE_DIR})
target_compile_options(
  weft_flags
  INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Woverloaded-virtual;-Wundef;${WEFT_ERRORS}>
)
# Results must not depend on the processor, nor on how the compiler groups its code: only what is written as a
# fused multiplication is one. GCC would fuse wherever every processor of an architecture can, as on ARM64.
target_compile_options(weft_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  # With optimisation GCC sees overlaps and overflows that are not there: 12 in any std::string that is put together (GCC
  # bug 105651), 14 in loops over a vector that was resized.
  target_compile_options(
    weft_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>
  )
endif()

if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A class of one source may have members of that source's anonymous namespace; in a unity build GCC takes the source
  # for a header and warns. A local name may be that of another source's global one.
  target_compile_options(
    weft_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage;-Wno-shadow;-Wshadow=local>
  )
endif()

if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(weft_flags INTERFACE -Wno-shadow)  # of clang's, the plain build has it
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # libstdc++ 12 deprecates get_temporary_buffer and calls it in its own std::stable_sort; clang says so at each of our
  # calls. GCC, which builds what ships, still warns of what is deprecated.
  target_compile_options(weft_flags INTERFACE -Wno-deprecated-declarations)
endif()

if(WEFT_SANITIZE)
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
  # A hundred programs of some hundred megabytes; GNU's linker takes three times as long.
  find_program(WEFT_LLD ld.lld)
  if(WEFT_LLD)
    target_link_options(weft_flags INTERFACE -fuse-ld=lld)
  endif()
  # A broken invariant stops a test at once; in production it fails one actor (core/error/internal_error.h).
  target_compile_definitions(weft_flags INTERFACE WEFT_ABORT_ON_INTERNAL_ERROR WEFT_SANITIZED)
  if(WEFT_SANITIZE MATCHES address)
    target_compile_definitions(weft_flags INTERFACE WEFT_ADDRESS_SANITIZED)
  endif()
endif()
if(WEFT_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # Clang's static run-time library has operator new, and so have the tests that count what it gives.
  set(runtime libclang_rt.tsan-${CMAKE_SYSTEM_PROCESSOR}.so)
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${runtime} OUTPUT_VARIABLE runtime
    OUTPUT_STRIP_TRAILING_WHITESPACE
  )
  cmake_path(GET runtime PARENT_PATH runtime_folder)
  target_link_options(weft_flags INTERFACE -shared-libsan LINKER:-rpath,${runtime_folder})
endif()
if(WEFT_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Asio and concurrentqueue use fences, which ThreadSanitizer does not model; what it then misses or invents is
  # judged by the tests, not by a warning in somebody else's header.
  target_compile_options(weft_flags INTERFACE -Wno-tsan)
endif()

if(WEFT_LINT)
  # For every target, the generated ones that compile each header alone too.
  add_compile_options(-Wdocumentation -Wno-unused-command-line-argument)
  add_compile_options(${WEFT_ERRORS})
endif()

if(WEFT_PORTABLE)
  target_link_options(weft_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

# weft_has_coroutines(TARGET ...): GCC 12 with optimisation takes the memory of Asio's coroutine frames for another's.
function(weft_has_coroutines)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    foreach(target IN LISTS ARGN)
      target_compile_options(${target} PRIVATE -Wno-mismatched-new-delete)
    endforeach()
  endif()
endfunction()

# weft_optimised_in_debug(TARGET): for what tests spend most of their time in, under sanitizers. To compile it takes two and
# a half times as long, so not for all.
function(weft_optimised_in_debug target)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()
