// Whole decode steps of a model's shape with random bf16 weights on a GPU, for several numbers of
// rows, each in turn with the limit that it is measured against: a kernel that only reads, over the
// model's own weights and as many bytes of the KV cache as the step reads.
//   step    run(): upload, recorded forward pass, choice of tokens, results in the host's memory
//   replay  the recorded forward pass alone, one right after the other
//
// weft_step_cuda_bench [rows=1,8,32,64] [context=N] [layers=N] [steps=N] [pairs=N] [flat=N]
// [rule=1] flat: products of up to so many tokens go by kFlat instead of the GPU's table's way
// rule: products go by the rule for GPUs that have no table

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/cuda/runtime/read_bandwidth.h"
#include "weft/gpu/cuda/tuning/find_tuning.h"
#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/gpu/step_options.h"
#include "weft/model/random_llama.h"

namespace weft::bench {
namespace {

struct Options {
  std::vector<std::int32_t> rows = {1, 8, 32, 64};
  std::int32_t context = 1024;
  std::int64_t layers = 32;
  int steps = 40;
  int pairs = 9;
  std::int64_t flat = 0;
  std::int32_t rule = 0;

  /// Takes "name=value"; returns false when the argument has another form.
  bool take(const std::string& argument) {
    const auto equals = argument.find('=');
    if (equals == std::string::npos) return false;
    const std::string name = argument.substr(0, equals);
    std::vector<std::int32_t> numbers;
    std::stringstream list(argument.substr(equals + 1));
    for (std::string one; std::getline(list, one, ',');) numbers.push_back(std::atoi(one.c_str()));
    if (numbers.empty() || std::ranges::any_of(numbers, [](auto one) { return one < 1; })) {
      return false;
    }
    if (name == "rows") rows = numbers;
    if (name == "context") context = numbers.front();
    if (name == "layers") layers = numbers.front();
    if (name == "steps") steps = numbers.front();
    if (name == "pairs") pairs = numbers.front();
    if (name == "flat") flat = numbers.front();
    if (name == "rule") rule = numbers.front();
    return name == "rows" || name == "context" || name == "layers" || name == "steps" ||
           name == "pairs" || name == "flat" || name == "rule";
  }
};

constexpr std::int32_t kPageTokens = 16;
constexpr std::int32_t kStepTokens = 128;

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), model_(shape(options), 7) {
    const std::int32_t most = *std::ranges::max_element(options.rows);
    limits_.rows = most;
    limits_.page_tokens = kPageTokens;
    limits_.context = std::min<std::int64_t>(kLlama7B.context, 2 * std::int64_t{options.context});
    limits_.pages = static_cast<std::int32_t>(limits_.pages_for(pages_tokens()) * most);
    limits_.step_tokens = kStepTokens;
    limits_.vocabulary = kLlama7B.vocabulary;
    // When the first piece was loaded. The time before it belongs to the context and its memory.
    std::chrono::steady_clock::time_point began;
    std::chrono::steady_clock::time_point ended;
    std::int64_t before = 0;
    const auto progress = [&](std::int64_t done, std::int64_t) {
      ended = std::chrono::steady_clock::now();
      if (before != 0) return;
      before = done;
      began = ended;
    };
    auto runtime = cuda::open_runtime(0).value();
    const cuda::Tuning tuning = this->tuning(runtime->properties().name);
    auto device = cuda::CudaDevice::load(std::move(runtime), model_.checkpoint(), model_.program(),
                                         step_options(*model_.program(), limits_, DType::kBF16),
                                         tuning, progress);
    const std::chrono::duration<double> took = ended - began;
    device_ = cuda::CudaStepDevice::make(std::move(device).value(), limits_, {}).value();
    const double rate = (weight_bytes() - static_cast<double>(before)) / took.count();
    const double bus = bus_rate();
    std::printf("weights: %.2f GB at %.1f GB/s, %.2f of the bus's %.1f GB/s\n",
                weight_bytes() * 1e-9, rate * 1e-9, rate / bus, bus * 1e-9);
    fill();
  }

