#include "weft/model/program/operands.h"

#include <variant>

namespace weft {

std::vector<BufferUse> buffers_of(const Op& op) {
  std::vector<BufferUse> uses;
  const auto add = [&]<OperandSpec kSpec>(const BufferOperand<kSpec>& buffer) {
    uses.push_back({buffer, kSpec});
  };
  std::visit([&](const auto& one) { for_each_buffer(one, add); }, op);
  return uses;
}

BufferId output_of(const Op& op) {
  for (const BufferUse& use : buffers_of(op)) {
    if (use.spec.writes()) return use.id;
  }
  return {};
}

}  // namespace weft
