// The four matrices of a layer of Llama-2-7B in bf16 for few tokens. Each goes by in rotation over
// more copies than the second-level cache holds, in one graph, in turn with
//   library  cuBLASLt, the fastest of its heuristics' first 16; without what follows the product
//            but for the sum with the residual
//   read     a kernel that only reads the same bytes
// A row: TB/s of weights of the three, ours over read, the library's time over ours (median, least,
// most of the repeats). Then the layer's sum, and the four one after another in one graph (chain).

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "weft/kernels/linear/linear_cuda.h"

namespace weft::cuda {
namespace {

constexpr int kRepeats = 9;
constexpr std::size_t kPoolBytes = std::size_t{1200} << 20U;
constexpr std::size_t kRotation = std::size_t{500} << 20U;  // leaves a cache of 60 MB behind
constexpr std::size_t kLibraryBytes = std::size_t{32} << 20U;
constexpr int kMostTokens = 128;
constexpr int kHeuristics = 16;

void need(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "linear_cuda_bench: %s failed\n", what);
  std::exit(1);
}
void need(cudaError_t error, const char* what) {
  if (error != cudaSuccess) std::fprintf(stderr, "%s: ", cudaGetErrorString(error));
  need(error == cudaSuccess, what);
}

struct Shape {
  const char* name;
  std::int64_t outputs;
  std::int64_t inputs;
  bool gated;
  bool residual;

  std::int64_t rows() const { return gated ? 2 * outputs : outputs; }
  std::size_t bytes() const { return static_cast<std::size_t>(rows() * inputs) * 2; }
};

constexpr Shape kLayer[] = {{"qkv", 12288, 4096, false, false},
                            {"o", 4096, 4096, false, true},
                            {"gate-up", 11008, 4096, true, false},
                            {"down", 4096, 11008, false, true}};

__global__ void fill_random(std::uint16_t* to, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    auto h = static_cast<std::uint32_t>(i * 2654435761U) ^ static_cast<std::uint32_t>(i >> 20U);
    h = (h ^ h >> 15U) * 0x2c1b3c6dU;
    h = (h ^ h >> 12U) * 0x297a2d39U;
    h ^= h >> 15U;
    // A sign, an exponent of -7 .. -6, and random bits.
    to[i] = static_cast<std::uint16_t>((h & 0x80ffU) | 0x3c00U);
  }
}

__global__ void read_all(const uint4* from, std::size_t count, unsigned* sink) {
  constexpr int kAhead = 8;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  unsigned sum = 0;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i + (kAhead - 1) * step < count; i += kAhead * step) {
    uint4 words[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) words[j] = __ldcs(from + i + j * step);
#pragma unroll
    for (int j = 0; j < kAhead; ++j) sum ^= words[j].x ^ words[j].y ^ words[j].z ^ words[j].w;
  }
  for (; i < count; i += step) sum ^= __ldcs(from + i).x;
  if (sum == 0x12345678U) *sink = sum;
}

template <class T>
T* take(std::size_t bytes) {
  void* memory = nullptr;
  need(cudaMalloc(&memory, bytes), "cudaMalloc");
  need(cudaMemset(memory, 0, bytes), "cudaMemset");
  return static_cast<T*>(memory);
}

std::int32_t processors() {
  int count = 0;
  need(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "processors");
  return count;
}

struct Memory {
  std::byte* pool = take<std::byte>(kPoolBytes);
  std::uint16_t* inputs = take<std::uint16_t>(kMostTokens * 11008 * 2);
  std::byte* outputs = take<std::byte>(kMostTokens * 22016 * 4);
  std::byte* library = take<std::byte>(kLibraryBytes);
  std::byte* workspace = take<std::byte>(cuda_linear_workspace_bytes(processors(), kMostTokens));
  unsigned* sink = take<unsigned>(4);

  Memory() {
    fill_random<<<1024, 256>>>(reinterpret_cast<std::uint16_t*>(pool), kPoolBytes / 2);
    fill_random<<<1024, 256>>>(inputs, kMostTokens * 11008);
    need(cudaDeviceSynchronize(), "fill_random");
  }
};

