#include "weft/gpu/cuda/tuning/linear_tuner.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "weft/gpu/cuda/buffer_types.h"
#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/op_launcher.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/kernels/linear/linear_ways_cuda.h"
#include "weft/kernels/simd/narrow_float.h"

namespace weft::cuda {
namespace {

// The weights of successive calls take this many times the L2 cache, so that a call finds none of
// its weights in the cache.
constexpr std::int64_t kCaches = 4;
// The wanted time of one replay: a thousand times the resolution of an event's time.
constexpr double kReplaySeconds = 1e-3;
constexpr std::int64_t kMaxCalls = 4096;
constexpr int kReplays = 9;
// A way is not measured further if one call takes this many times the time of another way's calls
// in sequence.
constexpr double kHopeless = 8;
// The share of the default's time below which another way replaces the default.
constexpr double kWins = 0.98;
// Bytes of different random numbers; after these the numbers repeat.
constexpr std::int64_t kMaxNumbersBytes = std::int64_t{1} << 20;

struct Product {
  const LinearOp* op = nullptr;
  const MatrixPlan* plan = nullptr;
  DType out = DType::kF32;
};

/// Returns one product for each dtype, rows and inputs.
std::vector<Product> products_of(const Program& program, bool codes) {
  const std::vector<DType> types = buffer_types(program, codes);
  std::set<std::tuple<DType, std::int64_t, std::int64_t>> known;
  std::vector<Product> products;
  for (const OpList* list : {&program.encode, &program.decode}) {
    for (const Op& any : list->ops) {
      const auto* op = std::get_if<LinearOp>(&any);
      if (op == nullptr) continue;
      const MatrixPlan& plan = program.matrices[static_cast<std::size_t>(op->weight)];
      Arena counter;
      const DeviceMatrix matrix = take_matrix(plan, counter, codes);
      if (!known.emplace(matrix.dtype, matrix.rows(), matrix.inputs).second) continue;
      products.push_back({op, &plan, types[static_cast<std::size_t>(op->out)]});
    }
  }
  return products;
}

/// Returns random numbers in -1 .. 1 as a device holds them. Encoded weights are random bytes up to
/// 127, since zeros and scales in files are mostly that small: greater zeros make kCodes slower.
std::vector<std::byte> random_numbers(DType dtype, std::int64_t bytes) {
  std::vector<std::byte> numbers(static_cast<std::size_t>(std::min(bytes, kMaxNumbersBytes)));
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const auto write = [&](auto make) {
    using Number = decltype(make(0.0F));
    auto* out = reinterpret_cast<Number*>(numbers.data());
    std::generate_n(out, numbers.size() / sizeof(Number), [&] { return make(uniform(random)); });
  };
  if (dtype == DType::kF16) {
    write(to_f16);
  } else if (dtype == DType::kBF16) {
    write(to_bf16);
  } else if (is_encoding(dtype)) {
    write([](float number) { return static_cast<std::uint8_t>((number + 1) * 63); });
  } else {
    write([](float number) { return number; });
  }
  return numbers;
}

/// The operands of a product's calls. Each call has its own weights.
struct Operands {
  std::vector<DeviceMatrix> weights;
  DeviceRows in{}, residual{}, out{};
  const float* bias = nullptr;
  std::byte* workspace = nullptr;
  std::byte* decoded = nullptr;
};

/// Measures one product.
class ProductTimer {
 public:
  ProductTimer(Runtime& runtime, Stream stream, const Product& product, std::int64_t most_tokens)
      : runtime_(runtime),
        stream_(stream),
        product_(product),
        begin_(make_timing_event(runtime)),
        end_(make_timing_event(runtime)) {
    Arena counter;
    cut(counter, most_tokens);
    memory_ = take_memory(runtime, counter.used());
    Arena arena(memory_.get());
    cut(arena, most_tokens);
    fill(counter.used());
  }
  ProductTimer(const ProductTimer&) = delete;
  ProductTimer& operator=(const ProductTimer&) = delete;
  ~ProductTimer() { static_cast<void>(runtime_.synchronize(stream_)); }

