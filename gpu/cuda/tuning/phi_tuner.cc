#include "weft/gpu/cuda/tuning/phi_tuner.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>

#include "weft/gpu/sequence_runner.h"

namespace weft::cuda {
namespace {

// Neighbouring values are well within each other's range of 2 * kUnifiedRange.
constexpr std::array kCandidates = {0.0F,  20.0F,  -20.0F, 40.0F,   -40.0F, 60.0F,  -60.0F,
                                    80.0F, -80.0F, 120.0F, -120.0F, 160.0F, -160.0F};
static_assert(kUnifiedRange >= 40);

Result<void> decode(CudaDevice& device, std::span<const TokenId> ids) {
  SequenceRunner runner(device);
  const auto most = static_cast<std::size_t>(device.options().max_context);
  ids = ids.first(std::min(ids.size(), most));
  const std::size_t first = ids.size() / 2;
  if (auto fed = runner.feed(ids.first(first), {}, true); !fed) return fed;
  for (std::size_t i = first; i < ids.size(); ++i) {
    if (auto fed = runner.feed(ids.subspan(i, 1), {}, true); !fed) return fed;
  }
  return {};
}

std::uint32_t take_count(CudaDevice& device) {
  Runtime& runtime = device.runtime();
  auto* counter = reinterpret_cast<std::byte*>(device.layout().recomputed);
  std::uint32_t count = 0;
  check(runtime,
        runtime.copy_to_host(reinterpret_cast<std::byte*>(&count), counter, sizeof(count),
                             device.stream()),
        "counting rows");
  check(runtime, runtime.clear(counter, sizeof(count), device.stream()), "counting rows");
  device.synchronize();
  return count;
}

Result<PhiTrial> attempt(CudaDevice& device, const Tuning& tuning,
                         std::span<const std::vector<TokenId>> prompts) {
  device.use();
  static_cast<void>(take_count(device));
  device.set_tuning(tuning);
  for (const std::vector<TokenId>& prompt : prompts) {
    if (auto decoded = decode(device, prompt); !decoded) return decoded.error();
  }
  return PhiTrial{tuning.phi, take_count(device)};
}

}  // namespace

const PhiTrial& PhiSearch::best() const {
  return *std::ranges::min_element(trials, {}, &PhiTrial::recomputed);
}

std::optional<float> PhiSearch::phi() const {
  if (trials.empty() || best().recomputed > 0) return std::nullopt;
  return best().phi;
}

Result<PhiSearch> find_phi(CudaDevice& device, const CudaLinearTable& linear,
                           std::span<const std::vector<TokenId>> prompts) {
  PhiSearch search;
  try {
    for (const float phi : kCandidates) {
      const auto trial = attempt(device, {linear, true, phi}, prompts);
      device.set_tuning({.linear = linear});
      if (!trial) return trial.error();
      search.trials.push_back(*trial);
      if (trial->recomputed == 0) break;
    }
  } catch (const Failure& failure) {
    return error_of(failure);
  }
  return search;
}

std::vector<std::vector<TokenId>> random_prompts(std::int64_t vocabulary, std::size_t prompts,
                                                 std::size_t tokens) {
  std::mt19937 random(1);
  std::uniform_int_distribution<TokenId> any(0, static_cast<TokenId>(vocabulary - 1));
  std::vector<std::vector<TokenId>> all(prompts, std::vector<TokenId>(tokens));
  for (std::vector<TokenId>& prompt : all)
    std::ranges::generate(prompt, [&] { return any(random); });
  return all;
}

}  // namespace weft::cuda
