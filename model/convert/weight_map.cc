#include "weft/model/convert/weight_map.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>

#include "weft/core/error/internal_error.h"
#include "weft/model/model_error.h"
#include "weft/model/program/operands.h"

namespace weft {
namespace {

// A file has theta and factors in f32, and computes angles from them in another order.
constexpr double kSameAngle = 1e-6;
// The frequency of a pair that is not rotated: no position rotates it visibly.
constexpr double kNoAngle = 1e-20;

/// Maps the rows of a matrix between two orders of rotated pairs.
struct TurnedRows {
  std::int64_t rows = 0;  ///< rows of queries and keys; values stay
  std::int64_t head_size = 0;
  std::int64_t size = 0;  ///< rotated numbers of a head
  bool interleaves = false;

  /// Returns the row in `from` for a row in `to`.
  [[nodiscard]] std::int64_t source(std::int64_t row) const {
    const std::int64_t at = row % head_size;
    if (row >= rows || at >= size) return row;
    const std::int64_t half = size / 2;
    const std::int64_t other = interleaves ? (at % 2) * half + at / 2
                               : at < half ? 2 * at
                                           : 2 * (at - half) + 1;
    return row - at + other;
  }
};

bool is_close(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::abs(x - y) <= std::max(kSameAngle * std::max(std::abs(x), std::abs(y)), kNoAngle);
  });
}

bool is_same(const RotaryFrequencies& a, const RotaryFrequencies& b) {
  return is_close(a.frequency, b.frequency) && is_close(a.long_frequency, b.long_frequency) &&
         is_close({a.magnitude, a.long_magnitude}, {b.magnitude, b.long_magnitude}) &&
         a.long_from == b.long_from && a.context == b.context;
}

bool is_same(const BufferPlan& a, const BufferPlan& b) {
  return a.name == b.name && a.rows == b.rows && a.width == b.width &&
         a.rows_per_token == b.rows_per_token;
}

bool is_same(NormSpec a, NormSpec b) {
  a.weight_offset = b.weight_offset = 0;
  return a == b;
}

std::string line_of(const Program& program, std::size_t number) {
  std::istringstream lines(describe(program));
  std::string line;
  for (std::size_t i = 0; std::getline(lines, line); ++i) {
    if (i != number) continue;
    const std::size_t text = line.find_first_not_of("0123456789 ");
    return text == std::string::npos ? line : line.substr(text);
  }
  return "nothing";
}

class ProgramMatcher {
 public:
  ProgramMatcher(const Program& from, const Program& to) : from_(from), to_(to) {}

  Result<WeightMap> run() {
    std::string_view differs = whole();
    if (!differs.empty()) return refusal(std::string(differs));
    std::size_t line = 0;
    for (const auto& [own, other] :
         {std::pair(&from_.encode, &to_.encode), std::pair(&from_.decode, &to_.decode)}) {
      if (own->ops.empty()) continue;
      line += 1;  // the list's title
      find_turns(*own, *other);
      for (std::size_t i = 0; i < own->ops.size(); ++i) {
        if (match(own->ops[i], other->ops[i])) continue;
        return refusal("'" + line_of(from_, line + i) + "' would be read as '" +
                       line_of(to_, line + i) + "'");
      }
      line += own->ops.size();
    }
    return std::move(map_);
  }

 private:
  static Error refusal(const std::string& what) {
    return {ModelErrc::kUnsupportedFormat, "GGUF has no form for all of this model: " + what};
  }

  [[nodiscard]] std::string_view whole() const {
    if (from_.vocabulary != to_.vocabulary) return "its vocabulary";
    if (from_.context != to_.context) return "its context";
    if (from_.has_encoder != to_.has_encoder || from_.has_logits != to_.has_logits ||
        from_.causal != to_.causal) {
      return "what its stacks are for";
    }
    if (from_.start_token != to_.start_token) return "its start token";
    if (!std::ranges::equal(from_.buffers, to_.buffers,
                            [](const auto& a, const auto& b) { return is_same(a, b); }))
      return "its sizes";
    if (from_.encode.ops.size() != to_.encode.ops.size() ||
        from_.decode.ops.size() != to_.decode.ops.size())
      return "some of its norms, gates or layers";
    return {};
  }

