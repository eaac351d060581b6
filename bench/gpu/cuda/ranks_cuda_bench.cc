// The costs and gains of ranks on GPUs.
//   all-reduce  microseconds of an all-reduce of so many bytes, recorded as in steps, many in a
//               row, by NCCL and by our own ways (which use NCCL for larger sizes)
//   step        decode steps of a model's shape with random bf16 weights: on one GPU, on all GPUs
//               with shared layers, on all as stages, on four as two stages of two. Each is
//               compared with the time in which its slowest rank reads its weights (stages: added
//               up). `share` is the step of one rank with shared layers, alone on one GPU: the
//               time of a step if exchanging numbers took no time
//
// weft_ranks_cuda_bench [gpus=2] [rows=1,32] [context=128] [layers=32] [steps=20] [rounds=9]

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/rank_threads.h"
#include "weft/gpu/ranks/step_ranks.h"
#include "weft/model/random_llama.h"

namespace weft::bench {
namespace {

using Numbers = std::vector<std::int32_t>;
using Options = std::map<std::string, Numbers>;

bool take(Options& options, const std::string& argument) {
  const auto equals = argument.find('=');
  const auto found = options.find(argument.substr(0, equals));
  if (equals == std::string::npos || found == options.end()) return false;
  Numbers numbers;
  std::stringstream list(argument.substr(equals + 1));
  for (std::string one; std::getline(list, one, ',');) numbers.push_back(std::atoi(one.c_str()));
  found->second = numbers;
  return !numbers.empty() && std::ranges::all_of(numbers, [](std::int32_t one) { return one > 0; });
}

template <class T>
T value_or_end(Result<T> result) {
  if (result) return *std::move(result);
  std::cerr << to_string(result.error()) << '\n';
  std::exit(1);
}

/// One rank's part of the all-reduces.
class Reducer {
 public:
  static constexpr std::int64_t kMostBytes = std::int64_t{16} << 20U;
  static constexpr int kInARow = 20;
  static constexpr std::int64_t kWidth = 4096;  ///< numbers of a row, as in Llama-2-7B

  Reducer(std::int32_t index, std::shared_ptr<cuda::CudaRanks> all)
      : runtime_(value_or_end(cuda::open_runtime(index))), place_{std::move(all), 0, index} {}
  ~Reducer() {
    static_cast<void>(runtime_->use());
    runtime_->leave();
  }
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  void prepare() {
    check(*runtime_, runtime_->use(), "choosing the GPU");
    memory_ = cuda::take_memory(*runtime_, kMostBytes);
    stream_ = cuda::make_stream(*runtime_);
    begun_ = cuda::make_timing_event(*runtime_);
    ended_ = cuda::make_timing_event(*runtime_);
    check(*runtime_, runtime_->clear(memory_.get(), kMostBytes, stream_.get()), "clearing");
    synchronize();
  }
  void join() { check(*runtime_, runtime_->join(place_), "meeting"); }

  /// Returns the seconds of one all-reduce, the mean of many in a row.
  double measure(std::int64_t bytes, cuda::SumWay way) {
    cuda::OwnedGraph& graph = graphs_[{bytes, way}];
    if (!graph) graph = record(bytes, way);
    check(*runtime_, runtime_->record(begun_.get(), stream_.get()), "timing");
    check(*runtime_, runtime_->launch(graph.get(), stream_.get()), "replaying");
    check(*runtime_, runtime_->record(ended_.get(), stream_.get()), "timing");
    synchronize();
    float milliseconds = 0;
    check(*runtime_, runtime_->elapsed(begun_.get(), ended_.get(), milliseconds), "timing");
    return static_cast<double>(milliseconds) * 1e-3 / kInARow;
  }

 private:
  [[nodiscard]] cuda::OwnedGraph record(std::int64_t bytes, cuda::SumWay way) {
    reduce(bytes, way);
    synchronize();
    check(*runtime_, runtime_->begin_capture(stream_.get()), "recording");
    for (int i = 0; i < kInARow; ++i) reduce(bytes, way);
    cuda::Graph graph = nullptr;
    check(*runtime_, runtime_->end_capture(stream_.get(), graph), "recording");
    return {graph, {runtime_.get()}};
  }
  void reduce(std::int64_t bytes, cuda::SumWay way) {
    const std::int64_t numbers = bytes / static_cast<std::int64_t>(sizeof(float));
    const std::int64_t width = std::min<std::int64_t>(numbers, kWidth);
    const cuda::DeviceRows rows{memory_.get(), DType::kF32, width, width, numbers / width};
    check(*runtime_,
          runtime_->run(cuda::CudaAllReduceParams{numbers / width, rows, way}, stream_.get()),
          "all-reduce");
  }
  void synchronize() { check(*runtime_, runtime_->synchronize(stream_.get()), "waiting"); }

