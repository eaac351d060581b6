#include "weft/train/step/frozen_product.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/kernels/embedding/embedding.h"
#include "weft/kernels/gradients/product.h"
#include "weft/kernels/linear/linear.h"

namespace weft {
namespace {

MatrixView view_of(const ConstRows& rows) { return {rows.data, rows.stride, 1}; }

void multiply(TrainedModel& model, const ProductParams& params) {
  model.in_pieces([&](Share share) { product(params, share, model.workspace(share)); });
}

/// Decodes rows [first, first + count) of a matrix to float32, in the order of its inputs.
void decode(TrainedModel& model, const PackedWeight& weight, std::int64_t first,
            std::int64_t count) {
  const std::int64_t inputs = weight.inputs();
  const Rows out{model.decoded().data(), count, inputs, inputs};
  EmbeddingParams params;
  params.ids = model.row_ids(first, count);
  params.packed = &weight;
  params.dtype = weight.dtype();
  params.vocabulary = weight.outputs();
  params.out = out;
  model.in_pieces([&](Share share) {
    embed(params, share);
    const std::vector<std::int32_t>* order = weight.input_order();
    if (order == nullptr) return;
    auto* const row = reinterpret_cast<float*>(model.workspace(share).data());
    const auto [begin, end] = share.of(count);
    for (std::int64_t i = begin; i < end; ++i) {
      std::copy_n(out.row(i), inputs, row);
      for (std::int64_t k = 0; k < inputs; ++k)
        out.row(i)[(*order)[static_cast<std::size_t>(k)]] = row[k];
    }
  });
}

/// Calls work(first, count) with rows of a matrix once they are decoded.
template <class Work>
void each_decoded(TrainedModel& model, const PackedWeight& weight, const Work& work) {
  const auto room = static_cast<std::int64_t>(model.decoded().size());
  const std::int64_t most = std::max<std::int64_t>(1, room / weight.inputs());
  for (std::int64_t first = 0; first < weight.outputs(); first += most) {
    const std::int64_t count = std::min(most, weight.outputs() - first);
    decode(model, weight, first, count);
    work(first, count);
  }
}

/// The numbers of the pair's B that a use reads, [rank, outputs].
MatrixView b_of(const LowRankPair& pair, const PairUse& use) {
  return {pair.b.data() + use.row * pair.rank, 1, use.row_step * pair.rank};
}

/// Memory for [T, width].
Floats table_of(TrainedModel& model, std::int64_t width) {
  return model.floats().take(static_cast<std::size_t>(std::max(model.tokens(), kLossRows) * width));
}

/// [T, rank] = in A^T.
Floats shrink(TrainedModel& model, const LowRankPair& pair, const ConstRows& in) {
  Floats low = table_of(model, pair.rank);
  multiply(model, {.rows = in.count,
                   .columns = pair.rank,
                   .inner = pair.inputs,
                   .a = view_of(in),
                   .b = MatrixView{pair.a.data(), pair.inputs, 1}.turned(),
                   .out = low.data(),
                   .out_row_stride = pair.rank});
  return low;
}

/// The input of a pair, and memory for it where some of it is dropped.
struct PairInput {
  PairInput(TrainedModel& model, const Dropout& dropout, std::uint64_t site, const ConstRows& in)
      : rows(in) {
    if (!dropout.drops()) return;
    kept = table_of(model, in.width);
    const Rows out{kept.data(), in.count, in.width, in.width};
    model.in_pieces([&](Share share) { drop({dropout, site, in, out}, share); });
    rows = out;
  }

