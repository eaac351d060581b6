// Decode steps of rows that have adapters beside steps of the same rows without, on a GPU, in turn;
// a llama of 8B's shape with random weights:
//
//   weft_adapter_cuda_bench [TYPE [CONTEXT [RANK [LAYERS]]]]
//
// Prints for some numbers of rows and adapters the milliseconds of both steps and the median ratio
// with its extremes. Then an adapter is put into a place beside steps: how long that took, and the
// longest step meanwhile beside the median.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/core/dtype.h"
#include "weft/gpu/adapter_pairs.h"
#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/cuda/tuning/find_tuning.h"
#include "weft/gpu/step_options.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/random_llama.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kRows = 32;
constexpr std::int32_t kPageTokens = 16;
constexpr int kStepsOfTurn = 8;

struct Settings {
  DType weights = DType::kBF16;
  std::int32_t context = 1024;
  std::int32_t rank = 16;
  std::int64_t layers = 32;
};

std::vector<float> numbers(std::int64_t count, std::uint32_t& random) {
  std::vector<float> all(static_cast<std::size_t>(count));
  for (float& number : all) {
    random = random * 1664525U + 1013904223U;
    number = static_cast<float>(random >> 20U) / 65536 - 1.0F / 32;
  }
  return all;
}

/// Pairs for all matrices of the layers.
Adapter make_adapter(const Checkpoint& base, std::int64_t rank, std::uint32_t seed) {
  std::uint32_t random = seed;
  Adapter adapter;
  adapter.hash[0] = static_cast<std::byte>(seed);
  for (const CheckpointTensor& tensor : base.tensors()) {
    if (tensor.shape.size() != 2 || tensor.name.find("layers.") == std::string::npos) continue;
    AdapterTarget& target = adapter.targets.emplace_back();
    target.tensor = tensor.name;
    target.outputs = tensor.shape[0];
    target.inputs = tensor.shape[1];
    target.rank = rank;
    target.a = numbers(rank * target.inputs, random);
    target.b = numbers(rank * target.outputs, random);
  }
  return adapter;
}

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings), model_(shape(settings), 7) {
    limits_.rows = kRows;
    limits_.page_tokens = kPageTokens;
    limits_.context = settings.context + kPageTokens;
    limits_.pages = static_cast<std::int32_t>(limits_.pages_for(limits_.context)) * kRows;
    limits_.step_tokens = 128;
    limits_.vocabulary = model_.program()->vocabulary;
    limits_.adapter_places = kRows + 1;
    limits_.adapter_rank = settings.rank;
    auto runtime = cuda::open_runtime(0).value();
    const cuda::Tuning tuning =
        cuda::find_tuning({}, runtime->properties().name, *model_.program()).value();
    auto device =
        cuda::CudaDevice::load(std::move(runtime), model_.checkpoint(), model_.program(),
                               step_options(*model_.program(), limits_, DType::kBF16), tuning)
            .value();
    device_ = cuda::CudaStepDevice::make(std::move(device), limits_, {}).value();
    for (std::int32_t place = 0; place < kRows; ++place) {
      adapters_.push_back(prepared(static_cast<std::uint32_t>(place) + 1));
      plan_.adapters.push_back({place, adapters_.back()});
      step();
    }
  }

  void compare(std::int32_t rows, std::int32_t adapters) {
    std::vector<double> base, adapted, ratios;
    for (int pair = -1; pair < kPairs; ++pair) {
      const double one = turn(rows, 0);
      const double other = turn(rows, adapters);
      if (pair < 0) continue;
      base.push_back(one);
      adapted.push_back(other);
      ratios.push_back(one / other);
    }
    std::printf("%4d %8d %8.3f %8.3f   %.3f [%.3f, %.3f]\n", rows, adapters, median(base) * 1e3,
                median(adapted) * 1e3, median(ratios), *std::ranges::min_element(ratios),
                *std::ranges::max_element(ratios));
  }

  /// Puts an adapter into the last place while rows decode.
  void load_beside_steps() {
    const auto adapter = prepared(kRows + 1);
    begin(kRows, 8);
    std::vector<double> alone;
    for (int i = 0; i < 40; ++i) alone.push_back(advance(kRows));
    plan_.adapters.push_back({kRows, adapter});
    double longest = 0;
    double all = 0;
    do {
      const double took = advance(kRows);
      longest = std::max(longest, took);
      all += took;
    } while (result_.adapters.empty() && all < 1);
    std::printf(
        "an adapter of %.1f MB: in its place after %.1f ms; a step takes %.3f ms, at most "
        "%.3f alone and %.3f beside the copy\n",
        static_cast<double>(adapter->bytes) * 1e-6, all * 1e3, median(alone) * 1e3,
        *std::ranges::max_element(alone) * 1e3, longest * 1e3);
  }

 private:
  static LlamaShape shape(const Settings& settings) {
    LlamaShape shape = *find_llama_shape("llama-3-8b");
    shape.weights = settings.weights;
    shape.layers = settings.layers;
    return shape;
  }

  std::shared_ptr<const PreparedAdapter> prepared(std::uint32_t seed) {
    const Adapter adapter = make_adapter(*model_.checkpoint(), settings_.rank, seed);
    auto own = device_->prepare_adapter(adapter).value();
    const std::int64_t bytes = own->bytes();
    return std::make_shared<PreparedAdapter>(
        PreparedAdapter{adapter_id(adapter), bytes, {std::move(own)}});
  }

  /// Begins sequences whose adapters take turns; 0 adapters: they have none.
  void begin(std::int32_t rows, std::int32_t adapters) {
    const auto pages = static_cast<std::int32_t>(limits_.pages_for(settings_.context));
    for (std::int32_t row = 0; row < rows; ++row) {
      PlanStart& start = plan_.starts.emplace_back();
      start.row = row;
      start.sampling = sampling_;
      start.seed = static_cast<std::uint64_t>(row);
      if (adapters > 0)
        start.traits.kv.adapter = adapters_[static_cast<std::size_t>(row % adapters)]->id;
      plan_.tables.push_back({row, 0, static_cast<std::int32_t>(plan_.pages.size()), pages});
      for (std::int32_t page = 0; page < pages; ++page) plan_.pages.push_back(page * kRows + row);
    }
  }

  double advance(std::int32_t rows) {
    for (std::int32_t row = 0; row < rows; ++row) {
      plan_.entries.push_back({row, 1, settings_.context - 1, kLastToken});
      plan_.samples.push_back({row, row});
    }
    return step();
  }

  /// The seconds of a step; the first, in which sequences begin, does not count.
  double turn(std::int32_t rows, std::int32_t adapters) {
    begin(rows, adapters);
    advance(rows);
    double sum = 0;
    for (int i = 0; i < kStepsOfTurn; ++i) sum += advance(rows);
    return sum / kStepsOfTurn;
  }

  double step() {
    plan_.rows = kRows;
    result_.clear();
    const double took = seconds([&] { device_->run(plan_, result_); });
    plan_.clear();
    return took;
  }

  const Settings settings_;
  const RandomLlama model_;
  DeviceLimits limits_;
  std::unique_ptr<cuda::CudaStepDevice> device_;
  std::vector<std::shared_ptr<const PreparedAdapter>> adapters_;
  const std::shared_ptr<const SamplingParams> sampling_ = std::make_shared<SamplingParams>();
  Plan plan_;
  StepResult result_;
};

int run(const Settings& settings) {
  Bench bench(settings);
  std::printf("%s, rank %d, context %d\n%4s %8s %8s %8s   ratio\n",
              std::string(to_string(settings.weights)).c_str(), settings.rank, settings.context,
              "rows", "adapters", "base ms", "with ms");
  bench.compare(1, 1);
  bench.compare(8, 1);
  bench.compare(8, 8);
  bench.compare(kRows, 1);
  bench.compare(kRows, 8);
  bench.compare(kRows, kRows);
  bench.load_beside_steps();
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int count, char** values) {
  weft::bench::Settings settings;
  const auto number = [&](int at, std::int32_t otherwise) {
    return count > at ? std::atoi(values[at]) : otherwise;
  };
  if (count > 1) settings.weights = weft::dtype_named(values[1]).value();
  settings.context = number(2, settings.context);
  settings.rank = number(3, settings.rank);
  settings.layers = number(4, static_cast<std::int32_t>(settings.layers));
  return weft::bench::run(settings);
}
