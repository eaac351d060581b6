#include "weft/train/data/batch_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/train/random_numbers.h"

namespace weft {
namespace {

void add(MicroBatch& batch, const Example& example) {
  const std::size_t count = example.ids.size();
  batch.spans.push_back(
      {static_cast<std::int64_t>(batch.ids.size()), static_cast<std::int64_t>(count)});
  batch.ids.insert(batch.ids.end(), example.ids.begin(), example.ids.end());
  // Each token predicts the next one; the last predicts none.
  batch.targets.insert(batch.targets.end(), example.ids.begin() + 1, example.ids.end());
  batch.targets.push_back(0);
  batch.weights.insert(batch.weights.end(), example.weights.begin() + 1, example.weights.end());
  batch.weights.push_back(0);
}

}  // namespace

std::vector<std::size_t> BatchPlan::examples_of(std::int64_t step) const {
  const std::int64_t epoch = step / steps_of_epoch();
  std::vector<std::size_t> order(examples);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (shuffle) {
    // Fisher and Yates's, by an order for each epoch.
    RandomNumbers random(RandomNumbers(seed).next() + static_cast<std::uint64_t>(epoch));
    for (std::size_t i = examples; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  }
  const auto first = static_cast<std::size_t>(step % steps_of_epoch()) * batch;
  const std::size_t count = std::min(batch, examples - first);
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

std::vector<MicroBatch> BatchPlan::pack(std::span<const Example> all,
                                        std::span<const std::size_t> chosen) const {
  std::vector<MicroBatch> batches;
  for (const std::size_t index : chosen) {
    const Example& example = all[index];
    if (batches.empty() || batches.back().ids.size() + example.ids.size() > tokens)
      batches.emplace_back();
    add(batches.back(), example);
  }
  return batches;
}

double weight_of(std::span<const MicroBatch> batches) {
  double sum = 0;
  for (const MicroBatch& batch : batches) {
    for (const float weight : batch.weights) sum += weight;
  }
  return sum;
}

}  // namespace weft
