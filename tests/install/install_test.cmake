# Installs BUILD into a fresh prefix below WORK, builds EXAMPLES there with COMPILER, and runs each.

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGV}")
    message(FATAL_ERROR "'${command}' ended with ${status}:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${EXAMPLES} DESTINATION ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${WORK}/examples -B ${WORK}/build -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release
)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build --output-on-failure --no-tests=error)
run(${WORK}/prefix/bin/weft --version)

# NVIDIA's libraries cost a tenth of a second and 200 MB, which who asks for no GPU must not pay. This is what ldd does.
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env LD_TRACE_LOADED_OBJECTS=1 ${WORK}/prefix/bin/weft OUTPUT_VARIABLE libraries
)
if(NOT libraries MATCHES "libc\\.so" OR libraries MATCHES "lib(cublas|cuda|nccl|nv)")
  message(FATAL_ERROR "weft is linked with:\n${libraries}")
endif()
