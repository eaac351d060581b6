#include "weft/model/program/passes/share_buffers.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "weft/model/program/operands.h"

namespace weft {
namespace {

class BufferSharer {
 public:
  explicit BufferSharer(Program& program) : program_(program) {
    for (std::size_t id = 0; id < program.buffers.size(); ++id) buffer_of_.emplace_back(id);
  }

  void run() {
    for (const OpList* list : {&program_.encode, &program_.decode}) share(*list);
    renumber();
    for (OpList* list : {&program_.encode, &program_.decode}) {
      for (Op& op : list->ops) {
        std::visit([&](auto& one) { for_each_buffer(one, [&](auto& id) { rename(id); }); }, op);
      }
      rename(list->result);
    }
    rename(program_.hidden_states);
  }

 private:
  void share(const OpList& list) {
    const std::vector<std::size_t> last = last_reads(list);
    for (std::size_t at = 0; at < list.ops.size(); ++at) {
      const BufferId out = output_of(list.ops[at]);
      const BufferId replaced = replaced_by(
          list.ops[at], out, [&](BufferId id) { return last[static_cast<std::size_t>(id)] == at; });
      if (replaced != kAbsent) buffer_of(out) = buffer_of(replaced);
    }
  }

  /// Returns by buffer the index of the last op that reads it; for a result, an index after all
  /// ops.
  [[nodiscard]] std::vector<std::size_t> last_reads(const OpList& list) const {
    std::vector<std::size_t> last(program_.buffers.size());
    for (std::size_t at = 0; at < list.ops.size(); ++at) {
      for (const BufferUse& use : buffers_of(list.ops[at])) {
        if (use.spec.reads()) last[static_cast<std::size_t>(use.id)] = at;
      }
    }
    for (const BufferId id : {list.result, program_.hidden_states}) {
      if (id != kAbsent) last[static_cast<std::size_t>(id)] = list.ops.size();
    }
    return last;
  }

  /// Returns the value whose buffer the op can overwrite with `out`; kAbsent if there is none.
  template <class IsLast>
  [[nodiscard]] BufferId replaced_by(const Op& op, BufferId out, const IsLast& is_last) const {
    if (out == kAbsent) return {};
    const std::vector<BufferUse> uses = buffers_of(op);
    const auto reads_on = [&](BufferId id) {
      return std::ranges::any_of(uses, [&](const BufferUse& use) {
        return use.id == id && use.spec.reads() && use.spec.overwrite == Overwrite::kNever;
      });
    };
    for (const BufferUse& use : uses) {
      if (use.spec.overwrite == Overwrite::kMust) return use.id;
      const bool may = use.spec.overwrite == Overwrite::kMay && is_last(use.id);
      if (may && !reads_on(use.id) && are_of_one_thing(use.id, out)) return use.id;
    }
    return {};
  }

  [[nodiscard]] bool are_of_one_thing(BufferId a, BufferId b) const {
    const BufferPlan& one = program_.buffers[static_cast<std::size_t>(a)];
    const BufferPlan& other = program_.buffers[static_cast<std::size_t>(b)];
    return one.name == other.name && one.rows == other.rows && one.width == other.width &&
           one.rows_per_token == other.rows_per_token;
  }

  /// Keeps only the buffers that values use, and renumbers them.
  void renumber() {
    std::vector<BufferPlan> kept;
    std::vector<BufferId> number(program_.buffers.size());
    for (std::size_t id = 0; id < program_.buffers.size(); ++id) {
      if (buffer_of_[id] != BufferId(id)) continue;
      number[id] = BufferId(kept.size());
      kept.push_back(std::move(program_.buffers[id]));
      kept.back().is_part = false;
    }
    for (BufferId& buffer : buffer_of_) buffer = number[static_cast<std::size_t>(buffer)];
    program_.buffers = std::move(kept);
  }

  void rename(BufferId& id) {
    if (id != kAbsent) id = buffer_of(id);
  }

  BufferId& buffer_of(BufferId value) { return buffer_of_[static_cast<std::size_t>(value)]; }

  Program& program_;
  std::vector<BufferId> buffer_of_;  // by value
};

}  // namespace

Program share_buffers(Program program) {
  BufferSharer(program).run();
  return program;
}

}  // namespace weft
