# The installed package: find_package(weft), target weft::weft, header <weft/weft.h>.

include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY WEFT_LAYERS)
add_library(weft_all INTERFACE)
add_library(weft::weft ALIAS weft_all)
set_target_properties(weft_all PROPERTIES EXPORT_NAME weft)
target_link_libraries(weft_all INTERFACE ${layers})
target_sources(
  weft_all INTERFACE FILE_SET HEADERS BASE_DIRS ${WEFT_INCLUDE_DIR} FILES ${WEFT_INCLUDE_DIR}/weft/weft.h
)

install(TARGETS weft_all ${layers} EXPORT weft FILE_SET HEADERS)
install(EXPORT weft NAMESPACE weft:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

set(package_dir ${PROJECT_BINARY_DIR}/package)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/weftConfig.cmake.in ${package_dir}/weftConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft
)
write_basic_package_version_file(
  ${package_dir}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion
)
install(FILES ${package_dir}/weftConfig.cmake ${package_dir}/weftConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft
)
