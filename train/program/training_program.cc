#include "weft/train/program/training_program.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "weft/model/program/compile_values.h"
#include "weft/model/program/operands.h"
#include "weft/model/spec/architecture.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

Error refused(const std::string& block, std::string_view why) {
  return {TrainErrc::kCannotTrain, std::string(block).append(": ").append(why)};
}

/// Says why an op has no gradient.
class Refusal {
 public:
  explicit Refusal(const Program& program) : program_(program) {}

  /// The op whose block the next ones belong to, for ops without weights.
  void note(const Op& op) {
    std::visit(
        [&](const auto& each) {
          for_each_matrix(each, [&](const MatrixId& id) {
            place_ = program_.matrices[static_cast<std::size_t>(id)].name;
          });
        },
        op);
  }

  Result<void> operator()(const RotaryOp& op) const {
    if (!op.stores || op.shape.kv_heads == 0 || op.shape.heads == 0)
      return refused(place_, "reads another layer's keys and values");
    if (op.spec.clip > 0) return refused(place_, "clips queries, keys and values");
    if (op.spec.norm_after_rotary) return refused(place_, "has norms behind its rotation");
    if (op.spec.query_growth_step != 0) return refused(place_, "scales queries by position");
    return {};
  }
  Result<void> operator()(const AttentionOp& op) const {
    const auto name = [&](VectorId id) {
      return program_.vectors[static_cast<std::size_t>(id)].name;
    };
    if (op.alibi_slopes != kAbsent) return refused(name(op.alibi_slopes), "has no gradient here");
    if (op.relative_bias != kAbsent) return refused(name(op.relative_bias), "has no gradient here");
    if (op.sinks != kAbsent) return refused(name(op.sinks), "has no gradient here");
    if (!op.spec.causal || op.group != KvGroup::kSelf)
      return refused(place_, "is attention to tokens behind, which has no gradient here");
    return {};
  }
  Result<void> operator()(const ExpertLinearOp& op) const {
    return refused(program_.matrices[static_cast<std::size_t>(op.weights.front())].name,
                   "experts have no gradient here");
  }
  Result<void> operator()(const RouteOp& /*op*/) const {
    return refused(place_, "experts have no gradient here");
  }
  template <class AnyOp>
    requires(AnyOp::kTraits.work == WorkKind::kExchange || std::same_as<AnyOp, CombineOp> ||
             std::same_as<AnyOp, AdapterShrinkOp> || std::same_as<AnyOp, AdapterExpandOp> ||
             std::same_as<AnyOp, ActivateOp>)
  Result<void> operator()(const AnyOp& /*op*/) const {
    return refused(std::string(AnyOp::kTraits.name), "has no gradient here");
  }
  template <class AnyOp>
  Result<void> operator()(const AnyOp& /*op*/) const {
    return {};
  }

 private:
  const Program& program_;
  std::string place_ = "attention";
};

Result<void> check_ops(const Program& program) {
  if (program.has_encoder) return refused("encoder", "only decoders are trained");
  if (!program.generates()) return refused("head", "the model gives no logits of next tokens");
  Refusal refusal(program);
  for (const Op& op : program.decode.ops) {
    refusal.note(op);
    if (auto trainable = std::visit(refusal, op); !trainable) return trainable;
  }
  return {};
}

void make_plain(TrainingProgram& training) {
  for (MatrixPlan& matrix : training.program.matrices) {
    training.gated.push_back(matrix.gated ? 1 : 0);
    if (matrix.gated) matrix.outputs *= 2;
    matrix.gated = false;
    matrix.runs.clear();
  }
}

void find_heads(TrainingProgram& training) {
  std::map<BufferId, HeadShape> shapes;
  const std::vector<Op>& ops = training.program.decode.ops;
  training.heads.resize(ops.size());
  for (std::size_t at = 0; at < ops.size(); ++at) {
    if (const auto* rotary = std::get_if<RotaryOp>(&ops[at]))
      shapes[rotary->qkv.after] = rotary->shape;
    if (const auto* attention = std::get_if<AttentionOp>(&ops[at]))
      training.heads[at] = shapes.at(attention->queries);
  }
}

/// By place between ops, the only value that ops before it wrote and ops behind it read; absent
/// where there are several.
std::vector<BufferId> single_values(const Program& program) {
  const std::vector<Op>& ops = program.decode.ops;
  std::vector<std::size_t> written(program.buffers.size());
  std::vector<std::size_t> read(program.buffers.size());
  for (std::size_t at = 0; at < ops.size(); ++at) {
    for (const BufferUse& use : buffers_of(ops[at])) {
      (use.spec.writes() ? written : read)[static_cast<std::size_t>(use.id)] = at;
    }
  }
  std::vector<int> alive(ops.size() + 1);
  std::vector<BufferId> single(ops.size() + 1);
  for (std::size_t id = 0; id < program.buffers.size(); ++id) {
    for (std::size_t at = written[id] + 1; at <= read[id]; ++at) {
      single[at] = ++alive[at] == 1 ? static_cast<BufferId>(id) : BufferId();
    }
  }
  return single;
}

/// Cuts before each attention, at the last place where one value is alive.
void cut(TrainingProgram& training) {
  const Program& program = training.program;
  const std::vector<BufferId> single = single_values(program);
  std::size_t possible = 0;
  Segment segment;
  const auto end_segment = [&](std::size_t at, BufferId value) {
    segment.end = at;
    segment.out = value;
    training.layers.push_back(segment);
    segment = {at, at, value, kAbsent};
  };
  for (std::size_t at = 1; at < program.first_head_op; ++at) {
    if (single[at] != kAbsent) possible = at;
    const bool attends = std::holds_alternative<AttentionOp>(program.decode.ops[at]);
    if (attends && possible > segment.begin) end_segment(possible, single[possible]);
  }
  end_segment(program.first_head_op, program.hidden_states);
  training.head = {program.first_head_op, program.decode.ops.size(), program.hidden_states,
                   program.decode.result};
}

}  // namespace

Result<TrainingProgram> make_training_program(const Architecture& architecture,
                                              const Checkpoint& checkpoint) {
  auto compiled = compile_values(architecture, checkpoint);
  if (!compiled) return compiled.error();
  TrainingProgram training;
  training.program = *std::move(compiled);
  if (auto trainable = check_ops(training.program); !trainable) return trainable.error();
  make_plain(training);
  find_heads(training);
  cut(training);
  return training;
}

}  // namespace weft
