#include "weft/train/step/op_tape.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/embedding/embedding.h"
#include "weft/kernels/gradients/epilogue_gradient.h"
#include "weft/kernels/gradients/norm_gradient.h"
#include "weft/kernels/norm/norm.h"
#include "weft/kernels/norm/scale_rows.h"
#include "weft/kernels/rotary/rotary.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/operands.h"
#include "weft/train/step/frozen_product.h"

namespace weft {
namespace {

/// Whether the gradient of a product's epilogue needs the sums before it.
bool bends(const LinearSpec& spec, bool gated) {
  return gated || spec.activation != Activation::kNone || spec.soft_cap > 0;
}

void add_rows(const ConstRows& from, float scale, const Rows& to, Share share) {
  const auto [begin, end] = share.of(from.count);
  for (std::int64_t t = begin; t < end; ++t) {
    for (std::int64_t i = 0; i < from.width; ++i) to.row(t)[i] += scale * from.row(t)[i];
  }
}

/// Ops of adapted programs are among them: a program is trained before adapters are attached.
template <class AnyOp>
concept NoGradient = std::same_as<AnyOp, RouteOp> || std::same_as<AnyOp, ExpertLinearOp> ||
                     std::same_as<AnyOp, CombineOp> || std::same_as<AnyOp, AdapterShrinkOp> ||
                     std::same_as<AnyOp, AdapterExpandOp> || std::same_as<AnyOp, ActivateOp> ||
                     AnyOp::kTraits.work == WorkKind::kExchange;

}  // namespace

std::vector<char> values_to_train(const TrainedModel& model) {
  const Program& program = model.program();
  std::vector<char> trained(program.buffers.size());
  for (const Op& op : program.decode.ops) {
    const BufferId out = output_of(op);
    bool depends = false;
    for (const BufferUse& use : buffers_of(op)) {
      depends = depends || (use.spec.reads() && trained[static_cast<std::size_t>(use.id)] != 0);
    }
    if (const auto* linear = std::get_if<LinearOp>(&op))
      depends =
          depends || !model.pairs().by_matrix[static_cast<std::size_t>(linear->weight)].empty();
    trained[static_cast<std::size_t>(out)] = depends ? 1 : 0;
  }
  return trained;
}

/// Computes one op.
class OpTape::Forward {
 public:
  Forward(OpTape& tape, std::size_t at) : tape_(tape), model_(tape.model_), at_(at) {}

  void operator()(const EmbedOp& op) const {
    EmbeddingParams params;
    params.ids = tape_.rows_.ids;
    params.out = tape_.value(op.out);
    if (const CheckpointTensor* const tensor = op.table.tensor; tensor != nullptr) {
      const HostWeights::Table table = model_.weights().table(tensor);
      params.table = table.rows;
      params.packed = table.packed;
      params.dtype = table.packed != nullptr ? table.packed->dtype() : tensor->dtype;
      if (table.packed == nullptr) {
        params.table_width = tensor->shape.back();
        params.first_column = op.first_column;
      }
    }
    params.vocabulary = model_.program().vocabulary;
    params.spec = op.spec;
    params.positions = model_.weights().vector(op.positions);
    if (params.positions != nullptr) {
      params.position_ids = tape_.positions_;
      params.position_count =
          model_.program().vectors[static_cast<std::size_t>(op.positions)].size / params.out.width;
    }
    params.constant = model_.weights().vector(op.constant);
    params.constant_count = op.constant_rows;
    if (op.constant_rows > 1) params.constant_ids = tape_.types_;
    model_.in_pieces([&](Share share) { embed(params, share); });
  }

  void operator()(const NormOp& op) const {
    NormParams params;
    params.spec = op.spec;
    params.in = tape_.value(op.in);
    params.weight = model_.weights().vector(op.weight);
    params.bias = model_.weights().vector(op.bias);
    params.scale = op.scale;
    params.sum_scale = op.sum_scale;
    params.residual = residual_of(op.residual);
    params.out = tape_.value(op.out);
    model_.in_pieces([&](Share share) { norm(params, share); });
  }