/// A graph of what `record` launches, and its milliseconds.
class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void()>& record) : stream_(stream) {
    need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin capture");
    record();
    cudaGraph_t graph = nullptr;
    need(cudaStreamEndCapture(stream, &graph), "end capture");
    need(cudaGraphInstantiate(&exec_, graph, 0), "instantiate");
    cudaGraphDestroy(graph);
    cudaEventCreate(&begin_);
    cudaEventCreate(&end_);
    milliseconds();
  }
  ~Graph() {
    cudaGraphExecDestroy(exec_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  double milliseconds() {
    need(cudaEventRecord(begin_, stream_), "event");
    need(cudaGraphLaunch(exec_, stream_), "graph launch");
    need(cudaEventRecord(end_, stream_), "event");
    need(cudaEventSynchronize(end_), "graph");
    float took = 0;
    cudaEventElapsedTime(&took, begin_, end_);
    return static_cast<double>(took);
  }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t exec_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// cuBLASLt's plans for one shape.
class Library {
 public:
  Library(const Shape& shape, std::int64_t tokens, Memory& memory)
      : memory_(memory), residual_(shape.residual) {
    need(cublasLtCreate(&handle_) == CUBLAS_STATUS_SUCCESS, "cublasLtCreate");
    cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                   sizeof(transposed));
    const auto rows = static_cast<std::uint64_t>(shape.rows());
    const auto inputs = static_cast<std::uint64_t>(shape.inputs);
    const auto count = static_cast<std::uint64_t>(tokens);
    cublasLtMatrixLayoutCreate(&a_, CUDA_R_16BF, inputs, rows, shape.inputs);
    cublasLtMatrixLayoutCreate(&b_, CUDA_R_16BF, inputs, count, shape.inputs);
    cublasLtMatrixLayoutCreate(&d_, residual_ ? CUDA_R_32F : CUDA_R_16BF, rows, count,
                               shape.rows());
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulPreferenceCreate(&preference);
    const std::size_t bytes = kLibraryBytes;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &bytes, sizeof(bytes));
    cublasLtMatmulAlgoGetHeuristic(handle_, product_, a_, b_, d_, d_, preference, kHeuristics,
                                   plans_, &found_);
    cublasLtMatmulPreferenceDestroy(preference);
    need(found_ > 0, "cuBLASLt heuristics");
  }
  ~Library() {
    cublasLtMatrixLayoutDestroy(a_);
    cublasLtMatrixLayoutDestroy(b_);
    cublasLtMatrixLayoutDestroy(d_);
    cublasLtMatmulDescDestroy(product_);
    cublasLtDestroy(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  int plans() const { return found_; }

  bool run(int plan, const std::byte* weights, cudaStream_t stream) {
    const float one = 1;
    const float beta = residual_ ? 1.0F : 0.0F;
    return cublasLtMatmul(handle_, product_, &one, weights, a_, memory_.inputs, b_, &beta,
                          memory_.outputs, d_, memory_.outputs, d_, &plans_[plan].algo,
                          memory_.library, kLibraryBytes, stream) == CUBLAS_STATUS_SUCCESS;
  }

 private:
  Memory& memory_;
  bool residual_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t d_ = nullptr;
  cublasLtMatmulHeuristicResult_t plans_[kHeuristics];
  int found_ = 0;
};

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Times {
  double ours = 0;  ///< microseconds of one product
  double library = 0;
  double read = 0;
};

class Bench {
 public:
  Bench() { need(cudaStreamCreate(&stream_), "stream"); }

  Times compare(const Shape& shape, std::int64_t tokens) {
    const int copies = static_cast<int>(kRotation / shape.bytes()) + 1;
    const int launches = 3 * copies;
    Library library(shape, tokens, memory_);
    const auto each_copy = [&](const std::function<void(const std::byte*)>& launch) {
      for (int i = 0; i < launches; ++i) launch(memory_.pool + i % copies * shape.bytes());
    };
    Graph ours(stream_,
               [&] { each_copy([&](const std::byte* weights) { run(shape, tokens, weights); }); });
    const int best = best_plan(library, each_copy);
    Graph theirs(stream_, [&] {
      each_copy([&](const std::byte* weights) { library.run(best, weights, stream_); });
    });
    Graph read(stream_, [&] {
      for (int i = 0; i < 3; ++i) {
        read_all<<<132 * 8, 512, 0, stream_>>>(reinterpret_cast<const uint4*>(memory_.pool),
                                               copies * shape.bytes() / 16, memory_.sink);
      }
    });
    return report(shape, tokens, launches, ours, theirs, read);
  }

  /// Microseconds of a layer whose four products follow each other in one graph.
  double chain(std::int64_t tokens) {
    constexpr int kLayers = 6;
    std::size_t layer_bytes = 0;
    for (const Shape& shape : kLayer) layer_bytes += shape.bytes();
    Graph graph(stream_, [&] {
      for (int i = 0; i < kLayers; ++i) {
        const std::byte* at = memory_.pool + i % 2 * layer_bytes;
        for (const Shape& shape : kLayer) {
          run(shape, tokens, at);
          at += shape.bytes();
        }
      }
    });
    std::vector<double> times;
    for (int i = 0; i < kRepeats; ++i) times.push_back(graph.milliseconds() * 1000 / kLayers);
    return middle(times);
  }

 private:
  void run(const Shape& shape, std::int64_t tokens, const std::byte* weights) {
    CudaLinearParams params;
    params.rows = tokens;
    params.in = {memory_.inputs, DType::kBF16, shape.inputs, shape.inputs, kMostTokens};
    params.weight.data = weights;
    params.weight.outputs = shape.outputs;
    params.weight.inputs = shape.inputs;
    params.weight.stride = shape.inputs;
    params.weight.gated = shape.gated;
    params.spec.activation = shape.gated ? Activation::kSilu : Activation::kNone;
    params.out = {memory_.outputs, shape.residual ? DType::kF32 : DType::kBF16, shape.outputs,
                  shape.outputs, kMostTokens};
    if (shape.residual) params.residual = params.out;
    params.way = LinearWay::kFlat;
    params.workspace = memory_.workspace;
    need(engine_.run(params, stream_) == Status::kSuccess, "linear");
  }

  template <class EachCopy>
  int best_plan(Library& library, const EachCopy& each_copy) {
    int best = 0;
    double least = 1e30;
    for (int plan = 0; plan < library.plans(); ++plan) {
      if (!library.run(plan, memory_.pool, stream_)) continue;
      Graph graph(stream_, [&] {
        each_copy([&](const std::byte* weights) { library.run(plan, weights, stream_); });
      });
      const double took = std::min(graph.milliseconds(), graph.milliseconds());
      if (took < least) {
        least = took;
        best = plan;
      }
    }
    return best;
  }

  static Times report(const Shape& shape, std::int64_t tokens, int launches, Graph& ours,
                      Graph& theirs, Graph& read) {
    std::vector<double> our_times;
    std::vector<double> their_times;
    std::vector<double> read_times;
    std::vector<double> ratios;
    for (int i = 0; i < kRepeats; ++i) {
      our_times.push_back(ours.milliseconds() * 1000 / launches);
      their_times.push_back(theirs.milliseconds() * 1000 / launches);
      read_times.push_back(read.milliseconds() * 1000 / launches);
      ratios.push_back(their_times.back() / our_times.back());
    }
    const Times times{middle(our_times), middle(their_times), middle(read_times)};
    const auto rate = [&](double us) { return static_cast<double>(shape.bytes()) / us / 1e6; };
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("%-8s %3d  %6.2f %6.2f %6.2f   %5.3f   %5.3f [%5.3f, %5.3f]\n", shape.name,
                static_cast<int>(tokens), rate(times.ours), rate(times.library), rate(times.read),
                times.read / times.ours, middle(ratios), *least, *most);
    std::fflush(stdout);
    return times;
  }

  cudaStream_t stream_ = nullptr;
  Memory memory_;
  LinearEngine engine_;
};

void run_all() {
  Bench bench;
  std::printf("matrix     M    ours    lib   read  of read   lib/ours\n");
  for (const std::int64_t tokens : {1, 8, 16, 32, 64, 128}) {
    Times sum;
    for (const Shape& shape : kLayer) {
      const Times times = bench.compare(shape, tokens);
      sum.ours += times.ours;
      sum.library += times.library;
      sum.read += times.read;
    }
    const double chain = bench.chain(tokens);
    std::printf(
        "layer    %3d  ours %.1f us, library %.1f us, read %.1f us: of read %.3f, library/ours "
        "%.3f; chain %.1f us: of read %.3f\n",
        static_cast<int>(tokens), sum.ours, sum.library, sum.read, sum.read / sum.ours,
        sum.library / sum.ours, chain, sum.read / chain);
  }
}

}  // namespace
}  // namespace weft::cuda

int main() {
  weft::cuda::run_all();
  return 0;
}