  ProductTime run(std::int64_t tokens) {
    const DeviceMatrix& weight = operands_.weights.front();
    ProductTime time;
    time.shape = {weight.dtype, weight.rows(), weight.inputs, tokens};
    time.bytes = bytes_of_call(tokens);
    const EpilogueSteps steps = steps_of(product_.op->spec, product_.op->residual != kAbsent);
    const LinearWay usual = way_of(runtime_, CudaLinearTable(), weight, tokens, steps);
    double best = std::numeric_limits<double>::infinity();
    const auto measure = [&](LinearWay way) {
      time.ways.push_back({way, seconds(way, tokens, best)});
      best = std::min(best, time.ways.back().seconds);
    };
    measure(usual);
    for (const LinearWayRow& row : kLinearWays) {
      if (is_tuned(row) && row.way != usual && runtime_.can(row.way, weight, tokens, steps)) {
        measure(row.way);
      }
    }
    time.fastest = fastest_of(time.ways);
    return time;
  }

 private:
  void cut(Arena& arena, std::int64_t most_tokens) {
    operands_ = {};
    const std::size_t before = arena.used();
    const Properties properties = runtime_.properties();
    const bool codes = properties.multiplies_codes;
    operands_.weights.push_back(take_matrix(*product_.plan, arena, codes));
    const auto one = static_cast<std::int64_t>(arena.used() - before);
    // A part of a tiny matrix stays in the cache, as in a step.
    for (std::int64_t all = one;
         all < kCaches * properties.l2_bytes && std::ssize(operands_.weights) < kMaxCalls;
         all += one) {
      operands_.weights.push_back(take_matrix(*product_.plan, arena, codes));
    }
    const DeviceMatrix& weight = operands_.weights.front();
    operands_.in =
        take_rows(input_type(LinearWay::kVector, weight), weight.inputs, most_tokens, arena);
    operands_.out = take_rows(product_.out, weight.outputs, most_tokens, arena);
    if (product_.op->residual != kAbsent) {
      operands_.residual = take_rows(DType::kF32, weight.outputs, most_tokens, arena);
    }
    if (product_.op->bias != kAbsent) {
      operands_.bias = arena.take<float>(static_cast<std::size_t>(2 * weight.outputs));
    }
    operands_.workspace =
        arena.take(cuda_linear_workspace_bytes(properties.processors, most_tokens));
    if (weight.encoded()) {
      const DeviceMatrix piece = decoded_piece(weight);
      operands_.decoded = arena.take(static_cast<std::size_t>(
          weft::bytes_of(piece.dtype, piece.rows() * piece.stride).value()));
    }
  }

  void fill(std::size_t bytes) {
    check(runtime_, runtime_.clear(memory_.get(), bytes, stream_), "clearing memory");
    for (const DeviceMatrix& weight : operands_.weights) fill(weight);
    // A way may take narrower inputs; two numbers of bf16 take the place of one f32.
    const DeviceRows& in = operands_.in;
    const std::int64_t inputs = weft::bytes_of(in.dtype, in.capacity * in.stride).value();
    const DType narrow = in.dtype == DType::kF32 ? DType::kBF16 : in.dtype;
    write(static_cast<const std::byte*>(in.data), random_numbers(narrow, inputs), inputs);
    check(runtime_, runtime_.synchronize(stream_), "writing random numbers");
  }

  void fill(const DeviceMatrix& weight) {
    for (int run = 0; run < weight.run_count; ++run) {
      const std::int64_t bytes = bytes_of_run(weight, run);
      write(weight.runs[run].data, random_numbers(weight.runs[run].dtype, bytes), bytes);
    }
    if (weight.keeps_blocks()) return;
    const std::int64_t count = weight.rows() * weight.stride;
    // q8_0 has a byte for each number; its scales are separate.
    const std::int64_t bytes =
        weight.encoded() ? count : weft::bytes_of(weight.dtype, count).value();
    const std::int64_t scales = weight.encoded() ? weight.rows() * (weight.inputs / 32) * 2 : 0;
    write(weight.data, random_numbers(weight.dtype, bytes), bytes);
    write(weight.scales, random_numbers(DType::kF16, scales), scales);
  }

  void write(const std::byte* place, const std::vector<std::byte>& numbers, std::int64_t bytes) {
    if (bytes == 0) return;
    // A DeviceMatrix has a const pointer to this memory.
    auto* to = memory_.get() + (place - memory_.get());
    for (auto left = static_cast<std::size_t>(bytes); left > 0;) {
      const std::size_t piece = std::min(left, numbers.size());
      check(runtime_, runtime_.copy_to_device(to, numbers.data(), piece, stream_),
            "writing random numbers");
      to += piece;
      left -= piece;
    }
  }

