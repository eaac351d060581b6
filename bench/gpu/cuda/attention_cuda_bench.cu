#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "weft/kernels/attention/attention_cuda.h"
#include "weft/kernels/cuda/launch_cuda.cuh"

// Attention over paged KV against reading the same bytes: decoding as a ratio to a kernel that only
// reads them, prompts in TFLOP/s. Each launch has another layer's cache, so that none is in the
// second-level cache; launches are in a graph, as in a step. Medians of replays; the spread goes
// from the 10th to the 90th percentile.
namespace weft::cuda {
namespace {

constexpr int kReplays = 30;
constexpr std::size_t kLeastBytes = std::size_t{1} << 30;  // many times the second-level cache
constexpr int kMostLayers = 40;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

void check(Status status, const char* what) { check(static_cast<cudaError_t>(status), what); }

template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) {
    check(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc");
    check(cudaMemset(data_, 0, count * sizeof(T)), "cudaMemset");
  }
  explicit Buffer(const std::vector<T>& from) : Buffer(std::max<std::size_t>(from.size(), 1)) {
    check(cudaMemcpy(data_, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] T* data() const { return static_cast<T*>(data_); }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  std::size_t count_;
  void* data_ = nullptr;
};

__device__ float random_number(std::uint64_t at) {
  at = (at + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
  at = (at ^ at >> 31) * 0x94d049bb133111ebULL;
  return static_cast<float>(at >> 40) * 0x1p-23F - 1;
}

__global__ void fill_random(__nv_bfloat16* to, std::size_t count, std::uint64_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    to[i] = __float2bfloat16_rn(random_number(i + seed * count));
  }
}

constexpr int kReadThreads = 512;
constexpr int kReadUnroll = 8;

/// Reads everything, with eight loads of 16 bytes in flight in each thread.
__global__ void __launch_bounds__(kReadThreads)
    read_all(const uint4* from, std::size_t count, std::uint32_t* sink) {
  wait_for_predecessor();
  let_successor_start();
  const std::size_t step = std::size_t{gridDim.x} * kReadThreads * kReadUnroll;
  std::uint32_t all = 0;
  for (std::size_t base = std::size_t{blockIdx.x} * kReadThreads * kReadUnroll + threadIdx.x;
       base < count; base += step) {
    uint4 words[kReadUnroll];
#pragma unroll
    for (int i = 0; i < kReadUnroll; ++i) {
      const std::size_t at = base + std::size_t{kReadThreads} * i;
      words[i] = at < count ? __ldcs(from + at) : uint4{};
    }
#pragma unroll
    for (const uint4& word : words) all ^= word.x ^ word.y ^ word.z ^ word.w;
  }
  if (all == 0x12345678) *sink = all;
}

struct Timing {
  double median = 0;  // microseconds a launch
  double spread = 0;  // as a fraction of the median
};

/// Captures `layers` calls in a graph and replays it.
Timing time_of(int layers, const std::function<void(int, cudaStream_t)>& launch_layer) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replayed = nullptr;
  check(cudaStreamCreate(&stream), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  for (int layer = 0; layer < layers; ++layer) launch_layer(layer, stream);
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&replayed, graph, 0), "graph");
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<double> times;
  for (int i = 0; i < kReplays + 3; ++i) {
    check(cudaEventRecord(begin, stream), "event");
    check(cudaGraphLaunch(replayed, stream), "graph");
    check(cudaEventRecord(end, stream), "event");
    check(cudaEventSynchronize(end), "graph");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "event");
    if (i >= 3) times.push_back(milliseconds * 1e3 / layers);
  }
  std::ranges::sort(times);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(replayed);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  const double median = times[times.size() / 2];
  return {median, (times[times.size() * 9 / 10] - times[times.size() / 10]) / median};
}

struct Case {
  std::string name;
  std::int32_t heads = 32;
  std::int32_t kv_heads = 8;
  std::int32_t head_size = 128;
  std::int32_t page_tokens = 16;
  std::vector<std::int32_t> contexts = {};
  std::int32_t chunk = 1;          // tokens of a prompt, the last of its context
  std::int32_t prompts = 1 << 30;  // the number of rows with prompts; the other rows have one token

  [[nodiscard]] std::int32_t tokens_of(std::size_t sequence) const {
    return static_cast<std::int64_t>(sequence) < prompts ? chunk : 1;
  }
};

int processors() {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "device");
  return count;
}