  void operator()(const LinearOp& op) const {
    const bool gated = model_.training().gated[static_cast<std::size_t>(op.weight)] != 0;
    const ConstRows in = tape_.value(op.in);
    const Rows out = tape_.value(op.out);
    Rows sums = out;
    if (bends(op.spec, gated)) {
      sums = tape_.table_of(tape_.sums_[at_], gated ? 2 * out.width : out.width);
    }
    multiply_frozen(model_, op.weight, op.bias, in, sums);
    add_pairs(model_, op.weight, in, sums, tape_.rows_.dropout);
    const EpilogueParams params{op.spec, gated, sums, residual_of(op.residual), out};
    model_.in_pieces([&](Share share) { finish_linear(params, share); });
  }

  void operator()(const RotaryOp& op) const {
    const ConstRows before = tape_.value(op.qkv.before);
    RotaryParams params = tape_.rotary_of(op);
    params.qkv = tape_.value(op.qkv.after);
    params.query_norm = head_norm(op.query_norm);
    params.key_norm = head_norm(op.key_norm);
    params.value_norm = head_norm(op.value_norm);
    std::copy_n(before.data, before.count * before.width, params.qkv.data);
    model_.in_pieces([&](Share share) { rotate_and_store(params, share); });
  }

  void operator()(const AttentionOp& op) const {
    PackedAttentionParams params = tape_.attention_of(at_, op.queries);
    params.spec = op.spec;
    const Rows out = tape_.value(op.out);
    model_.in_pieces(
        [&](Share share) { packed_attention(params, out, share, model_.workspace(share)); });
  }

  void operator()(const ScaleRowsOp& op) const {
    const ScaleRowsParams params{tape_.value(op.in), tape_.value(op.scales),
                                 residual_of(op.residual), tape_.value(op.out)};
    model_.in_pieces([&](Share share) { scale_rows(params, share); });
  }

  template <NoGradient AnyOp>
  void operator()(const AnyOp& /*op*/) const {
    internal_error("an op without a gradient is trained");
  }

 private:
  [[nodiscard]] ConstRows residual_of(BufferId id) const {
    return id == kAbsent ? ConstRows{} : ConstRows(tape_.value(id));
  }
  [[nodiscard]] HeadNorm head_norm(const HeadNormPlan& plan) const {
    return {plan.spec, model_.weights().vector(plan.weight), model_.weights().vector(plan.bias)};
  }

  OpTape& tape_;
  TrainedModel& model_;
  std::size_t at_;
};

/// Adds the gradients of one op's inputs.
class OpTape::Backward {
 public:
  Backward(OpTape& tape, std::size_t at) : tape_(tape), model_(tape.model_), at_(at) {}

  void operator()(const EmbedOp& /*op*/) const {}

  void operator()(const NormOp& op) const {
    const ConstRows from = tape_.gradient(op.out);
    pass_on(op.residual, op.sum_scale, from);
    if (!tape_.trains(op.in)) return;
    const NormGradientParams params{
        op.spec, tape_.value(op.in),   model_.weights().vector(op.weight), op.scale * op.sum_scale,
        from,    tape_.gradient(op.in)};
    model_.in_pieces([&](Share share) { norm_gradient(params, share); });
  }

  void operator()(const LinearOp& op) const {
    const bool gated = model_.training().gated[static_cast<std::size_t>(op.weight)] != 0;
    const Rows from = tape_.gradient(op.out);
    pass_on(op.residual, 1, from);
    Floats numbers;
    const Rows sums_gradient = tape_.table_of(numbers, gated ? 2 * from.width : from.width);
    // Without a bend the sums are not looked at.
    ConstRows sums = from;
    if (bends(op.spec, gated)) sums = tape_.table_of(tape_.sums_[at_], sums_gradient.width);
    const EpilogueGradientParams params{op.spec, gated, sums, from, sums_gradient};
    model_.in_pieces([&](Share share) { epilogue_gradient(params, share); });
    const Rows in_gradient = tape_.trains(op.in) ? tape_.gradient(op.in) : Rows{};
    add_pair_gradients(model_, op.weight, tape_.value(op.in), sums_gradient,
                       {tape_.adds_, in_gradient, tape_.rows_.dropout});
    if (in_gradient.data != nullptr)
      multiply_frozen_turned(model_, op.weight, sums_gradient, in_gradient);
  }

