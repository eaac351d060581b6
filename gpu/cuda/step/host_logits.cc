#include "weft/gpu/cuda/step/host_logits.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weft::cuda {
namespace {

static_assert(kToldTokens == kPartCandidates);

std::size_t count_of(std::int64_t count) { return static_cast<std::size_t>(count); }

/// Converts a GPU's summary of a part to the host's summary, as tell_part() makes it.
void tell_host(const ToldPart& part, std::span<float> numbers) {
  std::array<TokenLogprob, kPartCandidates> greatest;
  const auto told = std::span(part.tokens).first(count_of(part.count));
  std::ranges::transform(told, greatest.begin(),
                         [](const ToldToken& one) { return TokenLogprob{one.token, one.logit}; });
  const auto sum = static_cast<float>(static_cast<double>(part.sum) * 0x1p-40);
  tell_part(std::span(greatest).first(told.size()), sum, numbers);
}

}  // namespace

HostLogits::HostLogits(Runtime& runtime, const Layout& layout, const DeviceRows& logits)
    : runtime_(runtime), layout_(layout), logits_(logits) {
  const std::size_t ranks = layout.told.rows.size();
  const auto cut = [&](Arena arena) {
    row_ = arena.take<float>(count_of(logits.width));
    told_ = arena.take<ToldPart>(ranks);
    return arena.used();
  };
  memory_ = take_pinned(runtime, cut(Arena()));
  cut(Arena(memory_.get()));
  numbers_.resize(ranks * count_of(kPartNumbers));
}

void HostLogits::copy(std::byte* to, const void* from, std::size_t bytes, Stream stream) {
  check(runtime_, runtime_.copy_to_host(to, static_cast<const std::byte*>(from), bytes, stream),
        "copying logits");
}

HostLogits::Row HostLogits::bring(std::int32_t output, LogitNeeds needs, bool tells,
                                  Stream stream) {
  const std::span<float> row(row_, count_of(logits_.width));
  if (!tells) {
    const auto* from = static_cast<const float*>(logits_.data) + output * logits_.stride;
    copy(reinterpret_cast<std::byte*>(row_), from, row.size_bytes(), stream);
    check(runtime_, runtime_.synchronize(stream), "copying logits");
    return {row, 0};
  }
  const std::vector<DeviceRows>& ranks = layout_.told.rows;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    copy(reinterpret_cast<std::byte*>(told_ + rank),
         static_cast<const ToldPart*>(ranks[rank].data) + output, sizeof(ToldPart), stream);
  }
  check(runtime_, runtime_.synchronize(stream), "copying logits");
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    tell_host(told_[rank],
              std::span(numbers_).subspan(rank * count_of(kPartNumbers), count_of(kPartNumbers)));
  }
  return {row, join_parts(numbers_, needs, row)};
}

}  // namespace weft::cuda