  void find_turns(const OpList& own, const OpList& other) {
    for (std::size_t i = 0; i < own.ops.size(); ++i) {
      const auto* a = std::get_if<RotaryOp>(&own.ops[i]);
      const auto* b = std::get_if<RotaryOp>(&other.ops[i]);
      if (a == nullptr || b == nullptr || a->table == kAbsent || a->spec.style == b->spec.style)
        continue;
      const std::int64_t heads = std::int64_t{a->shape.heads} + a->shape.kv_heads;
      turns_[a->qkv.after] = {heads * a->shape.head_size, a->shape.head_size, a->spec.rotary_size,
                              a->spec.style == RotaryStyle::kHalves};
    }
  }

  [[nodiscard]] const TurnedRows* turns_of(BufferId buffer) const {
    const auto found = turns_.find(buffer);
    return found == turns_.end() ? nullptr : &found->second;
  }

  bool match(const Op& own, const Op& other) {
    if (own.index() != other.index()) return false;
    return std::visit(
        [&](const auto& op) {
          const auto& counterpart = std::get<std::decay_t<decltype(op)>>(other);
          return same(op, counterpart) && same_operands(op, counterpart);
        },
        own);
  }

  /// Whether the ops have the same buffers, and their weights the same numbers.
  template <class AnyOp>
  bool same_operands(const AnyOp& a, const AnyOp& b) {
    bool all = true;
    for_each_operand_of_both(a, b, [&](const auto& own, const auto& other) {
      all = all && matches(own, other, change_of(a, b, own));
    });
    return all;
  }

  // Comparisons of attributes. They return false if the ops compute different results.

  template <class AnyOp>
  static bool same(const AnyOp& a, const AnyOp& b) {
    return have_same_attributes(a, b);
  }

  static bool same(const EmbedOp& a, const EmbedOp& b) {
    return a.spec.scale == b.spec.scale && a.first_column == b.first_column;
  }

  static bool same(const NormOp& a, const NormOp& b) {
    return is_same(a.spec, b.spec) && a.scale == b.scale && a.sum_scale == b.sum_scale;
  }

  static bool same(const RotaryOp& a, const RotaryOp& b) {
    RotarySpec spec = a.spec;
    if (a.table != kAbsent) spec.style = b.spec.style;
    return spec == b.spec && a.shape == b.shape && a.group == b.group && a.layer == b.layer &&
           a.stores == b.stores && same(a.query_norm, b.query_norm) &&
           same(a.key_norm, b.key_norm) && same(a.value_norm, b.value_norm);
  }

  static bool same(const HeadNormPlan& a, const HeadNormPlan& b) {
    if (a.spec.enabled != b.spec.enabled || a.spec.scope != b.spec.scope) return false;
    return !a.spec.enabled || is_same(a.spec.norm, b.spec.norm);
  }

  static bool same(const AttentionOp& a, const AttentionOp& b) {
    AttentionSpec own = a.spec;
    AttentionSpec other = b.spec;
    if (a.relative_bias == kAbsent) own.relative_max_distance = other.relative_max_distance = 0;
    return own == other && a.heads == b.heads && a.group == b.group && a.layer == b.layer;
  }

  // Operands. The following struct says how a weight's numbers in `to` differ from those in `from`.

  struct WeightChange {
    std::int64_t skipped = 0;  ///< numbers of `from` that are skipped at the start
    float offset = 0;          ///< is added to each number
    const TurnedRows* turns = nullptr;
  };

  template <class AnyOp, class Operand>
  static WeightChange change_of(const AnyOp& /*a*/, const AnyOp& /*b*/, const Operand& /*own*/) {
    return {};
  }