  // A rotation's inverse is the rotation by the opposite angle, and so is its gradient.
  void operator()(const RotaryOp& op) const {
    RotaryParams params = tape_.rotary_of(op);
    params.qkv = tape_.gradient(op.qkv.after);
    if (op.table != kAbsent) params.sines = model_.opposite_sines(op.table);
    model_.in_pieces([&](Share share) { rotate_and_store(params, share); });
    tape_.set_gradient(op.qkv.before, tape_.take_gradient(op.qkv.after));
    const HeadShape& shape = op.shape;
    norm_heads(op, op.query_norm, 0, shape.heads);
    norm_heads(op, op.key_norm, shape.heads, shape.kv_heads);
    norm_heads(op, op.value_norm, shape.heads + shape.kv_heads, shape.kv_heads);
  }

  void operator()(const AttentionOp& op) const {
    PackedAttentionParams params = tape_.attention_of(at_, op.queries);
    params.spec = op.spec;
    const ConstRows from = tape_.gradient(op.out);
    const Rows to = tape_.gradient(op.queries);
    model_.in_pieces([&](Share share) {
      packed_attention_gradient(params, from, to, share, model_.workspace(share));
    });
  }

  void operator()(const ScaleRowsOp& op) const {
    const ConstRows from = tape_.gradient(op.out);
    pass_on(op.residual, 1, from);
    const ConstRows in = tape_.value(op.in);
    const ConstRows scales = tape_.value(op.scales);
    const Rows in_gradient = tape_.gradient(op.in);
    const Rows scales_gradient = tape_.gradient(op.scales);
    const std::int64_t run = in.width / scales.width;
    model_.in_pieces([&](Share share) {
      const auto [begin, end] = share.of(in.count);
      for (std::int64_t t = begin; t < end; ++t) {
        for (std::int64_t i = 0; i < in.width; ++i) {
          in_gradient.row(t)[i] += from.row(t)[i] * scales.row(t)[i / run];
          scales_gradient.row(t)[i / run] += from.row(t)[i] * in.row(t)[i];
        }
      }
    });
  }

  template <NoGradient AnyOp>
  void operator()(const AnyOp& /*op*/) const {
    internal_error("an op without a gradient is trained");
  }

 private:
  void pass_on(BufferId residual, float scale, const ConstRows& from) const {
    if (residual == kAbsent || !tape_.trains(residual)) return;
    const Rows to = tape_.gradient(residual);
    model_.in_pieces([&](Share share) { add_rows(from, scale, to, share); });
  }

  /// Replaces the gradient by some heads of normalized numbers by that before the norm.
  void norm_heads(const RotaryOp& op, const HeadNormPlan& plan, std::int64_t first,
                  std::int64_t heads) const {
    if (!plan.spec.enabled) return;
    const bool together = plan.spec.scope == HeadNormScope::kAllHeads;
    const std::int64_t size = op.shape.head_size;
    const std::int64_t width = together ? heads * size : size;
    const ConstRows before = tape_.value(op.qkv.before);
    const Rows gradient = tape_.gradient(op.qkv.before);
    const float* const weight = model_.weights().vector(plan.weight);
    const bool own_weights = plan.spec.scope != HeadNormScope::kPerHead && weight != nullptr;
    model_.in_pieces([&](Share share) {
      auto* const from = reinterpret_cast<float*>(model_.workspace(share).data());
      const auto [begin, end] = share.of(before.count);
      for (std::int64_t t = begin; t < end; ++t) {
        for (std::int64_t at = 0; at < heads * size; at += width) {
          float* to = gradient.row(t) + first * size + at;
          std::copy_n(to, width, from);
          std::fill_n(to, width, 0.0F);
          norm_gradient({plan.spec.norm,
                         {before.row(t) + first * size + at, 1, width, width},
                         own_weights ? weight + at : weight,
                         1,
                         {from, 1, width, width},
                         {to, 1, width, width}},
                        Share{});
        }
      }
    });
  }

