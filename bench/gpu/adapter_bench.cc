// Steps of rows that have adapters beside steps of the same rows without, on the host, in turn; a
// llama of TinyLlama-1.1B's shape with random weights:
//
//   weft_adapter_bench [ADAPTERS [ROWS [RANK [TYPE [THREADS]]]]]
//
// Prints the rows' tokens a second without adapters, with them, and the ratio of each pair of
// steps.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/core/dtype.h"
#include "weft/gpu/adapter_pairs.h"
#include "weft/gpu/host/host_device.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/random_llama.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kContext = 128;  // tokens of each row before the step
constexpr std::int32_t kPageTokens = 16;
constexpr std::int32_t kPagesOfRow = kContext / kPageTokens + 1;

struct Settings {
  std::int32_t adapters = 8;
  std::int32_t rows = 32;
  std::int32_t rank = 16;
  DType weights = DType::kBF16;
  int threads = 0;
};

std::vector<float> numbers(std::int64_t count, std::minstd_rand& random) {
  std::vector<float> all(static_cast<std::size_t>(count));
  for (float& number : all) number = static_cast<float>(random() % 2048) / 65536 - 1.0F / 64;
  return all;
}

/// Pairs for all matrices of the layers.
Adapter make_adapter(const Checkpoint& base, std::int64_t rank, std::uint32_t seed) {
  std::minstd_rand random(seed);
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

/// Rows that decode, the adapters taking turns.
class DecodingRows {
 public:
  explicit DecodingRows(const Settings& settings) : settings_(settings) {
    LlamaShape shape = kTinyLlama;
    shape.weights = settings.weights;
    const RandomLlama llama(shape, 1);
    DeviceOptions options;
    options.threads = settings.threads;
    options.max_tokens = options.max_outputs = options.max_sequences = settings.rows;
    options.max_context = kPagesOfRow * kPageTokens;
    options.page_tokens = kPageTokens;
    options.pages = settings.rows * kPagesOfRow;
    options.adapter_places = settings.adapters;
    options.adapter_rank = settings.rank;
    device_ = HostDevice::load(llama.checkpoint(), llama.program(), options).value();
    for (std::int32_t place = 0; place < settings.adapters; ++place) {
      const Adapter adapter =
          make_adapter(*llama.checkpoint(), settings.rank, static_cast<std::uint32_t>(place) + 1);
      device_->place_adapter(place, device_->prepare_adapter(adapter).value());
      ids_.push_back(adapter_id(adapter));
    }
    pages_.resize(static_cast<std::size_t>(options.pages));
    std::iota(pages_.begin(), pages_.end(), 0);
  }

  /// Returns the seconds of one step.
  double step(bool with_adapters) {
    std::vector<TokenId> tokens;
    std::vector<StepSequence> sequences;
    std::vector<std::int32_t> outputs;
    for (std::int32_t row = 0; row < settings_.rows; ++row) {
      StepSequence& one = sequences.emplace_back();
      one.first = row;
      one.count = 1;
      one.start = kContext;
      one.pages =
          std::span(pages_).subspan(static_cast<std::size_t>(row) * kPagesOfRow, kPagesOfRow);
      const auto place = static_cast<std::size_t>(row % settings_.adapters);
      if (with_adapters) one.traits.kv.adapter = ids_[place];
      tokens.push_back(row * 17 + 3);
      outputs.push_back(row);
    }
    return seconds([&] { device_->decode({tokens, sequences, outputs}); });
  }

 private:
  const Settings settings_;
  std::unique_ptr<HostDevice> device_;
  std::vector<AdapterId> ids_;
  std::vector<std::int32_t> pages_;
};

int run(const Settings& settings) {
  DecodingRows rows(settings);
  std::vector<double> base, adapted, ratios;
  rows.step(false);
  rows.step(true);
  for (int pair = 0; pair < kPairs; ++pair) {
    base.push_back(rows.step(false));
    adapted.push_back(rows.step(true));
    ratios.push_back(base.back() / adapted.back());
  }
  std::printf(
      "%d adapters of rank %d, %d rows, %s: %.1f tokens/s without, %.1f with, ratio %.3f "
      "[%.3f, %.3f]\n",
      settings.adapters, settings.rank, settings.rows,
      std::string(to_string(settings.weights)).c_str(), settings.rows / median(base),
      settings.rows / median(adapted), median(ratios), *std::ranges::min_element(ratios),
      *std::ranges::max_element(ratios));
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int count, char** values) {
  weft::bench::Settings settings;
  const auto number = [&](int at, int otherwise) {
    return count > at ? std::atoi(values[at]) : otherwise;
  };
  settings.adapters = number(1, settings.adapters);
  settings.rows = number(2, settings.rows);
  settings.rank = number(3, settings.rank);
  if (count > 4 && std::string(values[4]) == "f32") settings.weights = weft::DType::kF32;
  if (count > 4 && std::string(values[4]) == "q8_0") settings.weights = weft::DType::kQ8_0;
  settings.threads = number(5, 0);
  return weft::bench::run(settings);
}