/// A step over several layers of a cache, on the device.
class Step {
 public:
  explicit Step(const Case& of)
      : case_(of),
        sequences_(make_sequences()),
        items_(make_items()),
        layer_numbers_(static_cast<std::size_t>(pages_.size()) * of.kv_heads * of.page_tokens *
                       of.head_size),
        layers_(static_cast<int>(
            std::clamp<std::size_t>(kLeastBytes / (layer_numbers_ * 4) + 1, 2, kMostLayers))),
        keys_(layer_numbers_ * layers_),
        values_(layer_numbers_ * layers_),
        device_sequences_(sequences_),
        device_pages_(pages_),
        device_items_(items_),
        count_(std::vector<std::int32_t>{static_cast<std::int32_t>(items_.size())}),
        queries_(random_queries()),
        out_(std::size_t(rows_) * of.heads * of.head_size),
        workspace_(cuda_attention_workspace_bytes(max_items_, of.heads, of.head_size)),
        sink_(1) {
    fill_random<<<1024, 256>>>(keys_.data(), layer_numbers_ * layers_, 1);
    fill_random<<<1024, 256>>>(values_.data(), layer_numbers_ * layers_, 2);
    check(cudaDeviceSynchronize(), "fill");
  }

  [[nodiscard]] double kv_bytes() const {
    const double tokens = std::accumulate(case_.contexts.begin(), case_.contexts.end(), 0.0);
    return tokens * case_.kv_heads * case_.head_size * 4;
  }

  [[nodiscard]] double flops() const {
    double pairs = 0;
    for (const DeviceSequence& sequence : sequences_) {
      pairs += sequence.count * (sequence.context - (sequence.count - 1) / 2.0);
    }
    return pairs * 4 * case_.heads * case_.head_size;
  }

  [[nodiscard]] std::size_t items() const { return items_.size(); }

  [[nodiscard]] Timing attend(bool unified) const {
    return time_of(layers_, [&](int layer, cudaStream_t stream) {
      check(attention(params(layer, unified), stream), "attention");
    });
  }

  /// Times reading as many bytes as attention has to read.
  [[nodiscard]] Timing read() const {
    const std::size_t words = static_cast<std::size_t>(kv_bytes()) / 2 / sizeof(uint4);
    const auto blocks = static_cast<unsigned>(
        std::min<std::size_t>(processors() * 4, 2 * words / (kReadThreads * kReadUnroll) + 1));
    return time_of(2 * layers_, [&](int half, cudaStream_t stream) {
      const auto* from = half % 2 == 0 ? keys_.data() : values_.data();
      check(launch(read_all, dim3(blocks), dim3(kReadThreads), 0, stream,
                   reinterpret_cast<const uint4*>(from + layer_numbers_ * (half / 2)), words,
                   sink_.data()),
            "read");
    });
  }

 private:
  std::vector<DeviceSequence> make_sequences() {
    std::vector<DeviceSequence> sequences;
    for (const std::int32_t context : case_.contexts) {
      const std::int32_t count = case_.tokens_of(sequences.size());
      sequences.push_back({.first = rows_,
                           .count = count,
                           .start = context - count,
                           .context = context,
                           .first_page = static_cast<std::int64_t>(pages_.size())});
      rows_ += count;
      pages_.resize(pages_.size() + (context + case_.page_tokens - 1) / case_.page_tokens);
    }
    std::iota(pages_.begin(), pages_.end(), 0);
    std::shuffle(pages_.begin(), pages_.end(), std::mt19937(7));
    return sequences;
  }

  std::vector<CudaAttentionItem> make_items() {
    AttentionShape shape{.processors = processors(),
                         .heads = case_.heads,
                         .kv_heads = case_.kv_heads,
                         .head_size = case_.head_size,
                         .page_tokens = case_.page_tokens};
    max_items_ = max_attention_items(static_cast<std::int32_t>(sequences_.size()), rows_, shape);
    shape.max_items = max_items_;
    std::vector<CudaAttentionItem> items;
    plan_attention(sequences_, shape, items);
    return items;
  }

  [[nodiscard]] std::vector<float> random_queries() const {
    std::vector<float> queries(static_cast<std::size_t>(rows_) * case_.heads * case_.head_size);
    std::mt19937 engine(3);
    for (float& number : queries) number = std::uniform_real_distribution<float>(-2, 2)(engine);
    return queries;
  }

  [[nodiscard]] CudaAttentionParams params(int layer, bool unified) const {
    const std::int64_t width = std::int64_t{case_.heads} * case_.head_size;
    const std::size_t first = layer_numbers_ * static_cast<std::size_t>(layer);
    return {.rows = rows_,
            .queries = {queries_.data(), DType::kF32, width, width, rows_},
            .heads = case_.heads,
            .kv = {DType::kBF16, reinterpret_cast<std::byte*>(keys_.data() + first),
                   reinterpret_cast<std::byte*>(values_.data() + first), case_.page_tokens,
                   case_.kv_heads, case_.head_size},
            .spans = {device_sequences_.data(), nullptr, device_pages_.data()},
            .items = device_items_.data(),
            .item_count = count_.data(),
            .max_items = max_items_,
            .decodes = case_.chunk == 1,
            .spec = {.scale = 1 / std::sqrt(static_cast<float>(case_.head_size))},
            .out = {out_.data(), DType::kBF16, width, width, rows_},
            .unified = unified,
            .workspace = workspace_.data()};
  }

