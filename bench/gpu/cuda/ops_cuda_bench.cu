// Measures the small ops within a replayed graph, where each op starts while the previous one ends,
// and compares copy_pages with cudaMemcpy. A separate program, which prints a table.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "weft/kernels/cuda/copy_cuda.h"
#include "weft/kernels/embedding/embedding.h"
#include "weft/kernels/experts/experts.h"
#include "weft/kernels/norm/norm.h"
#include "weft/kernels/rotary/rotary.h"
#include "weft/kernels/sample/sample_cuda.h"

namespace weft::cuda {
namespace {

constexpr int kInGraph = 24;  // launches in a graph, each with its own buffers
constexpr int kReplays = 15;
constexpr std::int64_t kHidden = 4096;
constexpr std::int64_t kMostRows = 64;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}
void check(Status status) { check(static_cast<cudaError_t>(status)); }

/// Memory that lives as long as the program.
template <class T>
T* upload(const std::vector<T>& values) {
  T* data = nullptr;
  check(cudaMalloc(&data, values.size() * sizeof(T)));
  check(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return data;
}

/// Allocates memory filled with some number that is not 0.
std::byte* filled(std::size_t bytes) {
  std::byte* data = nullptr;
  check(cudaMalloc(&data, bytes));
  check(cudaMemset(data, 0x3c, bytes));
  return data;
}

std::vector<float> normal(std::size_t count, float deviation) {
  static std::mt19937 engine(1);
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(engine);
  return values;
}

DeviceRows rows_of(std::int64_t rows, std::int64_t width, DType dtype = DType::kF32) {
  return {.data = upload(normal(static_cast<std::size_t>(rows * width), 1)),
          .dtype = dtype,
          .width = width,
          .stride = width,
          .capacity = rows};
}

/// Microseconds of one launch, the median of several replays.
double time_of(const std::function<Status(int, Stream)>& op) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kInGraph; ++i) check(op(i, stream));
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&replay, graph, 0));
  std::vector<double> times;
  for (int i = 0; i < kReplays + 2; ++i) {
    float milliseconds = 0;
    check(cudaEventRecord(begin, stream));
    check(cudaGraphLaunch(replay, stream));
    check(cudaEventRecord(end, stream));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    if (i >= 2) times.push_back(1e3 * static_cast<double>(milliseconds) / kInGraph);
  }
  std::ranges::sort(times);
  check(cudaGraphExecDestroy(replay));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));
  return times[times.size() / 2];
}

using OpOfRows = std::function<Status(std::int64_t rows, int buffer, Stream stream)>;

void print_rows(const char* name, const OpOfRows& op) {
  std::printf("%-34s", name);
  for (const std::int64_t rows : {1, 8, 32, 64}) {
    std::printf("%9.2f", time_of([&](int i, Stream stream) { return op(rows, i, stream); }));
  }
  std::printf("\n");
}

void bench_norm() {
  std::vector<DeviceRows> in;
  std::vector<DeviceRows> out;
  for (int i = 0; i < kInGraph; ++i) {
    in.push_back(rows_of(kMostRows, kHidden));
    out.push_back(rows_of(kMostRows, kHidden, DType::kBF16));
  }
  const float* weight = upload(normal(kHidden, 1));
  print_rows("norm 4096 to bf16", [&](std::int64_t rows, int i, Stream stream) {
    const auto at = static_cast<std::size_t>(i);
    return norm(
        {.rows = rows, .spec = {.eps = 1e-5F}, .in = in[at], .weight = weight, .out = out[at]},
        stream);
  });
}

