# The C interface alone: find_package(weft_c), target weft::c, header <weft/c_api/weft_c.h>.
include(${CMAKE_CURRENT_LIST_DIR}/weft_cTargets.cmake)
