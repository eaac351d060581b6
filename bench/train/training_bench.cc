// A micro-batch of training forwards and backwards, by all threads of the host, against products
// alone, measured in turn with it: the tokens a second, and the operations a second of the frozen
// weights' products over those of
//   gemm   one float32 product of 1,024 x 1,024 x 1,024 (of_gemm)
//   fma    a loop of float32 on registers alone (of_fma)
//   peak   a loop of bf16 products on registers alone (of_peak), where the processor has them
// A layer's products are counted three times, forwards, once more before it goes back, and back;
// the last layer's and the head's twice. Pairs, attention and all else count nothing.

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/kernels/gradients/product.h"
#include "weft/kernels/peaks/bf16_peak.h"
#include "weft/kernels/peaks/fma_peak.h"
#include "weft/model/random_llama.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/program/training_program.h"
#include "weft/train/random_numbers.h"
#include "weft/train/step/gradient_step.h"
#include "weft/train/step/micro_batch.h"
#include "weft/train/step/trained_model.h"

namespace weft {
namespace {

constexpr std::int64_t kTokens = 512;
constexpr std::int64_t kGemmSide = 1024;
constexpr std::array<DType, 3> kWeights = {DType::kF32, DType::kBF16, DType::kQ4_0};
// llama-110m, with a vocabulary that leaves the head a layer's part.
constexpr LlamaShape kShape{.layers = 12,
                            .hidden = 768,
                            .ffn = 2048,
                            .heads = 12,
                            .kv_heads = 12,
                            .vocabulary = 4096,
                            .context = kTokens};

TrainedModel load(DType weights) {
  LlamaShape shape = kShape;
  shape.weights = weights;
  const OpenedModel opened = RandomLlama(shape, 1).opened();
  TrainingProgram training =
      make_training_program(*opened.architecture, *opened.checkpoint).value();
  PairSettings settings{.rank = 16, .alpha = 32, .roles = {}, .seed = 1};
  for (const char* name : {"q", "k", "v", "o", "gate", "up", "down"})
    settings.roles.insert(target_role(name).value());
  LowRankPairs pairs = make_pairs(training, *opened.architecture, settings).value();
  return TrainedModel::load(opened, std::move(training), std::move(pairs),
                            {.threads = 0, .tokens = kTokens})
      .value();
}

/// Four sequences of which every token is learnt.
MicroBatch random_batch() {
  RandomNumbers random(3);
  MicroBatch batch;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    batch.ids.push_back(static_cast<TokenId>(random.below(kShape.vocabulary)));
    batch.targets.push_back(static_cast<TokenId>(random.below(kShape.vocabulary)));
    batch.weights.push_back(1);
  }
  for (std::int64_t first = 0; first < kTokens; first += kTokens / 4)
    batch.spans.push_back({first, kTokens / 4});
  return batch;
}

/// Operations of the frozen weights' products.
double operations_of_micro_batch() {
  const std::int64_t layer = kShape.hidden * (4 * kShape.hidden + 3 * kShape.ffn);
  const std::int64_t head = kShape.hidden * kShape.vocabulary;
  const std::int64_t products = (3 * kShape.layers - 1) * layer + 2 * head;
  return 2.0 * static_cast<double>(kTokens) * static_cast<double>(products);
}

/// One product of squares of float32.
class Gemm {
 public:
  explicit Gemm(TrainedModel& model) : model_(model) {}

  double run() {
    return bench::seconds([&] {
      const ProductParams params{.rows = kGemmSide,
                                 .columns = kGemmSide,
                                 .inner = kGemmSide,
                                 .a = {a_.data(), kGemmSide, 1},
                                 .b = {b_.data(), kGemmSide, 1},
                                 .out = out_.data(),
                                 .out_row_stride = kGemmSide};
      model_.in_pieces([&](Share share) { product(params, share, model_.workspace(share)); });
    });
  }
  static constexpr double kOperations = 2.0 * kGemmSide * kGemmSide * kGemmSide;

 private:
  TrainedModel& model_;
  std::vector<float> a_ = std::vector<float>(kGemmSide * kGemmSide, 0.5F);
  std::vector<float> b_ = a_;
  std::vector<float> out_ = a_;
};

/// Times micro-batches and `peer`, which returns the seconds that as many operations take.
template <class Peer>
void measure(benchmark::State& state, TrainedModel& model, const char* name, Peer&& peer) {
  GradientStep step(model);
  const MicroBatch batch = random_batch();
  const double operations = operations_of_micro_batch();
  const auto ours = [&] {
    return bench::seconds([&] { benchmark::DoNotOptimize(step.accumulate(batch, 1)); });
  };
  bench::compare(state, operations, ours, peer);
  bench::add_inverse(state, name);
  state.counters["GFLOP/s"] = 1 / state.counters["ours_ns"];
  state.counters["tokens/s"] =
      static_cast<double>(kTokens) / (state.counters["ours_ns"] * 1e-9 * operations);
}

DType weights_of(benchmark::State& state) {
  const DType weights = kWeights[static_cast<std::size_t>(state.range(0))];
  state.SetLabel(std::string(to_string(weights)));
  return weights;
}

void micro_batch_against_gemm(benchmark::State& state) {
  TrainedModel model = load(weights_of(state));
  Gemm gemm(model);
  measure(state, model, "of_gemm",
          [&] { return gemm.run() * operations_of_micro_batch() / Gemm::kOperations; });
}

void micro_batch_against_fma(benchmark::State& state) {
  TrainedModel model = load(weights_of(state));
  const auto part =
      static_cast<std::int64_t>(operations_of_micro_batch() / 2 / model.team().size());
  measure(state, model, "of_fma", [&] {
    return bench::seconds([&] {
      model.team().run([&](Share) { benchmark::DoNotOptimize(do_fused_multiplications(part)); });
    });
  });
}

void micro_batch_against_peak(benchmark::State& state) {
  if (!multiplies_bf16()) {
    state.SkipWithError("this processor does not multiply bf16");
    return;
  }
  TrainedModel model = load(weights_of(state));
  const auto part = static_cast<std::int64_t>(operations_of_micro_batch() / model.team().size());
  measure(state, model, "of_peak", [&] {
    return bench::seconds([&] { model.team().run([&](Share) { do_bf16_operations(part); }); });
  });
}

void every_type(benchmark::internal::Benchmark* benchmark) {
  benchmark->DenseRange(0, kWeights.size() - 1)
      ->ArgName("weights")
      ->Iterations(7)  // a micro-batch takes seconds where there are few cores
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

BENCHMARK(micro_batch_against_gemm)->Apply(every_type);
BENCHMARK(micro_batch_against_fma)->Apply(every_type);
BENCHMARK(micro_batch_against_peak)->Apply(every_type);

}  // namespace
}  // namespace weft