void bench_embedding() {
  std::vector<TokenId> ids;
  for (std::int64_t t = 0; t < kMostRows; ++t) ids.push_back(static_cast<TokenId>(t * 499));
  const TokenId* on_device = upload(ids);
  const std::byte* table = filled(std::size_t{32'000} * kHidden * 2);
  const DeviceRows out = rows_of(kMostRows, kHidden);
  print_rows("embed 4096 from bf16", [&](std::int64_t rows, int, Stream stream) {
    return embed(
        {.rows = rows, .ids = on_device, .table = table, .dtype = DType::kBF16, .out = out},
        stream);
  });
}

void bench_rotary() {
  constexpr std::int32_t kSize = 128;
  constexpr std::int32_t kPageTokens = 16;
  std::vector<DeviceSequence> sequences;
  std::vector<std::int32_t> sequence_of;
  std::vector<std::int32_t> pages;
  std::vector<std::int32_t> positions;
  for (std::int32_t s = 0; s < kMostRows; ++s) {
    sequences.push_back({.first = s, .count = 1, .start = 700 + s, .first_page = s * 64});
    sequence_of.push_back(s);
    positions.push_back(700 + s);
    for (std::int32_t p = 0; p < 64; ++p) pages.push_back(s * 64 + p);
  }
  const std::size_t bytes = std::size_t{kMostRows} * 64 * 8 * kPageTokens * kSize * 2;
  CudaRotaryParams params{.shape = {.heads = 32, .kv_heads = 8, .head_size = kSize},
                          .spec = {.rotary_size = kSize},
                          .cosines = upload(normal(std::size_t{1000} * 64, 1)),
                          .sines = upload(normal(std::size_t{1000} * 64, 1)),
                          .position_ids = upload(positions),
                          .spans = {upload(sequences), upload(sequence_of), upload(pages)},
                          .kv = {.dtype = DType::kBF16,
                                 .keys = upload(std::vector<std::byte>(bytes)),
                                 .values = upload(std::vector<std::byte>(bytes)),
                                 .page_tokens = kPageTokens,
                                 .kv_heads = 8,
                                 .head_size = kSize}};
  std::vector<DeviceRows> qkv;
  for (int i = 0; i < kInGraph; ++i) qkv.push_back(rows_of(kMostRows, 48 * kSize));
  const auto op = [&](std::int64_t rows, int i, Stream stream) {
    params.rows = rows;
    params.qkv = qkv[static_cast<std::size_t>(i)];
    return rotate_and_store(params, stream);
  };
  print_rows("rotary 32/8 x 128, bf16 cache", op);
  params.query_norm =
      params.key_norm = {.spec = {.enabled = true}, .weight = upload(normal(kSize, 1))};
  print_rows("  with norms of heads", op);
}

void bench_route() {
  constexpr std::int32_t kExperts = 128;
  constexpr std::int32_t kChosen = 8;
  const auto choices = static_cast<std::size_t>(kMostRows * kChosen);
  const auto integers = [&] { return upload(std::vector<std::int32_t>(choices)); };
  CudaRouteParams params{.scores = rows_of(kMostRows, kExperts),
                         .experts = kExperts,
                         .spec = {.chosen = kChosen, .normalize = true},
                         .routing = {integers(), upload(normal(choices, 1)),
                                     upload(std::vector<std::int32_t>(kExperts + 1)), integers(),
                                     integers(), integers()}};
  print_rows("route 8 of 128", [&](std::int64_t rows, int, Stream stream) {
    params.rows = rows;
    return route(params, stream);
  });
}

/// Returns a choice for each row.
std::vector<SampleItem> items_of(std::int64_t rows) {
  std::vector<SampleItem> items;
  for (std::int32_t i = 0; i < rows; ++i) items.push_back({.output = i, .slot = i, .position = i});
  return items;
}

std::vector<std::int32_t> counts_to(std::int64_t most) {
  std::vector<std::int32_t> counts;
  for (std::int32_t i = 0; i <= most; ++i) counts.push_back(i);
  return counts;
}

/// Times the choices of rows from a vocabulary, one method after the other.
void bench_sample(std::int64_t vocabulary) {
  const DeviceRows logits{
      .data = upload(normal(static_cast<std::size_t>(kMostRows * vocabulary), 3)),
      .width = vocabulary,
      .stride = vocabulary,
      .capacity = kMostRows};
  std::vector<SampleItem> items = items_of(kMostRows);
  const std::int32_t* item_counts = upload(counts_to(kMostRows));
  CudaSampleParams params{
      .items = upload(items),
      .logits = logits,
      .lists = upload(std::vector<SampleLists>(kMostRows)),
      .counts = {upload(std::vector<std::uint32_t>(static_cast<std::size_t>(kMostRows * vocabulary),
                                                   0x80000001U)),
                 vocabulary},
      .edited = reinterpret_cast<float*>(
          filled(static_cast<std::size_t>(kMostRows * vocabulary) * sizeof(float))),
      .last_tokens = upload(std::vector<TokenId>(kMostRows))};
  check(cudaMallocHost(&params.choices, sizeof(SampleChoice) * kMostRows));
  const auto words = static_cast<std::size_t>(TokenMasks::words(vocabulary));
  params.masks = {upload(std::vector<std::uint32_t>(kMostRows * words, 0x10008421U))};
  const SampleItem* const free_items = params.items;
  for (std::int32_t i = 0; i < kMostRows; ++i) items[static_cast<std::size_t>(i)].mask = i;
  const SampleItem* const masked_items = upload(items);
  const struct {
    const char* name;
    SampleSettings settings;
    bool is_masked = false;
  } ways[] = {
      {"greedy", {.temperature = 0}},
      {"top_p 0.9 of few", {.temperature = 0.3F, .top_p = 0.9F}},
      {"temperature", {}},
      {"top_k 50, top_p 0.9", {.temperature = 0.8F, .top_k = 50, .top_p = 0.9F}},
      {"top_p 0.9", {.top_p = 0.9F}},
      {"top_k 50, typical 0.9", {.top_k = 50, .typical_p = 0.9F}},
      {"greedy, 20 logprobs", {.temperature = 0, .top_count = 20, .logprobs = true}},
      {"greedy, penalties", {.temperature = 0, .repetition = 1.1F, .counts = true}},
      {"temperature, masked", {}, true},
  };
  for (const std::int32_t blocks : {1, 8}) {
    params.blocks = blocks;
    for (const auto& way : ways) {
      params.settings = upload(std::vector<SampleSettings>(kMostRows, way.settings));
      params.items = way.is_masked ? masked_items : free_items;
      char name[80];
      std::snprintf(name, sizeof(name), "%lld x %d %s", static_cast<long long>(vocabulary), blocks,
                    way.name);
      print_rows(name, [&](std::int64_t rows, int, Stream stream) {
        params.max_items = static_cast<std::int32_t>(rows);
        params.item_count = item_counts + rows;
        return sample(params, stream);
      });
    }
  }
}

/// Times two ranks that share a vocabulary, where the greatest logits of each are enough. One rank
/// sends those of its half, and one rank chooses from both halves.
void bench_told(std::int64_t vocabulary) {
  constexpr std::int32_t kRanks = 2;
  const std::int64_t width = vocabulary / kRanks;
  const DeviceRows part{.data = upload(normal(static_cast<std::size_t>(kMostRows * width), 3)),
                        .width = width,
                        .stride = width,
                        .capacity = kMostRows};
  ToldPart* told = upload(std::vector<ToldPart>(static_cast<std::size_t>(kRanks * kMostRows)));
  const auto tell = [&](std::int64_t rows, std::int32_t rank, std::int32_t blocks, Stream stream) {
    return tell_parts({.rows = rows,
                       .logits = part,
                       .first_token = static_cast<TokenId>(rank * width),
                       .told = told + rank * kMostRows,
                       .blocks = blocks},
                      stream);
  };
  char name[80];
  for (const std::int32_t blocks : {1, 8}) {
    std::snprintf(name, sizeof(name), "%lld x %d tell of half", static_cast<long long>(vocabulary),
                  blocks);
    print_rows(
        name, [&](std::int64_t rows, int, Stream stream) { return tell(rows, 0, blocks, stream); });
  }
  check(tell(kMostRows, 1, 1, nullptr));
  const std::int32_t* item_counts = upload(counts_to(kMostRows));
  CudaSampleParams params{.items = upload(items_of(kMostRows)),
                          .logits = {.width = vocabulary},
                          .told = {told, kRanks, kMostRows},
                          .lists = upload(std::vector<SampleLists>(kMostRows)),
                          .last_tokens = upload(std::vector<TokenId>(kMostRows))};
  check(cudaMallocHost(&params.choices, sizeof(SampleChoice) * kMostRows));
  params.settings = upload(std::vector<SampleSettings>(
      kMostRows, {.temperature = 0.8F, .top_k = 50, .top_p = 0.9F, .logprobs = true}));
  std::snprintf(name, sizeof(name), "%lld told, top_k 50, top_p 0.9, logprobs",
                static_cast<long long>(vocabulary));
  print_rows(name, [&](std::int64_t rows, int, Stream stream) {
    params.max_items = static_cast<std::int32_t>(rows);
    params.item_count = item_counts + rows;
    return sample(params, stream);
  });
}

void bench_copies() {
  constexpr std::int32_t kBlocks = 64;
  constexpr std::int64_t kBytes = 32'768;
  constexpr std::int32_t kCopies = 128;  // in, and out: 512 MiB
  constexpr std::size_t kAll = std::size_t{kBlocks} * 2 * kCopies * kBytes;
  std::byte* memory = filled(kAll);
  std::vector<PageBlocks> blocks;
  for (std::int64_t b = 0; b < kBlocks; ++b) {
    blocks.push_back({memory + b * 2 * kCopies * kBytes, kBytes});
  }
  std::vector<PageCopy> copies;
  for (std::int32_t c = 0; c < kCopies; ++c) copies.push_back({2 * c, 2 * c + 1});
  CudaPageCopyParams params{upload(blocks), kBlocks, upload(copies), 0};
  for (const std::int32_t count : {1, 8, kCopies}) {
    params.copy_count = count;
    const double ours = time_of([&](int, Stream stream) { return copy_pages(params, stream); });
    const std::size_t bytes = std::size_t{kBlocks} * static_cast<std::size_t>(count) * kBytes;
    const double plain = time_of([&](int, Stream stream) {
      return static_cast<Status>(
          cudaMemcpyAsync(memory, memory + kAll / 2, bytes, cudaMemcpyDeviceToDevice, stream));
    });
    std::printf("copy %3d pages of 64 blocks: %8.2f us, one copy of the bytes %8.2f us: %.2f\n",
                count, ours, plain, plain / ours);
  }
}

}  // namespace
}  // namespace weft::cuda

int main() {
  using namespace weft::cuda;
  std::printf("microseconds a launch, rows%18d%9d%9d%9d\n", 1, 8, 32, 64);
  bench_norm();
  bench_embedding();
  bench_rotary();
  bench_route();
  bench_sample(32'000);
  bench_sample(151'936);
  bench_told(151'936);
  bench_copies();
}
