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

# A project in C alone, which finds no package but this one.
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/c_application -B ${WORK}/c_build -G Ninja
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DSOURCE=${WORK}/examples/steps_in_c.c -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON
)
run(${CMAKE_COMMAND} --build ${WORK}/c_build)
run(${WORK}/c_build/c_application ${WORK}/examples/demo_model/model)

# Another Boost than the one that Weft was built with is refused when the package is looked for.
set(other ${WORK}/other_boost)
file(WRITE ${other}/BoostConfig.cmake "set(Boost_VERSION_STRING 1.99.0)\n")
file(WRITE ${other}/BoostConfigVersion.cmake "set(PACKAGE_VERSION 1.99.0)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${WORK}/examples -B ${WORK}/other_build -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix
          -DCMAKE_CXX_COMPILER=${COMPILER} -DBoost_DIR=${other}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output
)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(status EQUAL 0 OR NOT output MATCHES "Weft was built with Boost [0-9.]+, and [^ ]+ has 1.99.0")
  message(FATAL_ERROR "another Boost was not refused:\n${output}")
endif()

# NVIDIA's libraries cost a tenth of a second and 200 MB, which who asks for no GPU must not pay. This is what ldd does.
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env LD_TRACE_LOADED_OBJECTS=1 ${WORK}/prefix/bin/weft OUTPUT_VARIABLE libraries
)
if(NOT libraries MATCHES "libc\\.so" OR libraries MATCHES "lib(cublas|cuda|nccl|nv)")
  message(FATAL_ERROR "weft is linked with:\n${libraries}")
endif()
