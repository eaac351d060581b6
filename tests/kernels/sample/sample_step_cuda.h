#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "weft/tests/kernels/cuda/device_cuda_test.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"

/// Choices of a step, on a GPU and by the host's code, and what the two are held against.
namespace weft::cuda::test {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// A step's choices: item i is slot i's, and reads row i of the logits (of so many as there are).
struct SampleStep {
  std::int64_t vocabulary;
  std::vector<std::vector<float>> rows;
  std::vector<SampleSettings> settings;
  std::vector<SampleLists> lists;
  std::vector<SampleItem> items;
  std::vector<std::uint32_t> counts;
  std::vector<std::uint32_t> masks{};
  std::int32_t blocks = 0;
  std::int32_t ranks = 0;  ///< that tell of their parts; 0: the logits are there

  SampleStep(std::int64_t size, std::size_t count)
      : vocabulary(size), settings(count), lists(count), items(count) {
    for (std::size_t i = 0; i < count; ++i) {
      items[i].slot = static_cast<std::int32_t>(i);
      items[i].position = static_cast<std::int64_t>(100 + i);
      settings[i].seed = 77 + i / 2;
    }
    counts.resize(count * static_cast<std::size_t>(size));
  }

  void add_rows(std::size_t count, float deviation, std::mt19937& engine) {
    std::normal_distribution<float> normal(0, deviation);
    for (std::size_t r = 0; r < count; ++r) {
      rows.emplace_back(static_cast<std::size_t>(vocabulary));
      for (float& logit : rows.back()) logit = normal(engine);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i].output = static_cast<std::int32_t>(i % rows.size());
    }
  }

  struct Result {
    std::vector<SampleChoice> choices;
    std::vector<TokenId> last;
  };

  [[nodiscard]] Result on_device() const { return run(true); }
  [[nodiscard]] Result on_host() const { return run(false); }

 private:
  /// The first token of each rank's part, and the end of the last.
  [[nodiscard]] std::int64_t first_of(std::int64_t rank) const { return vocabulary * rank / ranks; }

  /// Tells of all parts before the choices, which `choose` makes.
  template <class Choose>
  [[nodiscard]] const char* tell_and(const Mirror<ToldPart>& told, const Choose& choose) const {
    std::vector<std::unique_ptr<Mirror<float>>> parts;
    std::vector<CudaTellParams> all;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t first = first_of(rank);
      const std::int64_t width = first_of(rank + 1) - first;
      const std::int64_t stride = (width + 63) / 64 * 64;
      std::vector<float> table(rows.size() * static_cast<std::size_t>(stride), kInf);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        std::copy_n(rows[r].begin() + first, width,
                    table.begin() + static_cast<std::ptrdiff_t>(r) * stride);
      }
      parts.push_back(std::make_unique<Mirror<float>>(table));
      const auto count = static_cast<std::int64_t>(rows.size());
      all.push_back({.rows = count,
                     .logits = {.data = parts.back()->device(),
                                .width = width,
                                .stride = stride,
                                .capacity = count},
                     .first_token = static_cast<TokenId>(first),
                     .told = told.device() + rank * count,
                     .blocks = blocks});
    }
    return run_as_graph([&](Stream stream) {
      for (const CudaTellParams& each : all) {
        if (const Status status = tell_parts(each, stream); status != Status::kSuccess) {
          return status;
        }
      }
      return choose(stream);
    });
  }

  [[nodiscard]] Result run(bool device) const {
    const std::int64_t stride = (vocabulary + 63) / 64 * 64;
    std::vector<float> table(rows.size() * static_cast<std::size_t>(stride), kInf);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (ranks > 0) break;  // it is not read
      std::ranges::copy(rows[r], table.begin() + static_cast<std::ptrdiff_t>(r) * stride);
    }
    const auto count = static_cast<std::int32_t>(items.size());
    // More items could come than have come.
    const auto bound = items.size() + 3;
    std::vector<SampleItem> all = items;
    all.resize(bound);
    Mirror<float> logits(table);
    Mirror<SampleItem> item_list(all);
    Mirror<std::int32_t> item_count(std::vector<std::int32_t>{count});
    Mirror<SampleSettings> setting_list(settings);
    Mirror<SampleLists> list_list(lists);
    Mirror<std::uint32_t> count_list(counts);
    Mirror<std::uint32_t> mask_list(masks.empty() ? std::vector<std::uint32_t>(1) : masks);
    const auto outputs = static_cast<std::int64_t>(rows.size());
    Mirror<ToldPart> told(
        std::vector<ToldPart>(static_cast<std::size_t>(std::max(ranks, 1) * outputs)));
    Mirror<float> edited(std::vector<float>(bound * static_cast<std::size_t>(vocabulary), kNaN));
    Mirror<TokenId> last(std::vector<TokenId>(settings.size(), -77));
    SampleChoice poison{};
    poison.token = -77;
    Mirror<SampleChoice> choices(std::vector<SampleChoice>(bound, poison));
    const auto of = [device](auto& mirror) {
      return device ? mirror.device() : mirror.host.data();
    };
    const CudaSampleParams params{
        .items = of(item_list),
        .item_count = of(item_count),
        .max_items = static_cast<std::int32_t>(bound),
        .logits = {.data = of(logits), .width = vocabulary, .stride = stride, .capacity = outputs},
        .told = {ranks > 0 ? of(told) : nullptr, ranks, outputs},
        .settings = of(setting_list),
        .lists = of(list_list),
        .counts = {of(count_list), vocabulary},
        .masks = {of(mask_list)},
        .edited = of(edited),
        .last_tokens = of(last),
        .choices = of(choices),
        .blocks = blocks};
    if (!device) {
      reference::sample(params);
      return {choices.host, last.host};
    }
    const char* error = tell_and(told, [&](Stream stream) { return sample(params, stream); });
    EXPECT_EQ(error, nullptr) << error;
    return {choices.fetch(), last.fetch()};
  }
};

/// Counts of comparisons.
struct Tally {
  int choices = 0;
  int others = 0;  ///< tokens that are not the host's
};

/// -inf is a logprob too.
inline void expect_near(float got, float want) {
  if (got != want) {
    ASSERT_NEAR(got, want, 1e-5F * (1 - want));
  }
}

inline void expect_same_top(const SampleChoice& got, const SampleChoice& want) {
  ASSERT_EQ(got.top_count, want.top_count);
  for (std::size_t r = 0; r < static_cast<std::size_t>(want.top_count); ++r) {
    ASSERT_EQ(got.top[r].token, want.top[r].token) << "at " << r;
    expect_near(got.top[r].logprob, want.top[r].logprob);
  }
}

/// Tokens may differ where the host's sums of doubles and the integers of the device fall to
/// different sides of a mark.
inline void compare(SampleStep& step, Tally& tally) {
  const auto want = step.on_host();
  const auto got = step.on_device();
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    const SampleChoice& choice = got.choices[i];
    const SampleChoice& wanted = want.choices[i];
    ASSERT_EQ(got.last[i], step.items[i].skipped ? -77 : choice.token);
    ++tally.choices;
    if (choice.token != wanted.token) {
      ++tally.others;
      continue;
    }
    expect_near(choice.logprob, wanted.logprob);
    expect_same_top(choice, wanted);
  }
  for (std::size_t i = step.items.size(); i < got.choices.size(); ++i) {
    ASSERT_EQ(got.choices[i].token, -77) << "an item that is none";
  }
}

}  // namespace weft::cuda::test