  Case case_;
  std::int32_t rows_ = 0;
  std::int32_t max_items_ = 0;
  std::vector<std::int32_t> pages_;
  std::vector<DeviceSequence> sequences_;
  std::vector<CudaAttentionItem> items_;
  std::size_t layer_numbers_;
  int layers_;
  Buffer<__nv_bfloat16> keys_;
  Buffer<__nv_bfloat16> values_;
  Buffer<DeviceSequence> device_sequences_;
  Buffer<std::int32_t> device_pages_;
  Buffer<CudaAttentionItem> device_items_;
  Buffer<std::int32_t> count_;
  Buffer<float> queries_;
  Buffer<__nv_bfloat16> out_;
  Buffer<std::byte> workspace_;
  Buffer<std::uint32_t> sink_;
};

std::vector<std::int32_t> same(int rows, std::int32_t context) {
  return std::vector<std::int32_t>(static_cast<std::size_t>(rows), context);
}

/// 32 lengths from L / 64 to L, together 32 * 4096.
std::vector<std::int32_t> skewed() {
  std::vector<double> lengths;
  for (int i = 0; i < 32; ++i) lengths.push_back(std::pow(64.0, i / 31.0));
  const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  std::vector<std::int32_t> result;
  for (const double length : lengths) {
    result.push_back(static_cast<std::int32_t>(length / sum * 32 * 4096));
  }
  return result;
}

void decode(const Case& of) {
  const Step step(of);
  const Timing read = step.read();
  const Timing running = step.attend(false);
  const Timing unified = step.attend(true);
  const double stream = 2 * read.median;  // keys, then values
  std::printf("%-34s %5zu %8.1f %7.0f %8.1f %5.1f%% %7.0f %6.2f %8.1f %6.2f\n", of.name.c_str(),
              step.items(), stream, step.kv_bytes() / stream / 1e3, running.median,
              running.spread * 100, step.kv_bytes() / running.median / 1e3, stream / running.median,
              unified.median, stream / unified.median);
}

void prefill(const Case& of) {
  const Step step(of);
  const Timing timing = step.attend(false);
  std::printf("%-34s %5zu %8.1f us %5.1f%% %7.0f TFLOP/s\n", of.name.c_str(), step.items(),
              timing.median, timing.spread * 100, step.flops() / timing.median / 1e6);
}

void decode_all() {
  std::printf("%-34s %5s %8s %7s %8s %6s %7s %6s %8s %6s\n", "decoding, bf16, D 128", "items",
              "read us", "GB/s", "us", "spread", "GB/s", "ratio", "unified", "ratio");
  for (const std::int32_t page_tokens : {16, 1, 64}) {
    const std::string pages = ", page " + std::to_string(page_tokens);
    decode({.name = "32 x 4096, 32/8 heads" + pages,
            .page_tokens = page_tokens,
            .contexts = same(32, 4096)});
  }
  decode({.name = "32 of 64:1, 32/8 heads", .contexts = skewed()});
  std::vector<std::int32_t> one_long = same(31, 1380);
  one_long.push_back(64 * 1380);
  decode({.name = "31 x 1380, 88320, 32/8 heads", .contexts = one_long});
  decode({.name = "1 x 131072, 32/8 heads", .contexts = same(1, 131072)});
  decode({.name = "1 x 4096, 32/8 heads", .contexts = same(1, 4096)});
  for (const int rows : {1, 8, 32, 64}) {
    decode({.name = std::to_string(rows) + " x 1024, 32 heads",
            .kv_heads = 32,
            .contexts = same(rows, 1024)});
  }
}

void prefill_all() {
  for (const std::int32_t tokens : {512, 2048, 8192}) {
    prefill({.name = "prompt of " + std::to_string(tokens) + ", 32/8 heads",
             .contexts = same(1, tokens),
             .chunk = tokens});
  }
  prefill({.name = "last 64 of 32768, 32/8 heads", .contexts = same(1, 32768), .chunk = 64});
  prefill({.name = "4 prompts of 2048, 32 heads",
           .kv_heads = 32,
           .contexts = same(4, 2048),
           .chunk = 2048});
  prefill({.name = "31 x 4096 decode, a chunk of 512",
           .contexts = same(32, 4096),
           .chunk = 512,
           .prompts = 1});
}

}  // namespace
}  // namespace weft::cuda

/// The argument `decode` or `prefill` runs one half only.
int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what != "prefill") weft::cuda::decode_all();
  if (what != "decode") weft::cuda::prefill_all();
  return 0;
}
