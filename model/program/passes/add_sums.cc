#include "weft/model/program/passes/add_sums.h"

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "weft/model/program/operands.h"

namespace weft {
namespace {

class SumAdder {
 public:
  explicit SumAdder(Program& program) : program_(program), sum_of_(program.buffers.size()) {}

  void run() {
    sum_up(program_.encode);
    program_.first_head_op = sum_up(program_.decode);
    read_sum(program_.hidden_states);
  }

 private:
  /// Returns the index of the head's first op afterwards.
  std::size_t sum_up(OpList& list) {
    const std::vector<bool> wanted = wanted_sums(list);
    std::vector<Op> ops;
    std::size_t head = 0;
    for (std::size_t at = 0; at < list.ops.size(); ++at) {
      Op& op = ops.emplace_back(std::move(list.ops[at]));
      const BufferId out = output_of(op);
      std::visit([&](auto& one) { read_sums(one, is_part(out)); }, op);
      if (out != kAbsent && wanted[static_cast<std::size_t>(out)]) ops.emplace_back(sum(out));
      if (at < program_.first_head_op) head = ops.size();
    }
    list.ops = std::move(ops);
    read_sum(list.result);
    return head;
  }

  /// By buffer: whether it is a part that some op reads for another purpose than adding it to a
  /// part.
  [[nodiscard]] std::vector<bool> wanted_sums(const OpList& list) const {
    std::vector<bool> wanted(program_.buffers.size());
    const auto want = [&](BufferId id) {
      if (is_part(id)) wanted[static_cast<std::size_t>(id)] = true;
    };
    for (const Op& op : list.ops) {
      const bool adds_to_part = is_part(output_of(op));
      for (const BufferUse& use : buffers_of(op)) {
        const bool is_added = adds_to_part && is_residual(use.spec);
        if (use.spec.reads() && !is_added) want(use.id);
      }
    }
    want(list.result);
    want(program_.hidden_states);
    return wanted;
  }

  AllReduceOp sum(BufferId part) {
    BufferPlan whole = program_.buffers[static_cast<std::size_t>(part)];
    whole.is_part = false;
    program_.buffers.push_back(std::move(whole));
    const BufferId sum(program_.buffers.size() - 1);
    sum_of_[static_cast<std::size_t>(part)] = sum;
    return {{part, sum}};
  }

  template <class AnyOp>
  void read_sums(AnyOp& op, bool writes_part) {
    for_each_buffer(op, [&]<OperandSpec kSpec>(BufferOperand<kSpec>& buffer) {
      if (kSpec.writes()) return;
      read_sum(buffer);
      const bool adds_whole = writes_part && is_residual(kSpec) && !is_part(buffer);
      if (adds_whole && program_.part.rank > 0) buffer = kAbsent;
    });
  }

  void read_sum(BufferId& id) const {
    if (id == kAbsent) return;
    const BufferId sum = sum_of_[static_cast<std::size_t>(id)];
    if (sum != kAbsent) id = sum;
  }

  [[nodiscard]] bool is_part(BufferId id) const {
    return id != kAbsent && program_.buffers[static_cast<std::size_t>(id)].is_part;
  }
  [[nodiscard]] static bool is_residual(const OperandSpec& spec) {
    return spec.reads() && spec.optional;
  }

  Program& program_;
  std::vector<BufferId> sum_of_;  // by buffer; kAbsent if it has none
};

}  // namespace

Program add_sums(Program program) {
  SumAdder(program).run();
  return program;
}

}  // namespace weft
