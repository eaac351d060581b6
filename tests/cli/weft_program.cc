#include "weft/tests/cli/weft_program.h"

namespace weft::test {

const char* weft_program() { return WEFT_PROGRAM; }

}  // namespace weft::test