  [[nodiscard]] std::int64_t bytes_of_call(std::int64_t tokens) const {
    const DeviceMatrix& weight = operands_.weights.front();
    const auto rows = [&](const DeviceRows& one) {
      return one.data == nullptr ? 0 : weft::bytes_of(one.dtype, tokens * one.width).value();
    };
    return weft::bytes_of(weight.dtype, weight.rows() * weight.inputs).value() +
           rows(operands_.in) + rows(operands_.residual) + rows(operands_.out);
  }

  /// Returns the seconds of a call; `best` is the time of the best other way.
  double seconds(LinearWay way, std::int64_t tokens, double best) {
    launch(way, tokens, 0);  // the first launch sets up what the way needs
    const double alone = timed([&] { launch(way, tokens, 1); });
    if (alone > kHopeless * best) return alone;
    const auto sets = static_cast<std::int64_t>(operands_.weights.size());
    const auto wanted = static_cast<std::int64_t>(kReplaySeconds / std::max(alone, 1e-9)) + 1;
    const std::int64_t calls = std::max(sets, std::min(wanted, kMaxCalls));
    check(runtime_, runtime_.begin_capture(stream_), "recording products");
    for (std::int64_t call = 0; call < calls; ++call) launch(way, tokens, call);
    Graph recorded = nullptr;
    check(runtime_, runtime_.end_capture(stream_, recorded), "recording products");
    const OwnedGraph graph(recorded, {&runtime_});
    const auto replay = [&] {
      check(runtime_, runtime_.launch(graph.get(), stream_), "replaying products");
    };
    replay();
    std::array<double, kReplays> times{};
    for (double& time : times) time = timed(replay) / static_cast<double>(calls);
    std::ranges::sort(times);
    return times[kReplays / 2];
  }

  template <class Work>
  double timed(const Work& work) {
    check(runtime_, runtime_.record(begin_.get(), stream_), "timing products");
    work();
    check(runtime_, runtime_.record(end_.get(), stream_), "timing products");
    check(runtime_, runtime_.wait(end_.get()), "timing products");
    float milliseconds = 0;
    check(runtime_, runtime_.elapsed(begin_.get(), end_.get(), milliseconds), "timing products");
    return static_cast<double>(milliseconds) / 1000;
  }

  void launch(LinearWay way, std::int64_t tokens, std::int64_t call) {
    CudaLinearParams params;
    params.spec = product_.op->spec;
    params.rows = tokens;
    params.weight = operands_.weights[static_cast<std::size_t>(call) % operands_.weights.size()];
    params.in = operands_.in;
    params.in.dtype = input_type(way, params.weight);
    params.bias = operands_.bias;
    params.residual = operands_.residual;
    params.out = operands_.out;
    params.workspace = operands_.workspace;
    params.decoded = operands_.decoded;
    params.way = way;
    check(runtime_, runtime_.run(params, stream_), "linear");
  }

  Runtime& runtime_;
  Stream stream_;
  const Product& product_;
  OwnedEvent begin_, end_;
  OwnedMemory memory_;
  Operands operands_;
};

}  // namespace

std::vector<std::int64_t> default_tuning_tokens() { return {1, 2, 4, 8, 16, 32, 64, 128, 256}; }

std::size_t fastest_of(const std::vector<WayTime>& ways) noexcept {
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < ways.size(); ++i) {
    const double bar = fastest == 0 ? kWins * ways[0].seconds : ways[fastest].seconds;
    if (ways[i].seconds < bar) fastest = i;
  }
  return fastest;
}

Result<std::vector<ProductTime>> time_products(Runtime& runtime, const Program& program,
                                               const std::vector<std::int64_t>& tokens,
                                               const TuneProgress& progress) {
  std::set<std::int64_t> buckets;
  for (const std::int64_t count : tokens) buckets.insert(CudaLinearTable::bucket_of(count));
  const std::vector<Product> products = products_of(program, runtime.properties().multiplies_codes);
  const auto total = static_cast<std::int64_t>(products.size() * buckets.size());
  std::vector<ProductTime> times;
  try {
    check(runtime, runtime.use(), "choosing the GPU");
    const OwnedStream stream = make_stream(runtime);
    for (const Product& product : products) {
      ProductTimer timer(runtime, stream.get(), product, *buckets.rbegin());
      for (const std::int64_t bucket : buckets) {
        times.push_back(timer.run(bucket));
        if (progress) progress(static_cast<std::int64_t>(times.size()), total);
      }
    }
  } catch (const Failure& failure) {
    return error_of(failure);
  }
  return times;
}

}  // namespace weft::cuda
