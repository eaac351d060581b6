#include "weft/measure/steps/hole_device.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace weft::measure {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

HoleDevice::HoleDevice(std::shared_ptr<StepDevice> device)
    : ForwardingDevice(std::move(device)),
      limits_(ForwardingDevice::limits()),
      sampling_(std::make_shared<const SamplingParams>()) {
  limits_.rows /= 2;
  limits_.pages -= limits_.rows;        // one page for each hole, after the engine's pages
  limits_.step_tokens -= limits_.rows;  // one token for each hole
  place_of_row_.assign(at(limits_.rows), -1);
  taken_.assign(at(limits_.rows), false);
}

void HoleDevice::run(const Plan& plan, StepResult& result) {
  follow(plan);
  const std::int32_t count = plan.entries.empty() ? 0 : holes();
  if (count == 0) return device().run(plan, result);
  plan_ = plan;
  add_holes(count);
  computed_holes_ += count;
  device().run(plan_, result);
}

void HoleDevice::follow(const Plan& plan) {
  for (const PlanMove& move : plan.moves) {
    leave_place(move.to);
    std::swap(place_of_row_[at(move.from)], place_of_row_[at(move.to)]);
  }
  for (std::int32_t row = 0; row < limits_.rows; ++row) {
    if (row < plan.first_row || row >= plan.first_row + plan.rows) leave_place(row);
  }
  for (const PlanStart& start : plan.starts) take_place(start.row);
}

void HoleDevice::take_place(std::int32_t row) {
  leave_place(row);
  const auto free = std::ranges::find(taken_, false);
  place_of_row_[at(row)] = static_cast<std::int32_t>(std::distance(taken_.begin(), free));
  *free = true;
}

void HoleDevice::leave_place(std::int32_t row) {
  std::int32_t& place = place_of_row_[at(row)];
  if (place >= 0) taken_[at(place)] = false;
  place = -1;
}

std::int32_t HoleDevice::holes() const {
  const auto first = std::ranges::find(taken_, true);
  if (first == taken_.end()) return 0;
  const auto last = std::find(taken_.rbegin(), taken_.rend(), true).base();
  return static_cast<std::int32_t>(std::count(first, last, false));
}

void HoleDevice::add_holes(std::int32_t count) {
  const auto first_page = static_cast<std::int32_t>(plan_.pages.size());
  plan_.ids.push_back(0);
  const auto id = static_cast<std::int32_t>(plan_.ids.size()) - 1;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t row = limits_.rows + i;
    plan_.pages.push_back(limits_.pages + i);
    PlanStart start;
    start.row = row;
    start.sampling = sampling_;
    plan_.starts.push_back(start);
    plan_.tables.push_back({row, 0, first_page + i, 1});
    plan_.entries.push_back({row, 1, 0, id});
  }
}

}  // namespace weft::measure
