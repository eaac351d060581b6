#include "weft/schedule/memory/tiers/swap_costs.h"

namespace weft {
namespace {

/// How much the latest copies count: a link's rate hardly changes, single copies are noisy.
constexpr double kLatest = 0.1;

double nanoseconds(Duration time) { return std::chrono::duration<double, std::nano>(time).count(); }

}  // namespace

void SwapCosts::learn(std::int32_t pages, Duration took) {
  if (pages <= 0 || took <= Duration{0}) return;
  const double each = nanoseconds(took) / pages;
  page_nanoseconds_ += (page_nanoseconds_ > 0 ? kLatest : 1) * (each - page_nanoseconds_);
}

bool SwapCosts::copying_is_sooner(std::int32_t copied, std::int64_t before,
                                  std::int32_t computed) const {
  const std::int32_t tokens = computed * page_tokens_;
  const Duration without = times_.predict({.decode_tokens = 1});
  const Duration with = times_.predict({1, tokens, attended_tokens(window_, before, tokens)});
  if (without <= Duration{0} || page_nanoseconds_ <= 0) return true;
  return page_nanoseconds_ * copied <= nanoseconds(with - without);
}

}  // namespace weft
