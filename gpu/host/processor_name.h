#pragma once

#include <istream>
#include <string>

namespace weft {

/// Returns the processor's name from /proc/cpuinfo. On x86-64 it is the line "model name". On ARM64
/// it comes from the first core's maker and part: "Arm Neoverse-N1" if they are known, else
/// "implementer 0x41, part 0xd0c". Empty if the file has neither.
[[nodiscard]] std::string processor_name(std::istream& cpuinfo);

}  // namespace weft
