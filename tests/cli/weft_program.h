#pragma once

namespace weft::test {

/// Returns the path of the built program.
[[nodiscard]] const char* weft_program();

}  // namespace weft::test