  Floats kept;
  ConstRows rows;
};

/// Calls work(pair, uses, site) for each pair of a matrix.
template <class Work>
void each_pair(TrainedModel& model, MatrixId id, const Work& work) {
  const std::vector<PairUse>& uses = model.pairs().by_matrix[static_cast<std::size_t>(id)];
  for (auto begin = uses.begin(); begin != uses.end();) {
    const auto end = std::find_if(begin, uses.end(),
                                  [&](const PairUse& use) { return use.pair != begin->pair; });
    const std::uint64_t site = (static_cast<std::uint64_t>(id) << 32U) + begin->pair;
    work(model.pairs().pairs[begin->pair], std::span(begin, end), site);
    begin = end;
  }
}

MatrixView gradient_of(const PairUse& use, const ConstRows& out_gradient) {
  return {out_gradient.data + use.first, out_gradient.stride, 1};
}

/// [T, rank]: the gradient of A's products.
Floats turn_back(TrainedModel& model, const LowRankPair& pair, std::span<const PairUse> uses,
                 const ConstRows& out_gradient) {
  Floats low_gradient = table_of(model, pair.rank);
  bool adds = false;
  for (const PairUse& use : uses) {
    multiply(model, {.rows = out_gradient.count,
                     .columns = pair.rank,
                     .inner = use.outputs,
                     .a = gradient_of(use, out_gradient),
                     .b = b_of(pair, use).turned(),
                     .out = low_gradient.data(),
                     .out_row_stride = pair.rank,
                     .scale = pair.scale,
                     .adds = std::exchange(adds, true)});
  }
  return low_gradient;
}

/// Adds the gradients of A and B.
void add_own_gradients(TrainedModel& model, LowRankPair& pair, std::span<const PairUse> uses,
                       const ConstRows& in, const ConstRows& out_gradient,
                       const Floats& low_gradient) {
  const Floats low = shrink(model, pair, in);
  for (const PairUse& use : uses) {
    multiply(model, {.rows = use.outputs,
                     .columns = pair.rank,
                     .inner = in.count,
                     .a = gradient_of(use, out_gradient).turned(),
                     .b = {low.data(), pair.rank, 1},
                     .out = pair.b_gradient.data() + use.row * pair.rank,
                     .out_row_stride = use.row_step * pair.rank,
                     .scale = pair.scale,
                     .adds = true});
  }
  multiply(model, {.rows = pair.rank,
                   .columns = pair.inputs,
                   .inner = in.count,
                   .a = MatrixView{low_gradient.data(), pair.rank, 1}.turned(),
                   .b = view_of(in),
                   .out = pair.a_gradient.data(),
                   .out_row_stride = pair.inputs,
                   .adds = true});
}

void add_input_gradient(TrainedModel& model, const LowRankPair& pair, const Floats& low_gradient,
                        const PairGradients& wanted, std::uint64_t site) {
  const Rows& to = wanted.of_input;
  ProductParams params{.rows = to.count,
                       .columns = pair.inputs,
                       .inner = pair.rank,
                       .a = {low_gradient.data(), pair.rank, 1},
                       .b = {pair.a.data(), pair.inputs, 1},
                       .out = to.data,
                       .out_row_stride = to.stride,
                       .adds = true};
  if (!wanted.dropout.drops()) return multiply(model, params);
  const Floats all = table_of(model, pair.inputs);
  params.out = all.data();
  params.out_row_stride = pair.inputs;
  params.adds = false;
  multiply(model, params);
  const ConstRows from{all.data(), to.count, pair.inputs, pair.inputs};
  model.in_pieces([&](Share share) { drop({wanted.dropout, site, from, to, true}, share); });
}

}  // namespace

void multiply_frozen(TrainedModel& model, MatrixId id, VectorId bias, const ConstRows& in,
                     const Rows& out) {
  const PackedWeight& weight = model.weights().matrix(id);
  const float* const addend = model.weights().vector(bias);
  if (!is_encoded(weight.dtype())) {
    const LinearParams params{.in = in, .weight = &weight, .bias = addend, .out = out};
    model.in_pieces([&](Share share) { linear(params, share, model.workspace(share)); });
    return;
  }
  model.in_pieces([&](Share share) {
    const auto [begin, end] = share.of(out.count);
    for (std::int64_t t = begin; t < end; ++t) {
      if (addend != nullptr) {
        std::copy_n(addend, out.width, out.row(t));
      } else {
        std::fill_n(out.row(t), out.width, 0.0F);
      }
    }
  });
  each_decoded(model, weight, [&](std::int64_t first, std::int64_t count) {
    multiply(model, {.rows = in.count,
                     .columns = count,
                     .inner = weight.inputs(),
                     .a = view_of(in),
                     .b = MatrixView{model.decoded().data(), weight.inputs(), 1}.turned(),
                     .out = out.data + first,
                     .out_row_stride = out.stride,
                     .adds = true});
  });
}

void multiply_frozen_turned(TrainedModel& model, MatrixId id, const ConstRows& out_gradient,
                            const Rows& in_gradient) {
  const PackedWeight& weight = model.weights().matrix(id);
  each_decoded(model, weight, [&](std::int64_t first, std::int64_t count) {
    multiply(model, {.rows = out_gradient.count,
                     .columns = weight.inputs(),
                     .inner = count,
                     .a = {out_gradient.data + first, out_gradient.stride, 1},
                     .b = {model.decoded().data(), weight.inputs(), 1},
                     .out = in_gradient.data,
                     .out_row_stride = in_gradient.stride,
                     .adds = true});
  });
}

void add_pairs(TrainedModel& model, MatrixId id, const ConstRows& in, const Rows& out,
               const Dropout& dropout) {
  each_pair(model, id,
            [&](const LowRankPair& pair, std::span<const PairUse> uses, std::uint64_t site) {
              const PairInput input(model, dropout, site, in);
              const Floats low = shrink(model, pair, input.rows);
              for (const PairUse& use : uses) {
                multiply(model, {.rows = in.count,
                                 .columns = use.outputs,
                                 .inner = pair.rank,
                                 .a = {low.data(), pair.rank, 1},
                                 .b = b_of(pair, use),
                                 .out = out.data + use.first,
                                 .out_row_stride = out.stride,
                                 .scale = pair.scale,
                                 .adds = true});
              }
            });
}

void add_pair_gradients(TrainedModel& model, MatrixId id, const ConstRows& in,
                        const ConstRows& out_gradient, const PairGradients& wanted) {
  if (!wanted.of_pairs && wanted.of_input.data == nullptr) return;
  each_pair(model, id, [&](LowRankPair& pair, std::span<const PairUse> uses, std::uint64_t site) {
    const Floats low_gradient = turn_back(model, pair, uses, out_gradient);
    if (wanted.of_pairs) {
      const PairInput input(model, wanted.dropout, site, in);
      add_own_gradients(model, pair, uses, input.rows, out_gradient, low_gradient);
    }
    if (wanted.of_input.data != nullptr)
      add_input_gradient(model, pair, low_gradient, wanted, site);
  });
}

}  // namespace weft