  std::unique_ptr<cuda::Runtime> runtime_;
  const cuda::CudaRank place_;
  cuda::OwnedMemory memory_;
  cuda::OwnedStream stream_;
  cuda::OwnedEvent begun_, ended_;
  std::map<std::pair<std::int64_t, cuda::SumWay>, cuda::OwnedGraph> graphs_;
};

void all_reduces(std::int32_t gpus, int rounds) {
  const auto all = value_or_end(cuda::make_ranks({gpus}));
  std::vector<std::unique_ptr<Reducer>> ranks;
  for (std::int32_t gpu = 0; gpu < gpus; ++gpu) {
    ranks.push_back(std::make_unique<Reducer>(gpu, all));
  }
  RankThreads threads(ranks.size());
  threads.run([&](std::size_t rank) { ranks[rank]->prepare(); });
  threads.run([&](std::size_t rank) { ranks[rank]->join(); });
  constexpr std::array kWays = {cuda::SumWay::kNccl, cuda::SumWay::kOneShot,
                                cuda::SumWay::kTwoShots};
  std::printf("%10s %28s %28s %28s %10s\n", "bytes", "NCCL us", "one shot us", "two shots us",
              "one / NCCL");
  for (std::int64_t bytes = 4096; bytes <= Reducer::kMostBytes; bytes *= 2) {
    std::printf("%10lld", static_cast<long long>(bytes));
    std::vector<double> medians;
    for (const cuda::SumWay way : kWays) {
      std::vector<double> took(ranks.size());
      std::vector<double> slowest;
      for (int round = 0; round <= rounds; ++round) {
        threads.run([&](std::size_t rank) { took[rank] = ranks[rank]->measure(bytes, way); });
        // The first round is not counted, because it makes the connections.
        if (round > 0) slowest.push_back(*std::ranges::max_element(took));
      }
      medians.push_back(median(slowest));
      std::printf(" %10.1f [%6.1f, %6.1f]", medians.back() * 1e6,
                  *std::ranges::min_element(slowest) * 1e6,
                  *std::ranges::max_element(slowest) * 1e6);
    }
    std::printf(" %10.2f\n", medians[1] / medians[0]);
  }
  std::fflush(stdout);
}

/// Decode steps on one partition.
class Steps {
 public:
  Steps(const OpenedModel& model, const std::string& partition, const Options& options)
      : rows_(options.at("rows")),
        context_(options.at("context").front()),
        steps_(options.at("steps").front()) {
    DeviceWishes wishes;
    wishes.replicas = {partition};
    wishes.kv_dtype = DType::kBF16;
    wishes.capacity.rows = *std::ranges::max_element(rows_);
    wishes.capacity.context = context_ + 1;
    StepDevices loaded = value_or_end(load_step_devices(model, wishes, {}));
    device_ = std::make_unique<StepRanks>(std::move(loaded.devices.front()));
    SamplingParams params;
    params.temperature = 0.8F;
    params.top_p = 0.95F;
    params.top_k = 50;
    sampling_ = std::make_shared<const SamplingParams>(params);
  }

  /// Returns the seconds of a step. All rows stay at one position; the pages' contents do not
  /// matter.
  double decode(std::int32_t rows) {
    const DeviceLimits& limits = device_->limits();
    for (std::int32_t row = 0; row < rows; ++row) {
      plan_.starts.push_back({.row = row, .sampling = sampling_});
      const auto pages = static_cast<std::int32_t>(limits.pages_for(context_ + 1));
      plan_.tables.push_back({row, 0, static_cast<std::int32_t>(plan_.pages.size()), pages});
      for (std::int32_t page = 0; page < pages; ++page) {
        plan_.pages.push_back(page * rows + row);
      }
    }
    plan_.ids.push_back(7);
    step(rows, 0);
    std::vector<double> all;
    for (std::int32_t i = 0; i < steps_; ++i) all.push_back(step(rows, kLastToken));
    return median(all);
  }

  [[nodiscard]] const Numbers& rows() const { return rows_; }

