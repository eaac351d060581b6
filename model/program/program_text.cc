#include <iomanip>
#include <sstream>
#include <string>
#include <string_view>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/operands.h"
#include "weft/model/program/program.h"

namespace weft {
namespace {

/// Writes one op as "  12 linear     h -> qkv  0.attention.qkv [96, 64] f32".
class OpWriter {
 public:
  OpWriter(const Program& program, std::ostream& out) : program_(program), out_(out) {}

  template <class AnyOp>
  void operator()(const AnyOp& op) const {
    constexpr std::string_view kName = AnyOp::kTraits.name;
    out_ << std::left << std::setw(10) << kName << (kName.size() < 10 ? "" : " ");
    flow(op);
    words(op);
  }

 private:
  /// Returns "in -> out + residual", or the parts of this that the op has.
  template <class AnyOp>
  void flow(const AnyOp& op) const {
    std::string in(AnyOp::kTraits.step_input);
    std::string out;
    std::string residual;
    for_each_buffer(op, [&]<OperandSpec kSpec>(const BufferOperand<kSpec>& operand) {
      if (kSpec.overwrite == Overwrite::kMust) return;  // the written operand names it
      std::string& place = kSpec.writes() ? out : kSpec.optional ? residual : in;
      if (place.empty()) place = buffer(operand);
    });
    out_ << in << (in.empty() || out.empty() ? "" : " -> ") << out;
    if (!residual.empty()) out_ << " + " << residual;
  }

  // The following functions print an op's own attributes.

  void words(const EmbedOp& op) const {
    for_each_table(op, [&](const TableRows& table) { out_ << "  " << table.tensor->name; });
    if (op.first_column > 0) out_ << " from column " << op.first_column;
    if (op.spec.scale != 1) out_ << " * " << op.spec.scale;
    if (op.positions != kAbsent) out_ << " + " << vector(op.positions);
    if (op.constant != kAbsent) out_ << " + " << vector(op.constant) << "[0]";
  }

  void words(const NormOp& op) const {
    out_ << "  " << (op.spec.kind == NormKind::kRms ? "rms" : "layer") << ' ' << vector(op.weight);
    if (op.bias != kAbsent) out_ << " + bias";
    if (op.spec.weight_offset != 0) out_ << " + " << op.spec.weight_offset;
    if (op.sum_scale != 1) out_ << ", sum * " << op.sum_scale;
  }

  void words(const LinearOp& op) const {
    out_ << "  " << matrix(op.weight);
    epilogue(op.bias, op.spec.activation, op.weight);
    if (op.gate_apart) out_ << " apart";
    if (op.spec.scale != 1) out_ << " * " << op.spec.scale;
    if (op.spec.soft_cap > 0) out_ << ", soft cap " << op.spec.soft_cap;
  }

  void words(const RotaryOp& op) const {
    if (op.query_norm.spec.enabled) out_ << ", q norm";
    if (op.key_norm.spec.enabled) out_ << ", k norm";
    if (op.value_norm.spec.enabled) out_ << ", v norm";
    if (op.spec.clip > 0) out_ << ", clip " << op.spec.clip;
    if (op.table != kAbsent) {
      out_ << ", turn " << op.spec.rotary_size << " of " << op.shape.head_size
           << (op.spec.style == RotaryStyle::kHalves ? " by halves" : " interleaved");
    }
    if (op.shape.kv_heads > 0) out_ << " -> KV " << group(op.group) << '.' << op.layer;
  }

  void words(const AttentionOp& op) const {
    out_ << "  KV " << group(op.group) << '.' << op.layer << ", " << op.heads << " heads, "
         << (op.spec.causal ? "causal" : "whole") << ", scale " << op.spec.scale;
    if (op.spec.window > 0) out_ << ", window " << op.spec.window;
    if (op.spec.chunk > 0) out_ << ", chunk " << op.spec.chunk;
    if (op.spec.soft_cap > 0) out_ << ", soft cap " << op.spec.soft_cap;
    if (op.alibi_slopes != kAbsent) out_ << ", ALiBi";
    if (op.relative_bias != kAbsent) out_ << ", relative bias";
    if (op.sinks != kAbsent) out_ << ", sinks";
  }

  void words(const RouteOp& op) const {
    out_ << "  " << op.spec.chosen << " of " << op.experts << " experts";
  }

  void words(const ExpertLinearOp& op) const {
    out_ << "  " << op.weights.size() << " x " << matrix(op.weights.front());
    if (op.first_expert > 0) out_ << " from " << op.first_expert;
    epilogue(op.biases.front(), op.spec.activation, op.weights.front());
  }

  void words(const ActivateOp& op) const {
    out_ << "  " << to_string(op.spec.activation) << (op.gated ? ", gated" : "");
  }
  void words(const AdapterShrinkOp& op) const { out_ << "  " << op.sites.count << " sites"; }
  void words(const AdapterExpandOp& op) const { out_ << "  " << op.runs.count << " runs"; }

  void words(const ScaleRowsOp& op) const { out_ << "  * " << buffer(op.scales); }

  template <class PlainOp>
  void words(const PlainOp& /*op*/) const {}

  void epilogue(VectorId bias, Activation activation, MatrixId weight) const {
    if (bias != kAbsent) out_ << " + bias";
    if (activation != Activation::kNone) out_ << ", " << to_string(activation);
    if (weight != kAbsent && program_.matrices[static_cast<std::size_t>(weight)].gated) {
      out_ << ", gated";
    }
  }

  [[nodiscard]] std::string buffer(BufferId id) const {
    return program_.buffers[static_cast<std::size_t>(id)].name;
  }

  [[nodiscard]] std::string vector(VectorId id) const {
    return id == kAbsent ? "1" : program_.vectors[static_cast<std::size_t>(id)].name;
  }

  [[nodiscard]] std::string matrix(MatrixId id) const {
    if (id == kAbsent) return "?";
    const MatrixPlan& plan = program_.matrices[static_cast<std::size_t>(id)];
    return plan.name + " [" + std::to_string(plan.outputs) + ", " + std::to_string(plan.inputs) +
           "] " + types(plan) + (plan.input_order ? ", inputs reordered" : "");
  }

  /// Returns "q4_k", or "q4_k + q6_k" for a matrix in runs.
  static std::string types(const MatrixPlan& plan) {
    if (plan.runs.empty()) return std::string(to_string(plan.dtype));
    std::string text;
    for (const WeightRun& run : plan.runs) {
      text.append(text.empty() ? "" : " + ").append(to_string(run.dtype));
    }
    return text;
  }

  static const char* group(KvGroup group) {
    switch (group) {
      case KvGroup::kSelf:
        return "self";
      case KvGroup::kCross:
        return "cross";
      case KvGroup::kEncoder:
        return "encoder";
    }
    return "?";
  }

  const Program& program_;
  std::ostream& out_;
};

void write_list(const Program& program, const char* title, const OpList& list, std::ostream& out) {
  if (list.ops.empty()) return;
  out << title << ": " << list.ops.size() << " ops\n";
  for (std::size_t i = 0; i < list.ops.size(); ++i) {
    out << std::right << std::setw(5) << i << "  ";
    std::visit(OpWriter(program, out), list.ops[i]);
    out << '\n';
  }
}

}  // namespace

std::string describe(const Program& program) {
  std::ostringstream out;
  write_list(program, "encode", program.encode, out);
  write_list(program, "decode", program.decode, out);
  return out.str();
}

}  // namespace weft