  WeightChange change_of(const EmbedOp& a, const EmbedOp& b, const VectorId& own) const {
    if (&own != &a.positions) return {};
    const std::int64_t width = from_.buffers[static_cast<std::size_t>(a.out)].width;
    return {.skipped = (a.spec.position_offset - b.spec.position_offset) * width};
  }

  static WeightChange change_of(const NormOp& a, const NormOp& b, const VectorId& own) {
    if (&own != &a.weight) return {};
    return {.offset = a.spec.weight_offset - b.spec.weight_offset};
  }

  WeightChange change_of(const LinearOp& a, const LinearOp& /*b*/, const VectorId& /*own*/) const {
    return {.turns = turns_of(a.out)};
  }
  WeightChange change_of(const LinearOp& a, const LinearOp& /*b*/, const MatrixId& /*own*/) const {
    return {.turns = turns_of(a.out)};
  }

  WeightChange change_of(const RotaryOp& a, const RotaryOp& b, const VectorId& own) const {
    WeightChange change{.turns = turns_of(a.qkv.after)};
    for (const auto norm : {&RotaryOp::query_norm, &RotaryOp::key_norm, &RotaryOp::value_norm}) {
      if (&own != &(a.*norm).weight) continue;
      change.offset = (a.*norm).spec.norm.weight_offset - (b.*norm).spec.norm.weight_offset;
    }
    return change;
  }

  static bool matches(const BufferId& own, const BufferId& other, const WeightChange& /*change*/) {
    return own == other;
  }

  bool matches(const RotaryId& own, const RotaryId& other, const WeightChange& /*change*/) const {
    if (own == kAbsent || other == kAbsent) return own == other;
    return is_same(from_.rotary[static_cast<std::size_t>(own)],
                   to_.rotary[static_cast<std::size_t>(other)]);
  }

  bool matches(const TableRows& own, const TableRows& other, const WeightChange& /*change*/) {
    const CheckpointTensor* const tensor = own.tensor;
    if (tensor == nullptr || other.tensor == nullptr) return tensor == other.tensor;
    const std::int64_t width = tensor->shape[1];
    keep(*other.tensor, width, 0, {0, tensor->shape[0], tensor, 0, width, 1});
    return true;
  }

  bool matches(const MatrixId& own, const MatrixId& other, const WeightChange& change) {
    if ((own == kAbsent) != (other == kAbsent)) return false;
    if (own == kAbsent) return true;
    const TurnedRows* const turns = change.turns;
    const MatrixPlan& a = from_.matrices[static_cast<std::size_t>(own)];
    const MatrixPlan& b = to_.matrices[static_cast<std::size_t>(other)];
    if (a.outputs != b.outputs || a.inputs != b.inputs || a.gated != b.gated) return false;
    for (const MatrixPart& part : b.parts) {
      if (part.stride_input != 1 || part.stride_output % b.inputs != 0)
        internal_error("map_weights: a tensor that is no matrix of rows");
      const std::int64_t step = part.stride_output / b.inputs;
      for (std::int64_t i = 0; i < part.outputs;) {
        const std::int64_t row = part.first_output + i;
        const std::int64_t wanted = turns == nullptr ? row : turns->source(row);
        const bool alone = step != 1 || (turns != nullptr && row < turns->rows);
        const std::int64_t most = alone ? 1 : part.outputs - i;
        const auto run = rows_at(a, wanted, most);
        if (!run) return false;
        UnitRun placed = *run;
        placed.first = part.offset / b.inputs + i * step;
        keep(*part.tensor, b.inputs, 0, placed);
        i += placed.count;
      }
    }
    return true;
  }

  static std::optional<UnitRun> rows_at(const MatrixPlan& matrix, std::int64_t row,
                                        std::int64_t most) {
    const auto found = std::ranges::find_if(matrix.parts, [&](const MatrixPart& part) {
      return row >= part.first_output && row < part.first_output + part.outputs;
    });
    if (found == matrix.parts.end()) return std::nullopt;
    const std::int64_t at = row - found->first_output;
    return UnitRun{0,
                   std::min(most, found->outputs - at),
                   found->tensor,
                   found->offset + at * found->stride_output,
                   found->stride_output,
                   found->stride_input};
  }