 private:
  double step(std::int32_t rows, std::int32_t id) {
    for (std::int32_t row = 0; row < rows; ++row) {
      plan_.entries.push_back({row, 1, context_, id});
      plan_.samples.push_back({row, row});
    }
    plan_.rows = rows;
    result_.clear();
    const double took = seconds([&] { device_->run(plan_, result_); });
    plan_.clear();
    return took;
  }

  const Numbers rows_;
  const std::int32_t context_, steps_;
  std::unique_ptr<StepRanks> device_;
  std::shared_ptr<const SamplingParams> sampling_;
  Plan plan_;
  StepResult result_;
};

/// Returns the bytes that a step waits for: the sum over stages of the bytes of the slowest rank.
double slowest_bytes(const OpenedModel& model, const std::string& text) {
  const Partition partition = value_or_end(parse_partition(text));
  const auto programs = value_or_end(compile_parts(model, partition));
  double bytes = 0;
  std::size_t next = 0;
  for (const Partition::Stage& stage : partition.stages) {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < stage.devices.size(); ++i) {
      most = std::max(most, programs[next++]->weight_bytes());
    }
    bytes += static_cast<double>(most);
  }
  return bytes;
}

/// A model, and the partition to measure.
struct Cut {
  std::string name;
  LlamaShape shape;
  std::string partition;
};

/// Writes "cuda:0,cuda:1,...": GPUs from `first` on, with a separator between them.
std::string gpus_text(std::int32_t first, std::int32_t count, std::string_view between) {
  std::string text;
  for (std::int32_t gpu = first; gpu < first + count; ++gpu) {
    if (gpu > first) text += between;
    text += "cuda:" + std::to_string(gpu);
  }
  return text;
}

std::vector<Cut> cuts(const Options& options, std::int32_t gpus) {
  LlamaShape whole = kLlama7B;
  whole.layers = options.at("layers").front();
  std::vector<Cut> all = {{"cuda:0", whole, "cuda:0"}};
  if (gpus == 1) return all;
  LlamaShape share = whole;
  share.head_size = whole.hidden / whole.heads;
  for (std::int64_t* one : {&share.heads, &share.kv_heads, &share.ffn, &share.vocabulary}) {
    *one /= gpus;
  }
  all.push_back({"share", share, "cuda:0"});
  std::vector<std::string> partitions = {gpus_text(0, gpus, ","), gpus_text(0, gpus, " | ")};
  if (gpus == 4) partitions.push_back(gpus_text(0, 2, ",") + " | " + gpus_text(2, 2, ","));
  for (const std::string& partition : partitions) all.push_back({partition, whole, partition});
  return all;
}

void steps(const Options& options, std::int32_t gpus) {
  const double rate = value_or_end(measure_read_bandwidth("cuda:0"));
  std::printf("\n%-36s %5s %9s %28s %9s %9s\n", "partition", "rows", "limit ms", "step ms",
              "limit/step", "times one");
  std::map<std::int32_t, double> one;
  for (const Cut& cut : cuts(options, gpus)) {
    const OpenedModel model = RandomLlama(cut.shape, 7).opened();
    Steps bench(model, cut.partition, options);
    const double limit = slowest_bytes(model, cut.partition) / rate;
    for (const std::int32_t rows : bench.rows()) {
      std::vector<double> all;
      for (std::int32_t round = 0; round <= options.at("rounds").front(); ++round) {
        const double took = bench.decode(rows);
        if (round > 0) all.push_back(took);
      }
      if (!one.contains(rows)) one[rows] = median(all);
      std::printf("%-36s %5d %9.3f %10.3f [%6.3f, %6.3f] %9.3f %9.3f\n", cut.name.c_str(), rows,
                  limit * 1e3, median(all) * 1e3, *std::ranges::min_element(all) * 1e3,
                  *std::ranges::max_element(all) * 1e3, limit / median(all),
                  one[rows] / median(all));
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  weft::bench::Options options = {{"gpus", {2}},    {"rows", {1, 32}}, {"context", {128}},
                                  {"layers", {32}}, {"steps", {20}},   {"rounds", {9}}};
  for (int i = 1; i < argc; ++i) {
    if (!weft::bench::take(options, argv[i])) {
      std::cerr << argv[i] << ": one of gpus=, rows=, context=, layers=, steps=, rounds=\n";
      return 2;
    }
  }
  const std::int32_t gpus = options.at("gpus").front();
  if (gpus > 1) weft::bench::all_reduces(gpus, options.at("rounds").front());
  weft::bench::steps(options, gpus);
  return 0;
}