  void run() {
    std::printf("%5s %9s %9s %9s %9s   %-22s %-22s %9s\n", "rows", "bytes GB", "limit ms",
                "replay ms", "step ms", "limit/replay", "limit/step", "tokens/s");
    for (const std::int32_t rows : options_.rows) measure(rows);
  }

 private:
  static LlamaShape shape(const Options& options) {
    LlamaShape shape = kLlama7B;
    shape.layers = options.layers;
    return shape;
  }

  /// Returns the tuning that a server would use on this GPU, unless the options override it.
  [[nodiscard]] cuda::Tuning tuning(const std::string& gpu) const {
    cuda::Tuning tuning;
    if (options_.rule == 0) tuning = cuda::find_tuning({}, gpu, *model_.program()).value();
    for (const MatrixPlan& matrix : model_.program()->matrices) {
      for (std::int64_t tokens = 1; tokens <= options_.flat; tokens *= 2) {
        const std::int64_t rows = matrix.outputs * (matrix.gated ? 2 : 1);
        tuning.linear.set({matrix.dtype, rows, matrix.inputs, tokens}, cuda::LinearWay::kFlat);
      }
    }
    return tuning;
  }

  /// Returns the bytes a second from page-locked memory to the device.
  double bus_rate() {
    constexpr std::size_t kBytes = std::size_t{128} << 20U;
    cuda::CudaDevice& device = device_->device();
    const cuda::OwnedPinned memory = cuda::take_pinned(device.runtime(), kBytes);
    std::memset(memory.get(), 1, kBytes);
    // Written to pages that the prompts overwrite later.
    std::byte* to = device.layout().self_kv.front().keys;
    std::vector<double> all;
    for (int i = 0; i < 9; ++i) {
      all.push_back(bench::seconds([&] {
        cuda::check(device.runtime(),
                    device.runtime().copy_to_device(to, memory.get(), kBytes, device.stream()),
                    "copying");
        device.synchronize();
      }));
    }
    return static_cast<double>(kBytes) / median(all);
  }

  [[nodiscard]] std::int64_t pages_tokens() const {
    return options_.context + 16 * static_cast<std::int64_t>(options_.steps * options_.pairs) / 8 +
           64;
  }

  [[nodiscard]] double weight_bytes() const {
    // Only some rows of the embedding's table are read.
    return static_cast<double>(model_.program()->weight_bytes());
  }

  [[nodiscard]] double kv_bytes(std::int32_t rows) const {
    return static_cast<double>(model_.program()->kv_bytes_per_token(DType::kBF16)) * rows * at_[0];
  }

  /// Fills every row's context.
  void fill() {
    SamplingParams params;
    params.temperature = 0.8F;
    params.top_p = 0.95F;
    params.top_k = 50;
    const auto sampling = std::make_shared<const SamplingParams>(params);
    const auto pages = static_cast<std::int32_t>(limits_.pages_for(pages_tokens()));
    at_.assign(static_cast<std::size_t>(limits_.rows), options_.context);
    double seconds = 0;
    for (std::int32_t row = 0; row < limits_.rows; ++row) {
      plan_.starts.push_back({.row = row,
                              .sampling = sampling,
                              .seed = static_cast<std::uint64_t>(row),
                              .prompt_tokens = options_.context});
      plan_.tables.push_back({row, 0, 0, pages});
      for (std::int32_t page = 0; page < pages; ++page) {
        // The pages of a row are far apart.
        plan_.pages.push_back(page * limits_.rows + row);
      }
      seconds = 0;
      for (std::int32_t at = 0; at < options_.context; at += kStepTokens) {
        const std::int32_t count = std::min(kStepTokens, options_.context - at);
        for (std::int32_t i = at; i < at + count; ++i) {
          plan_.ids.push_back(
              static_cast<TokenId>((i * 7919 + row * 104729) % kLlama7B.vocabulary));
        }
        plan_.entries.push_back({row, count, at, 0});
        if (at + count == options_.context) plan_.samples.push_back({0, row});
        seconds += step();
      }
    }
    std::printf("prompt of %d tokens: %.1f ms, %.0f tokens/s\n", options_.context, seconds * 1e3,
                options_.context / seconds);
  }

