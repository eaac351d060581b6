// Size: every case is held against one reference over one set of inputs.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/kv_dtype.h"
#include "weft/kernels/attention/attention_cuda.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/kernels/attention/attention_reference_cuda.h"
#include "weft/tests/kernels/attention/kv_row_reference.h"
#include "weft/tests/kernels/cuda/sizes_cuda.h"

namespace weft::cuda {
namespace {

constexpr std::int32_t kProcessors = 132;  // so that plans cut what is short
constexpr std::uint8_t kPoison = 0xff;     // a NaN in each of the types

/// The parameters of a step's attention; `params` without the pointers.
struct Model {
  std::int32_t heads = 8;
  std::int32_t kv_heads = 2;
  std::int32_t head_size = 128;
  std::int32_t page_tokens = 16;
  DType dtype = DType::kBF16;
  DType out = DType::kF32;
  CudaAttentionParams params{};
  bool slopes = false;
  bool relative = false;
  bool sinks = false;
  float query_range = 3;
};

/// Start and count of a sequence's tokens, and its context if that is not where they end.
struct Piece {
  std::int32_t start = 0;
  std::int32_t count = 1;
  std::int32_t context = 0;
};

template <class T>
class DeviceCopy {
 public:
  explicit DeviceCopy(std::vector<T> host) : host_(std::move(host)) {
    EXPECT_EQ(cudaMalloc(&data_, std::max<std::size_t>(bytes(), 1)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, host_.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~DeviceCopy() { cudaFree(data_); }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  [[nodiscard]] T* on_device() const { return static_cast<T*>(data_); }
  [[nodiscard]] T* on_host() { return host_.data(); }
  [[nodiscard]] std::size_t bytes() const { return host_.size() * sizeof(T); }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> result(host_.size());
    EXPECT_EQ(cudaMemcpy(result.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return result;
  }
  void fill(std::uint8_t byte) const { EXPECT_EQ(cudaMemset(data_, byte, bytes()), cudaSuccess); }

 private:
  std::vector<T> host_;
  void* data_ = nullptr;
};

std::size_t width_of(DType dtype) { return dtype == DType::kF32 ? 4 : 2; }

float number_at(const std::vector<std::uint8_t>& bytes, DType dtype, std::size_t index) {
  const std::uint8_t* from = bytes.data() + index * width_of(dtype);
  float number = 0;
  std::uint16_t half = 0;
  std::memcpy(dtype == DType::kF32 ? static_cast<void*>(&number) : &half, from, width_of(dtype));
  if (dtype == DType::kF32) return number;
  return dtype == DType::kF16 ? from_f16(half) : from_bf16(half);
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  float number(float range) {
    return std::uniform_real_distribution<float>(-range, range)(engine_);
  }
  std::vector<float> numbers(std::size_t count, float range) {
    std::vector<float> result(count);
    for (float& one : result) one = number(range);
    return result;
  }
  std::vector<std::int32_t> shuffled(std::int32_t count) {
    std::vector<std::int32_t> result(static_cast<std::size_t>(count));
    std::iota(result.begin(), result.end(), 0);
    std::shuffle(result.begin(), result.end(), engine_);
    return result;
  }

 private:
  std::mt19937 engine_;
};

/// All that a step's attention reads, on the host. Numbers that no token sees are NaN, and pages
/// behind a context are no pages.
struct Inputs {
  Inputs(const Model& of, const std::vector<Piece>& pieces, unsigned seed) : model(of) {
    Random random(seed);
    for (const Piece& piece : pieces) add_sequence(piece);
    fill_cache(random);
    const std::size_t width = static_cast<std::size_t>(stride());
    queries = random.numbers(static_cast<std::size_t>(rows) * width, model.query_range);
    const auto heads = static_cast<std::size_t>(model.heads);
    if (model.slopes) slopes = random.numbers(heads, 0.1F);
    if (model.sinks) sinks = random.numbers(heads, 4);
    if (model.relative) {
      relative =
          random.numbers(heads * static_cast<std::size_t>(model.params.spec.relative_buckets), 2);
    }
    plan();
  }

  [[nodiscard]] std::int64_t stride() const {
    return (std::int64_t{model.heads} * model.head_size + 63) / 64 * 64;
  }

  void add_sequence(const Piece& piece) {
    const std::int32_t context = piece.context > 0 ? piece.context : piece.start + piece.count;
    sequences.push_back({.first = rows,
                         .count = piece.count,
                         .start = piece.start,
                         .context = context,
                         .first_page = static_cast<std::int64_t>(contexts)});
    const std::int32_t pages_here = (context + model.page_tokens - 1) / model.page_tokens;
    contexts += pages_here + 1;
    used += pages_here;
    rows += piece.count;
  }

  void fill_cache(Random& random) {
    const std::int32_t all = used + 3;
    const std::vector<std::int32_t> free = random.shuffled(all);
    pages.assign(static_cast<std::size_t>(contexts), std::numeric_limits<std::int32_t>::max());
    const auto row_bytes = static_cast<std::size_t>(kv_row_bytes(model.dtype, model.head_size));
    const std::size_t bytes =
        static_cast<std::size_t>(all) * model.kv_heads * model.page_tokens * row_bytes;
    keys.assign(bytes, kPoison);
    values.assign(bytes, kPoison);
    std::size_t taken = 0;
    for (const DeviceSequence& sequence : sequences) {
      for (std::int32_t position = 0; position < sequence.context; ++position) {
        const auto at =
            static_cast<std::size_t>(sequence.first_page + position / model.page_tokens);
        if (position % model.page_tokens == 0) pages[at] = free[taken++];
        for (std::int32_t head = 0; head < model.kv_heads; ++head) {
          const std::size_t row =
              (static_cast<std::size_t>(pages[at]) * model.kv_heads + head) * model.page_tokens +
              position % model.page_tokens;
          for (auto* cache : {&keys, &values}) {
            write_kv_row(
                model.dtype, random.numbers(static_cast<std::size_t>(model.head_size), 1),
                std::as_writable_bytes(std::span(*cache)).subspan(row * row_bytes, row_bytes));
          }
        }
      }
    }
  }

  void plan() {
    AttentionShape shape{.processors = kProcessors,
                         .heads = model.heads,
                         .kv_heads = model.kv_heads,
                         .head_size = model.head_size,
                         .page_tokens = model.page_tokens,
                         .causal = model.params.spec.causal};
    shape.max_items = max_attention_items(static_cast<std::int32_t>(sequences.size()), rows, shape);
    max_items = shape.max_items;
    plan_attention(sequences, shape, items);
    item_count = static_cast<std::int32_t>(items.size());
  }

  Model model;
  std::vector<DeviceSequence> sequences;
  std::vector<std::int32_t> pages;
  std::vector<std::uint8_t> keys;
  std::vector<std::uint8_t> values;
  std::vector<float> queries;
  std::vector<float> slopes;
  std::vector<float> sinks;
  std::vector<float> relative;
  std::vector<CudaAttentionItem> items;
  std::int32_t item_count = 0;
  std::int32_t max_items = 0;
  std::int32_t rows = 0;
  std::int32_t contexts = 0;
  std::int32_t used = 0;
};

/// The parameters with the host's pointers.
CudaAttentionParams host_params(Inputs& inputs) {
  const Model& model = inputs.model;
  CudaAttentionParams params = model.params;
  params.rows = inputs.rows;
  params.queries = {.data = inputs.queries.data(),
                    .width = inputs.stride(),
                    .stride = inputs.stride(),
                    .capacity = inputs.rows};
  params.heads = model.heads;
  params.kv = {.dtype = model.dtype,
               .keys = reinterpret_cast<std::byte*>(inputs.keys.data()),
               .values = reinterpret_cast<std::byte*>(inputs.values.data()),
               .page_tokens = model.page_tokens,
               .kv_heads = model.kv_heads,
               .head_size = model.head_size};
  params.spans = {.sequences = inputs.sequences.data(), .pages = inputs.pages.data()};
  params.items = inputs.items.data();
  params.item_count = &inputs.item_count;
  params.max_items = inputs.max_items;
  params.decodes = std::ranges::all_of(
      inputs.items, [](const CudaAttentionItem& item) { return item.tokens == 1; });
  params.spec.scale = 1.0F / std::sqrt(static_cast<float>(model.head_size));
  params.alibi_slopes = inputs.slopes.empty() ? nullptr : inputs.slopes.data();
  params.relative_bias = inputs.relative.empty() ? nullptr : inputs.relative.data();
  params.sinks = inputs.sinks.empty() ? nullptr : inputs.sinks.data();
  params.out = {.dtype = model.out,
                .width = inputs.stride(),
                .stride = inputs.stride(),
                .capacity = inputs.rows};
  return params;
}

/// The inputs in the device's memory, with an output and a workspace.
class OnDevice {
 public:
  explicit OnDevice(Inputs& inputs)
      : inputs_(inputs),
        sequences_(inputs.sequences),
        pages_(inputs.pages),
        keys_(inputs.keys),
        values_(inputs.values),
        queries_(inputs.queries),
        slopes_(inputs.slopes),
        sinks_(inputs.sinks),
        relative_(inputs.relative),
        items_(inputs.items),
        count_({inputs.item_count}),
        recomputed_({0}),
        out_(std::vector<std::uint8_t>(static_cast<std::size_t>(inputs.rows * inputs.stride()) *
                                       width_of(inputs.model.out))),
        workspace_(workspace_of(inputs)) {}

  [[nodiscard]] CudaAttentionParams params() const {
    CudaAttentionParams params = host_params(inputs_);
    params.queries.data = queries_.on_device();
    params.kv.keys = reinterpret_cast<std::byte*>(keys_.on_device());
    params.kv.values = reinterpret_cast<std::byte*>(values_.on_device());
    params.spans = {.sequences = sequences_.on_device(), .pages = pages_.on_device()};
    params.items = items_.on_device();
    params.item_count = count_.on_device();
    if (params.alibi_slopes != nullptr) params.alibi_slopes = slopes_.on_device();
    if (params.relative_bias != nullptr) params.relative_bias = relative_.on_device();
    if (params.sinks != nullptr) params.sinks = sinks_.on_device();
    params.out.data = out_.on_device();
    params.workspace = reinterpret_cast<std::byte*>(workspace_.on_device());
    params.recomputed = recomputed_.on_device();
    return params;
  }

  /// Runs it over a poisoned output; counters must be left zero.
  std::vector<std::uint8_t> run() const { return run(params()); }

  std::vector<std::uint8_t> run(const CudaAttentionParams& params) const {
    out_.fill(kPoison);
    EXPECT_EQ(attention(params, nullptr), Status::kSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    expect_counters_zero();
    return out_.read();
  }

  void expect_counters_zero() const {
    const std::vector<std::uint8_t> workspace = workspace_.read();
    EXPECT_TRUE(std::all_of(workspace.begin(),
                            workspace.begin() + std::ptrdiff_t{kAttentionCounterBytes},
                            [](std::uint8_t byte) { return byte == 0; }));
  }

  void poison_out() const { out_.fill(kPoison); }
  [[nodiscard]] std::vector<std::uint8_t> out() const { return out_.read(); }
  [[nodiscard]] std::uint32_t recomputed() const { return recomputed_.read()[0]; }

 private:
  static std::vector<std::uint8_t> workspace_of(const Inputs& inputs) {
    std::vector<std::uint8_t> bytes(cuda_attention_workspace_bytes(
        inputs.max_items, inputs.model.heads, inputs.model.head_size));
    std::fill(bytes.begin() + std::ptrdiff_t{kAttentionCounterBytes}, bytes.end(), kPoison);
    return bytes;
  }

  Inputs& inputs_;
  DeviceCopy<DeviceSequence> sequences_;
  DeviceCopy<std::int32_t> pages_;
  DeviceCopy<std::uint8_t> keys_;
  DeviceCopy<std::uint8_t> values_;
  DeviceCopy<float> queries_;
  DeviceCopy<float> slopes_;
  DeviceCopy<float> sinks_;
  DeviceCopy<float> relative_;
  DeviceCopy<CudaAttentionItem> items_;
  DeviceCopy<std::int32_t> count_;
  DeviceCopy<std::uint32_t> recomputed_;
  DeviceCopy<std::uint8_t> out_;
  DeviceCopy<std::uint8_t> workspace_;
};

/// How far a head's numbers may be off, relative to their norm: products are in float32, or
/// operands are rounded to 8 or 11 bits.
double tolerance_of(DType kv, DType out) {
  // Codes become bf16 for the tensor cores.
  if (kv == DType::kBF16 || is_coded_kv(kv) || out == DType::kBF16) return 1.2e-2;
  return kv == DType::kF16 || out == DType::kF16 ? 2e-3 : 2e-5;
}

void expect_close(Inputs& inputs, const std::vector<std::uint8_t>& got) {
  std::vector<std::uint8_t> want(got.size(), kPoison);
  CudaAttentionParams params = host_params(inputs);
  params.out.data = want.data();
  attention_reference(params);
  const Model& model = inputs.model;
  const double tolerance = tolerance_of(model.dtype, model.out);
  for (std::int32_t row = 0; row < inputs.rows; ++row) {
    for (std::int32_t head = 0; head < model.heads; ++head) {
      double error = 0;
      double norm = 0;
      for (std::int32_t d = 0; d < model.head_size; ++d) {
        const auto at = static_cast<std::size_t>(row * inputs.stride() +
                                                 std::int64_t{head} * model.head_size + d);
        const double expected = number_at(want, model.out, at);
        const double difference = number_at(got, model.out, at) - expected;
        error += difference * difference;
        norm += expected * expected;
      }
      const bool close = std::sqrt(error) <= tolerance * std::sqrt(norm);
      ASSERT_TRUE(close) << "row " << row << ", head " << head << ": error " << std::sqrt(error)
                         << " of " << std::sqrt(norm);
    }
  }
}

class AttentionCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
  }

  void expect_reference(const Model& model, const std::vector<Piece>& pieces) {
    SCOPED_TRACE(testing::Message()
                 << model.heads << "/" << model.kv_heads << " heads of " << model.head_size << ", "
                 << to_string(model.dtype) << ", " << model.page_tokens << " a page");
    Inputs inputs(model, pieces, ++seed_);
    expect_close(inputs, OnDevice(inputs).run());
  }

  unsigned seed_ = 0;
};

std::vector<Piece> decoding(const std::vector<std::int32_t>& contexts) {
  std::vector<Piece> pieces;
  for (const std::int32_t context : contexts) pieces.push_back({.start = context - 1});
  return pieces;
}

/// The types of outputs, and of keys and values.
const std::vector<DType> output_types = {DType::kF32, DType::kF16, DType::kBF16};
const std::vector<DType> cache_types = {DType::kF32, DType::kF16, DType::kBF16, DType::kI8,
                                        DType::kF8_E4M3};

TEST_F(AttentionCudaTest, DecodesWithEveryHeadSizeTypeAndPageSize) {
  for (const std::int32_t head_size : {40, 64, 80, 96, 128, 256, 37}) {
    for (const DType dtype : cache_types) {
      for (const std::int32_t page_tokens : test_sizes({1, 16, 64}, {16})) {
        expect_reference({.head_size = head_size, .page_tokens = page_tokens, .dtype = dtype},
                         decoding({1, 15, 16, 17, 65, test_size(400, 90)}));
      }
    }
  }
}

TEST_F(AttentionCudaTest, DecodesWithEveryWayToShareHeads) {
  for (const auto& [heads, kv_heads] : test_sizes<std::pair<std::int32_t, std::int32_t>>(
           {{1, 1}, {4, 1}, {8, 1}, {16, 1}, {14, 2}, {40, 2}, {71, 1}, {6, 6}},
           {{1, 1}, {14, 2}, {71, 1}})) {
    for (const DType dtype : cache_types) {
      expect_reference({.heads = heads, .kv_heads = kv_heads, .head_size = 64, .dtype = dtype},
                       decoding({33, test_size(700, 70)}));
    }
  }
}

TEST_F(AttentionCudaTest, DecodesAtEveryEdgeOfABlock) {
  for (const std::int32_t page_tokens : test_sizes({1, 16, 100}, {100})) {
    std::vector<std::int32_t> contexts;
    for (const std::int32_t edge : test_sizes({16, 32, 48, 64, 128, 192, 256}, {16, 64, 128})) {
      contexts.insert(contexts.end(), {edge - 1, edge, edge + 1});
    }
    expect_reference({.heads = 4, .kv_heads = 1, .page_tokens = page_tokens}, decoding(contexts));
  }
}

TEST_F(AttentionCudaTest, DecodesSkewedBatchesAndOneLongSequence) {
  for (const DType dtype : cache_types) {
    expect_reference({.dtype = dtype}, decoding({test_size(3000, 500), 47, 46, 45, 44, 47, 1, 2}));
    expect_reference({.heads = 4, .kv_heads = 1, .dtype = dtype}, decoding({test_size(2999, 499)}));
  }
}

TEST_F(AttentionCudaTest, PrefillsEveryHeadSizeTypeAndPageSize) {
  for (const std::int32_t head_size : {40, 64, 80, 96, 128, 256}) {
    for (const DType dtype : cache_types) {
      for (const std::int32_t page_tokens : test_sizes({1, 16, 64}, {16})) {
        expect_reference({.heads = test_size(4, 2),
                          .head_size = head_size,
                          .page_tokens = page_tokens,
                          .dtype = dtype},
                         {{.start = 0, .count = test_size(70, 35)}, {.start = 61, .count = 7}});
      }
    }
  }
}

TEST_F(AttentionCudaTest, PrefillsWithEveryWayToShareHeads) {
  for (const auto& [heads, kv_heads] : test_sizes<std::pair<std::int32_t, std::int32_t>>(
           {{1, 1}, {4, 1}, {8, 1}, {14, 2}, {40, 2}, {71, 1}}, {{1, 1}, {14, 2}})) {
    expect_reference({.heads = heads, .kv_heads = kv_heads, .head_size = 64},
                     {{.start = 0, .count = 40}, {.start = 130, .count = 9}});
  }
}

TEST_F(AttentionCudaTest, PrefillsChunksOfALongPrompt) {
  for (const DType dtype : cache_types) {
    expect_reference({.heads = 2, .kv_heads = 1, .head_size = 64, .dtype = dtype},
                     {{.start = test_size(1500, 300), .count = 33}});
    expect_reference({.heads = 2, .kv_heads = 2, .dtype = dtype},
                     {{.start = test_size(200, 50), .count = test_size(200, 50)}});
  }
}

TEST_F(AttentionCudaTest, MixesPromptsWithSequencesThatDecode) {
  for (const DType dtype : cache_types) {
    expect_reference({.dtype = dtype}, {{.start = 0, .count = 50},
                                        {.start = test_size(700, 100)},
                                        {.start = 63},
                                        {.start = 0},
                                        {.start = 300, .count = 2}});
  }
}

/// Decoding and a prompt, of both kinds of types.
#define WEFT_EXPECT_FEATURE(...)                                                              \
  for (const DType dtype : cache_types) {                                                     \
    Model model{.head_size = 64, .dtype = dtype};                                             \
    __VA_ARGS__;                                                                              \
    expect_reference(model,                                                                   \
                     decoding({1, 7, 63, 64, 65, test_size(500, 200), test_size(1500, 72)})); \
    expect_reference(model, {{.start = 0, .count = test_size(150, 40)},                       \
                             {.start = test_size(250, 110), .count = 20},                     \
                             {.start = 90}});                                                 \
  }

TEST_F(AttentionCudaTest, SeesAWindow) {
  WEFT_EXPECT_FEATURE(model.params.spec.window = 70);
  WEFT_EXPECT_FEATURE(model.params.spec.window = 1);
}

TEST_F(AttentionCudaTest, SeesAWindowToBothSidesWithoutCausality) {
  for (const DType dtype : cache_types) {
    for (const std::int32_t window : test_sizes({1, 20, 70}, {20})) {
      Model model{.head_size = 64, .dtype = dtype};
      model.params.spec.causal = false;
      model.params.spec.window = window;
      expect_reference(model, {{.count = test_size(300, 80), .context = test_size(300, 80)},
                               {.count = 33, .context = 33}});
    }
  }
}

TEST_F(AttentionCudaTest, SeesItsOwnChunk) {
  WEFT_EXPECT_FEATURE(model.params.spec.chunk = 100);
  WEFT_EXPECT_FEATURE(model.params.spec.chunk = 64);
}

TEST_F(AttentionCudaTest, CapsScores) { WEFT_EXPECT_FEATURE(model.params.spec.soft_cap = 2); }

TEST_F(AttentionCudaTest, AddsSlopes) { WEFT_EXPECT_FEATURE(model.slopes = true); }

TEST_F(AttentionCudaTest, AddsSinks) { WEFT_EXPECT_FEATURE(model.sinks = true); }

TEST_F(AttentionCudaTest, AddsRelativeBiases) {
  for (const bool bidirectional : test_sizes({false, true}, {true})) {
    WEFT_EXPECT_FEATURE(model.relative = true; model.params.spec.relative_buckets = 32;
                        model.params.spec.relative_max_distance = 128;
                        model.params.spec.relative_bidirectional = bidirectional);
  }
}

TEST_F(AttentionCudaTest, DoesAllAtOnce) {
  WEFT_EXPECT_FEATURE(model.params.spec.window = 200; model.params.spec.chunk = 256;
                      model.params.spec.soft_cap = 5; model.slopes = true; model.sinks = true);
}

TEST_F(AttentionCudaTest, SeesAWholeContextWithoutCausality) {
  for (const DType dtype : cache_types) {
    Model model{.head_size = 64, .dtype = dtype};
    model.params.spec.causal = false;
    expect_reference(model, {{.start = 0, .count = 90, .context = 90},
                             {.start = 5, .count = 3, .context = test_size(777, 177)}});
    expect_reference(
        model, {{.start = 40, .count = 1, .context = 300}, {.start = 9, .count = 1, .context = 2}});
    model.relative = true;
    model.params.spec.relative_buckets = 32;
    model.params.spec.relative_max_distance = 128;
    model.params.spec.relative_bidirectional = true;
    expect_reference(model,
                     {{.start = 0, .count = test_size(300, 60), .context = test_size(300, 60)}});
  }
}

TEST_F(AttentionCudaTest, WritesEveryTypeOfOutput) {
  for (const DType out : output_types) {
    for (const DType dtype : cache_types) {
      expect_reference({.dtype = dtype, .out = out}, decoding({5, 300}));
      expect_reference({.dtype = dtype, .out = out}, {{.start = 3, .count = 20}});
    }
  }
}

TEST_F(AttentionCudaTest, GivesTheSameBitsEachTimeAGraphIsReplayed) {
  for (const DType dtype : cache_types) {
    Inputs inputs({.dtype = dtype}, decoding({test_size(2000, 400), 100, test_size(900, 40), 16}),
                  5);
    const OnDevice device(inputs);
    const std::vector<std::uint8_t> first = device.run();
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replayed = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(attention(device.params(), stream), Status::kSuccess);
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&replayed, graph, 0), cudaSuccess);
    for (int i = 0; i < test_size(5, 2); ++i) {
      device.poison_out();
      ASSERT_EQ(cudaGraphLaunch(replayed, stream), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      EXPECT_EQ(device.out(), first);
      device.expect_counters_zero();
    }
    cudaGraphExecDestroy(replayed);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
  }
}

TEST_F(AttentionCudaTest, LeavesAloneWhatNoItemCovers) {
  for (const DType dtype : cache_types) {
    Inputs inputs({.dtype = dtype}, decoding({64, 64}), 6);
    inputs.item_count = 0;
    const OnDevice device(inputs);
    const std::vector<std::uint8_t> got = device.run();
    EXPECT_TRUE(std::ranges::all_of(got, [](std::uint8_t byte) { return byte == kPoison; }));
  }
}

TEST_F(AttentionCudaTest, UnifiedMaximumAgreesWithTheRunningOne) {
  for (const std::int32_t head_size : {64, 128, 256}) {
    for (const bool sinks : {false, true}) {
      Model model{.head_size = head_size, .sinks = sinks};
      model.params.unified = true;
      model.params.phi = 3;
      Inputs inputs(model, decoding({1, 17, 64, test_size(300, 70), test_size(2500, 400)}), 7);
      const OnDevice device(inputs);
      expect_close(inputs, device.run());
      EXPECT_EQ(device.recomputed(), 0U);
    }
  }
}

TEST_F(AttentionCudaTest, UnifiedMaximumRecomputesWhatLeavesItsRange) {
  for (const float phi : {200.0F, -200.0F}) {
    Model model{};
    model.params.unified = true;
    model.params.phi = phi;
    Inputs inputs(model, decoding({1, 17, test_size(300, 70), test_size(2500, 400)}), 8);
    const OnDevice device(inputs);
    expect_close(inputs, device.run());
    EXPECT_EQ(device.recomputed(), 4U * 8U);
  }
}

TEST_F(AttentionCudaTest, UnifiedMaximumRecomputesOnlyTheHeadsThatNeedIt) {
  Model model{.heads = 8, .kv_heads = 2};
  model.params.unified = true;
  Inputs inputs(model, decoding({test_size(900, 200), 40}), 9);
  // Scores of the first sequence's head 3 are two hundred times the others'.
  for (std::int32_t d = 0; d < 128; ++d) inputs.queries[3 * 128 + d] *= 200;
  const OnDevice device(inputs);
  expect_close(inputs, device.run());
  EXPECT_EQ(device.recomputed(), 1U);
}

}  // namespace
}  // namespace weft::cuda
