#include "weft/model/program/passes/find_misused_buffer.h"

#include <cstddef>
#include <variant>
#include <vector>

#include "weft/model/program/operands.h"

namespace weft {
namespace {

class MisuseFinder {
 public:
  explicit MisuseFinder(const Program& program)
      : program_(program), written_(program.buffers.size()), changed_(program.buffers.size()) {}

  std::string find() {
    std::string misuse = in_list("encode", program_.encode);
    if (misuse.empty()) misuse = in_list("decode", program_.decode);
    if (misuse.empty()) misuse = in_reading("hidden states: ", program_.hidden_states);
    return misuse;
  }

 private:
  std::string in_list(const std::string& title, const OpList& list) {
    for (std::size_t at = 0; at < list.ops.size(); ++at) {
      const Op& op = list.ops[at];
      const std::string misuse = in_op(op);
      if (misuse.empty()) continue;
      const auto name = std::visit([](const auto& one) { return one.kTraits.name; }, op);
      std::string found = title + ", op " + std::to_string(at) + " (";
      return found.append(name).append("): ").append(misuse);
    }
    return in_reading(title + ", result: ", list.result);
  }

  std::string in_op(const Op& op) {
    const std::vector<BufferUse> uses = buffers_of(op);
    for (const BufferUse& use : uses) {
      if (!use.spec.reads()) continue;
      if (std::string misuse = in_reading("", use.id); !misuse.empty()) return misuse;
    }
    const BufferId out = output_of(op);
    for (const BufferUse& use : uses) {
      const auto id = static_cast<std::size_t>(use.id);
      if (use.spec.writes() && (use.id != out || written_[id])) {
        return "writes " + name(use.id) + ", which an op has written";
      }
      if (use.spec.writes()) written_[id] = true;
      if (use.spec.overwrite != Overwrite::kMust) continue;
      if (out == kAbsent || !have_same_shape(use.id, out)) {
        return "changes " + name(use.id) + " into a buffer of another shape";
      }
      changed_[id] = true;
    }
    return {};
  }

  [[nodiscard]] std::string in_reading(const std::string& what, BufferId id) const {
    if (id == kAbsent) return {};
    const auto at = static_cast<std::size_t>(id);
    if (!written_[at]) return what + "reads " + name(id) + ", which no op has written";
    if (changed_[at]) return what + "reads " + name(id) + ", which an op has changed";
    return {};
  }

  [[nodiscard]] bool have_same_shape(BufferId a, BufferId b) const {
    const BufferPlan& one = plan(a);
    const BufferPlan& other = plan(b);
    return one.rows == other.rows && one.width == other.width &&
           one.rows_per_token == other.rows_per_token;
  }

  [[nodiscard]] const BufferPlan& plan(BufferId id) const {
    return program_.buffers[static_cast<std::size_t>(id)];
  }
  /// Returns a name like "x (12)", since several buffers have one name.
  [[nodiscard]] std::string name(BufferId id) const {
    return plan(id).name + " (" + std::to_string(static_cast<std::size_t>(id)) + ")";
  }

  const Program& program_;
  std::vector<bool> written_, changed_;
};

}  // namespace

std::string find_misused_buffer(const Program& program) { return MisuseFinder(program).find(); }

}  // namespace weft