  bool matches(const VectorId& own, const VectorId& other, const WeightChange& change) {
    if ((own == kAbsent) != (other == kAbsent)) return false;
    if (own == kAbsent) return true;
    const VectorPlan& a = from_.vectors[static_cast<std::size_t>(own)];
    const VectorPlan& b = to_.vectors[static_cast<std::size_t>(other)];
    if (a.parts.empty() != b.parts.empty() || a.size - change.skipped != b.size) return false;
    if (a.parts.empty()) return a.values == b.values;
    for (const VectorPart& part : b.parts) {
      for (std::int64_t i = 0; i < part.count;) {
        const std::int64_t number = part.first + i;
        const std::int64_t wanted =
            change.skipped + (change.turns == nullptr ? number : change.turns->source(number));
        const bool alone = part.stride != 1 || change.turns != nullptr;
        const auto run = numbers_at(a, wanted, alone ? 1 : part.count - i);
        if (!run) return false;
        UnitRun placed = *run;
        placed.first = part.offset + i * part.stride;
        keep(*part.tensor, 1, change.offset, placed);
        i += placed.count;
      }
    }
    return true;
  }

  static std::optional<UnitRun> numbers_at(const VectorPlan& vector, std::int64_t number,
                                           std::int64_t most) {
    const auto found = std::ranges::find_if(vector.parts, [&](const VectorPart& part) {
      return number >= part.first && number < part.first + part.count;
    });
    if (found == vector.parts.end()) return std::nullopt;
    const std::int64_t at = number - found->first;
    return UnitRun{0,
                   std::min(most, found->count - at),
                   found->tensor,
                   found->offset + at * found->stride,
                   found->stride,
                   1};
  }

  void keep(const CheckpointTensor& made, std::int64_t length, float offset, const UnitRun& run) {
    UnitMap& map = map_[made.name];
    // Layers may share a tensor, and the head may be the embedding.
    if (map.runs.empty()) {
      map.length = length;
      map.offset = offset;
    }
    map.runs.push_back(run);
  }

  const Program& from_;
  const Program& to_;
  std::map<BufferId, TurnedRows> turns_;
  WeightMap map_;
};

/// Sorts the runs, drops duplicates and joins neighbours. Returns false if a unit is missing or
/// comes from two places.
bool tidy(UnitMap& map, std::int64_t units) {
  std::ranges::sort(map.runs, {}, &UnitRun::first);
  std::vector<UnitRun> runs;
  std::int64_t end = 0;
  for (const UnitRun& run : map.runs) {
    if (!runs.empty() && run == runs.back()) continue;
    if (run.first != end) return false;
    end += run.count;
    runs.push_back(run);
  }
  map.runs = std::move(runs);
  return end == units;
}

}  // namespace

Result<WeightMap> map_weights(const Program& from, const Program& to) {
  auto map = ProgramMatcher(from, to).run();
  if (!map) return map;
  std::map<std::string_view, std::int64_t> numbers;
  const auto count = [&](const CheckpointTensor& tensor) {
    std::int64_t all = 1;
    for (const std::int64_t extent : tensor.shape) all *= extent;
    numbers[tensor.name] = all;
  };
  for (const MatrixPlan& matrix : to.matrices) {
    for (const MatrixPart& part : matrix.parts) count(*part.tensor);
  }
  for (const VectorPlan& vector : to.vectors) {
    for (const VectorPart& part : vector.parts) count(*part.tensor);
  }
  for (auto& [name, units] : *map) {
    const auto found = numbers.find(name);
    if (found != numbers.end() && !tidy(units, found->second / units.length)) {
      return Error{ModelErrc::kUnsupportedFormat, "GGUF has no form for all of this model: its " +
                                                      name + " would be of several places"};
    }
  }
  return map;
}

}  // namespace weft
