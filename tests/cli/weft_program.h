#pragma once

namespace weft::test {

/// Where the built program lies.
[[nodiscard]] const char* weft_program();

}  // namespace weft::test