  double step() {
    result_.clear();
    const double took = bench::seconds([&] { device_->run(plan_, result_); });
    plan_.clear();
    return took;
  }

  double decode(std::int32_t rows) {
    double total = 0;
    for (int i = 0; i < options_.steps; ++i) {
      for (std::int32_t row = 0; row < rows; ++row) {
        plan_.entries.push_back({row, 1, at_[static_cast<std::size_t>(row)], kLastToken});
        plan_.samples.push_back({row, row});
      }
      total += step();
    }
    return total / options_.steps;
  }

  double replay(cuda::Graph graph) {
    cuda::CudaDevice& device = device_->device();
    return bench::seconds([&] {
             for (int i = 0; i < options_.steps; ++i) {
               cuda::check(device.runtime(), device.runtime().launch(graph, device.stream()),
                           "replaying");
             }
             device.synchronize();
           }) /
           options_.steps;
  }

  double read(std::int32_t rows) {
    cuda::CudaDevice& device = device_->device();
    const cuda::Layout& layout = device.layout();
    const auto weights = static_cast<std::size_t>(weight_bytes()) / 256 * 256;
    const auto kv = static_cast<std::size_t>(kv_bytes(rows)) / 256 * 256;
    const int rounds = std::max(options_.steps / 4, 1);
    return bench::seconds([&] {
             for (int i = 0; i < rounds; ++i) {
               read(layout.weights_begin, weights);
               read(layout.self_kv[0].keys, kv);
             }
             device.synchronize();
           }) /
           rounds;
  }

  void read(const std::byte* memory, std::size_t bytes) {
    cuda::CudaDevice& device = device_->device();
    auto* sink = reinterpret_cast<std::uint32_t*>(device.layout().linear_workspace);
    cuda::check(device.runtime(), cuda::read_memory(memory, bytes, sink, device.stream()),
                "reading");
  }

  void measure(std::int32_t rows) {
    cuda::CudaDevice& device = device_->device();
    cuda::Runtime& runtime = device.runtime();
    decode(rows);
    std::int32_t bucket = 1;
    while (bucket < rows) bucket *= 2;
    cuda::Graph graph = nullptr;
    cuda::check(runtime, runtime.begin_capture(device.stream()), "recording");
    device.launch(device.program().decode, {bucket, bucket, true, false});
    cuda::check(runtime, runtime.end_capture(device.stream(), graph), "recording");
    std::vector<double> reads;
    std::vector<double> replays;
    std::vector<double> steps;
    std::vector<double> replay_ratios;
    std::vector<double> step_ratios;
    replay(graph);
    for (int pair = 0; pair < options_.pairs; ++pair) {
      reads.push_back(read(rows));
      replays.push_back(replay(graph));
      steps.push_back(decode(rows));
      replay_ratios.push_back(reads.back() / replays.back());
      step_ratios.push_back(reads.back() / steps.back());
    }
    runtime.release(graph);
    const auto spread = [](const std::vector<double>& all) {
      char text[64];
      std::snprintf(text, sizeof text, "%.3f [%.3f, %.3f]", median(all),
                    *std::ranges::min_element(all), *std::ranges::max_element(all));
      return std::string(text);
    };
    std::printf("%5d %9.2f %9.3f %9.3f %9.3f   %-22s %-22s %9.0f\n", rows,
                (weight_bytes() + kv_bytes(rows)) * 1e-9, median(reads) * 1e3,
                median(replays) * 1e3, median(steps) * 1e3, spread(replay_ratios).c_str(),
                spread(step_ratios).c_str(), rows / median(steps));
    std::fflush(stdout);
  }

  Options options_;
  RandomLlama model_;
  DeviceLimits limits_;
  std::unique_ptr<cuda::CudaStepDevice> device_;
  Plan plan_;
  StepResult result_;
  std::vector<std::int32_t> at_;
};

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  weft::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    if (!options.take(argv[i])) {
      std::cerr << argv[i]
                << ": one of rows=, context=, layers=, steps=, pairs=, flat=, rule=, and numbers\n";
      return 2;
    }
  }
  weft::bench::Bench(options).run();
  return 0;
}
