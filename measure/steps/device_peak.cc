#include "weft/measure/steps/device_peak.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "weft/gpu/device_info.h"
#include "weft/gpu/host/host_memory.h"
#include "weft/gpu/host/thread_team.h"
#include "weft/kernels/peaks/bf16_peak.h"
#include "weft/kernels/peaks/fma_peak.h"
#include "weft/kernels/peaks/plain_read.h"

namespace weft::measure {
namespace {

// The size of the memory that is read repeatedly: several times the largest cache of a server
// processor.
constexpr double kMostMemory = 1 << 30;

class HostPeak final : public DevicePeak {
 public:
  HostPeak(HostMemory memory, int threads, bool bf16)
      : memory_(std::move(memory)), team_({.threads = threads, .pin = false}), bf16_(bf16) {
    std::memset(memory_.bytes().data(), 1, memory_.bytes().size());
    sums_.resize(static_cast<std::size_t>(team_.size()));
  }

  Result<double> read(double bytes, std::int32_t times) override {
    read_once(bytes);
    double took = 0;
    for (std::int32_t i = 0; i < times; ++i) took += read_once(bytes);
    return took / times;
  }

  std::optional<double> compute(double operations) override {
    const auto part = static_cast<std::int64_t>(operations / team_.size());
    return seconds([&](Share) {
      if (bf16_) return do_bf16_operations(part);
      do_fused_multiplications(part / 2);  // each is a product and a sum
    });
  }

  [[nodiscard]] std::string reader() const override {
    return "plain loops of " + std::to_string(team_.size()) + " threads";
  }
  [[nodiscard]] std::string computer() const override {
    return bf16_ ? "products of bf16 (VDPBF16PS, TDPBF16PS or BFMMLA) on registers"
                 : "fused multiplications of f32 on registers";
  }

 private:
  double read_once(double bytes) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(memory_.bytes().data());
    const auto held = static_cast<std::int64_t>(memory_.bytes().size() / sizeof(std::uint64_t));
    const auto wanted = static_cast<std::int64_t>(bytes / sizeof(std::uint64_t));
    return seconds([&](Share share) {
      std::uint64_t& sum = sums_[static_cast<std::size_t>(share.thread)];
      for (std::int64_t left = wanted; left > 0; left -= held) {
        const auto [begin, end] = share.of(std::min(left, held));
        sum += add_up(std::span(words + begin, static_cast<std::size_t>(end - begin)));
      }
    });
  }

  template <class Work>
  double seconds(Work&& work) {
    const auto began = std::chrono::steady_clock::now();
    team_.run(work);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    return took.count();
  }

  HostMemory memory_;
  ThreadTeam team_;
  const bool bf16_;
  std::vector<std::uint64_t> sums_;
};

class GpuPeak final : public DevicePeak {
 public:
  explicit GpuPeak(std::string device) : device_(std::move(device)) {}

  Result<double> read(double bytes, std::int32_t /*times*/) override {
    const auto rate = measure_read_bandwidth(device_);
    if (!rate) return rate.error();
    return bytes / *rate;
  }
  std::optional<double> compute(double /*operations*/) override { return std::nullopt; }

  [[nodiscard]] std::string reader() const override { return "a kernel that does nothing else"; }
  [[nodiscard]] std::string computer() const override { return "not measured"; }

 private:
  const std::string device_;
};

bool has_bf16(const Program& program) {
  return std::ranges::find(program.matrices, DType::kBF16, &MatrixPlan::dtype) !=
         program.matrices.end();
}

}  // namespace

Result<std::unique_ptr<DevicePeak>> make_device_peak(const std::string& device, int threads,
                                                     const Program& program, double most_bytes) {
  if (device != "cpu") return std::make_unique<GpuPeak>(device);
  // At least a page, so that there is something to read.
  const double bytes = std::clamp(most_bytes, 4096.0, kMostMemory);
  auto memory = HostMemory::allocate(static_cast<std::size_t>(bytes));
  if (!memory) return memory.error();
  const bool bf16 = multiplies_bf16() && has_bf16(program);
  return std::make_unique<HostPeak>(*std::move(memory), threads, bf16);
}

}  // namespace weft::measure
