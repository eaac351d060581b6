#include "weft/gpu/cuda/step/page_swapper.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace weft::cuda {
namespace {

// Copies of one launch; longer lists take several launches. A list of this length is small beside a
// page.
constexpr std::size_t kMostCopies = 4096;

}  // namespace

PageSwapper::PageSwapper(Runtime& runtime, const Layout& layout, const DeviceLimits& limits)
    : runtime_(runtime),
      pages_(limits.pages),
      most_copies_(std::min(kMostCopies, static_cast<std::size_t>(limits.pages))),
      places_(runtime, layout, limits.pages, limits.host_pages, most_copies_),
      batches_(std::int64_t{limits.pages} + limits.host_pages),
      stream_(make_stream(runtime)),
      computed_(make_event(runtime)),
      began_(make_timing_event(runtime)),
      copied_(make_timing_event(runtime)) {
  list_.reserve(most_copies_);
  check(runtime_, runtime_.record(computed_.get(), stream_.get()), "preparing to swap pages");
}

void PageSwapper::begin(Stream step) {
  if (!waits_) return;
  check(runtime_, runtime_.wait(step, copied_.get()), "waiting for pages");
  waits_ = false;
}

bool PageSwapper::is_for(const Plan& plan) const {
  return std::ranges::any_of(
      plan.copies, [this](const PlanCopy& one) { return std::max(one.from, one.to) >= pages_; });
}

void PageSwapper::copy(const Plan& plan, Stream step) {
  const auto is_copied = [&](std::int32_t page) {
    return std::ranges::any_of(
        plan.copies, [page](const PlanCopy& one) { return one.from == page || one.to == page; });
  };
  const bool beside = std::ranges::none_of(plan.pages, is_copied);
  const Stream stream = beside ? stream_.get() : step;
  if (beside) check(runtime_, runtime_.wait(stream, computed_.get()), "swapping pages");
  // By then the device has read the previous list of copies.
  if (has_copied_) check(runtime_, runtime_.wait(copied_.get()), "swapping pages");
  check(runtime_, runtime_.record(began_.get(), stream), "swapping pages");
  std::span<const PlanCopy> copies = plan.copies;
  for (bool first = true; !copies.empty(); first = false) {
    // The next batch uses the same memory.
    if (!first) check(runtime_, runtime_.synchronize(stream), "swapping pages");
    list_.clear();
    for (const PlanCopy& one : copies.first(std::min(copies.size(), most_copies_))) {
      list_.push_back({one.from, one.to});
    }
    const std::size_t count = batches_.next(list_, most_copies_);
    places_.copy(std::span(list_).first(count), stream);
    copies = copies.subspan(count);
  }
  check(runtime_, runtime_.record(copied_.get(), stream), "swapping pages");
  measured_ = static_cast<std::int32_t>(std::ranges::count_if(
      plan.copies, [this](const PlanCopy& one) { return std::max(one.from, one.to) >= pages_; }));
  measured_on_ = stream;
  has_copied_ = true;
  waits_ = beside;
}

void PageSwapper::end(Stream step) {
  check(runtime_, runtime_.record(computed_.get(), step), "telling that a step is done");
}

void PageSwapper::finish() {
  if (waits_) check(runtime_, runtime_.wait(copied_.get()), "swapping pages");
}

void PageSwapper::tell(StepResult& result) {
  if (measured_ == 0) return;
  const Status status = runtime_.query(measured_on_);
  if (status == kNotReady) return;
  check(runtime_, status, "swapping pages");
  float milliseconds = 0;
  check(runtime_, runtime_.elapsed(began_.get(), copied_.get(), milliseconds), "swapping pages");
  result.swapped = std::exchange(measured_, 0);
  result.swapping =
      std::chrono::duration_cast<Duration>(std::chrono::duration<float, std::milli>(milliseconds));
}

}  // namespace weft::cuda