  OpTape& tape_;
  TrainedModel& model_;
  std::size_t at_;
};

OpTape::OpTape(TrainedModel& model, const std::vector<char>& to_train, std::int64_t most_rows)
    : model_(model),
      to_train_(to_train),
      most_rows_(most_rows),
      values_(model.program().buffers.size()),
      gradients_(model.program().buffers.size()),
      sums_(model.program().decode.ops.size()) {}

void OpTape::begin(const TapeRows& rows) {
  clear();
  rows_ = rows;
  find_positions();
}

void OpTape::clear() {
  for (std::vector<Floats>* const all : {&values_, &gradients_, &sums_}) {
    for (Floats& numbers : *all) numbers = {};
  }
}

// A sequence of more tokens than a model was first trained with takes the long set of angles.
void OpTape::find_positions() {
  positions_.clear();
  long_positions_.clear();
  sequence_spans_.clear();
  std::int64_t long_from = 0;
  for (const RotaryFrequencies& each : model_.program().rotary) {
    if (!each.long_frequency.empty()) long_from = each.long_from;
  }
  for (const PackedSpan& span : rows_.spans) {
    const std::int64_t more = long_from > 0 && span.count > long_from ? model_.tokens() : 0;
    for (std::int64_t i = 0; i < span.count; ++i) {
      positions_.push_back(static_cast<std::int32_t>(i));
      long_positions_.push_back(static_cast<std::int32_t>(i + more));
    }
    sequence_spans_.push_back(
        {static_cast<std::int32_t>(span.first), static_cast<std::int32_t>(span.count), 0, {}, 0});
  }
  types_.assign(positions_.size(), 0);
}

void OpTape::keep_only(BufferId id) {
  Floats kept = take_value(id);
  for (Floats& numbers : values_) numbers = {};
  for (Floats& numbers : sums_) numbers = {};
  set_value(id, std::move(kept));
}

void OpTape::forward(std::size_t begin, std::size_t end) {
  const std::vector<Op>& ops = model_.program().decode.ops;
  for (std::size_t at = begin; at < end; ++at) std::visit(Forward(*this, at), ops[at]);
}

void OpTape::backward(std::size_t begin, std::size_t end, bool adds) {
  adds_ = adds;
  const std::vector<Op>& ops = model_.program().decode.ops;
  for (std::size_t at = end; at > begin; --at) {
    const BufferId out = output_of(ops[at - 1]);
    if (!trains(out)) continue;
    std::visit(Backward(*this, at - 1), ops[at - 1]);
    (void)take_gradient(out);
  }
}

std::int64_t OpTape::width_of(BufferId id) const {
  return model_.program().buffers[static_cast<std::size_t>(id)].width;
}

bool OpTape::trains(BufferId id) const { return to_train_[static_cast<std::size_t>(id)] != 0; }

Rows OpTape::table_of(Floats& numbers, std::int64_t width) const {
  if (numbers.empty()) {
    numbers = model_.floats().take(static_cast<std::size_t>(most_rows_ * width));
  }
  return {numbers.data(), rows_.count, width, width};
}

Rows OpTape::value(BufferId id) {
  return table_of(values_[static_cast<std::size_t>(id)], width_of(id));
}

Floats OpTape::take_value(BufferId id) {
  return std::exchange(values_[static_cast<std::size_t>(id)], {});
}

void OpTape::set_value(BufferId id, Floats numbers) {
  values_[static_cast<std::size_t>(id)] = std::move(numbers);
}

Rows OpTape::gradient(BufferId id) {
  Floats& numbers = gradients_[static_cast<std::size_t>(id)];
  const bool fresh = numbers.empty();
  const Rows rows = table_of(numbers, width_of(id));
  if (fresh) std::fill_n(rows.data, rows.count * rows.width, 0.0F);
  return rows;
}

Floats OpTape::take_gradient(BufferId id) {
  return std::exchange(gradients_[static_cast<std::size_t>(id)], {});
}

void OpTape::set_gradient(BufferId id, Floats numbers) {
  gradients_[static_cast<std::size_t>(id)] = std::move(numbers);
}

RotaryParams OpTape::rotary_of(const RotaryOp& op) {
  RotaryParams params;
  params.shape = op.shape;
  params.spec = op.spec;
  params.position_ids = positions_;
  params.spans = sequence_spans_;
  if (op.table == kAbsent) return params;
  const RotaryTable& table = model_.rotary(op.table);
  params.cosines = table.cosines.data();
  params.sines = table.sines.data();
  params.table_positions = table.positions;
  if (table.long_offset != 0) params.position_ids = long_positions_;
  return params;
}

PackedAttentionParams OpTape::attention_of(std::size_t at, BufferId qkv) {
  return {value(qkv), model_.training().heads[at], {}, rows_.spans};
}

}  // namespace weft
