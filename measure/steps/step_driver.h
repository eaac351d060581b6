#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "weft/gpu/plan.h"
#include "weft/gpu/step_device.h"
#include "weft/sampling/sampling_params.h"

namespace weft::measure {

/// Writes the plans of sequences that are only measured, and runs them on a device. Each row has
/// its own pages, which are scattered as in a cache after long use. Tokens are chosen as for chats:
/// temperature, top_k, top_p. Owner only.
class StepDriver {
 public:
  /// `ran` is called after every plan that has run.
  StepDriver(StepDevice& device, std::uint64_t seed, std::function<void()> ran = {});

  /// Returns the seconds for a prompt of `tokens` in row 0, with a choice after its last token. It
  /// takes pages of all rows, so the results of fill() are lost.
  double prefill(std::int32_t tokens);

  /// Computes positions [from, to) of rows [0, rows) as prompts.
  void fill(std::int32_t rows, std::int32_t from, std::int32_t to);

  /// Returns the seconds for the next token of each of the first `rows`, as the mean of `steps`
  /// steps. All are at `position`, so that attention always sees the same number of tokens. One
  /// step before them is not counted.
  double decode(std::int32_t rows, std::int32_t position, std::int32_t steps);

  /// Returns how many plans fill() and prefill() run for this many tokens in all.
  [[nodiscard]] std::int64_t plans_for(std::int64_t tokens) const noexcept;

 private:
  /// Begins a row's sequence, with pages for positions [0, end). The pages' numbers are `apart`
  /// apart.
  void begin(std::int32_t row, std::int32_t prompt_tokens, std::int32_t end, std::int32_t apart);
  void feed(std::int32_t row, std::int32_t from, std::int32_t count);
  double run();
  double advance(std::int32_t rows, std::int32_t position);

  StepDevice& device_;
  const std::uint64_t seed_;
  const std::function<void()> ran_;
  std::shared_ptr<const SamplingParams> sampling_;
  Plan plan_;
  StepResult result_;
};

}  // namespace weft::measure
