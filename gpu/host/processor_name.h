#pragma once

#include <istream>
#include <string>

namespace weft {

/// The processor's name as /proc/cpuinfo tells it. On x86-64 that is the line "model name". On
/// ARM64 the first core's maker and part become a name where they are known, as
/// "Arm Neoverse-N1", and else are said as they stand: "implementer 0x41, part 0xd0c". Empty when
/// the file has neither.
[[nodiscard]] std::string processor_name(std::istream& cpuinfo);

}  // namespace weft
