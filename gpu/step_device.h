#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/device_adapter.h"
#include "weft/gpu/plan.h"

namespace weft {

class PageFiles;
struct Adapter;

/// The sizes for which a device allocated memory; plans stay within them.
struct DeviceLimits {
  std::int32_t rows = 0;
  std::int32_t pages = 0;  ///< pages of the decoder's KV
  std::int32_t page_tokens = 1;
  std::int32_t host_pages = 0;  ///< places for pages in host memory
  bool kv_on_host = false;      ///< a GPU's pages are all in host memory, page-locked
  /// A GPU rounds rows to FP8 for products with FP8 weights if it has LinearWay::kRounded, for
  /// kMaxStreamedTokens + 1 to kMaxRoundedTokens rows. The host never does.
  bool rounds_rows = false;
  /// The most tokens of an entry list, and of an encode list. At least `rows`, so that all rows can
  /// advance in one step.
  std::int32_t step_tokens = 0;
  std::int64_t context = 0;      ///< most positions of a sequence
  std::int32_t cross_pages = 0;  ///< pages of the encoder's output; 0 without encoder
  std::int64_t vocabulary = 0;
  /// In each layer a token sees at most this many positions, its own included. 0: in some layer a
  /// token sees all positions before it.
  std::int64_t window = 0;
  /// False: an encoder alone. It reads each sequence whole, in one entry, and keeps no KV between
  /// steps, so a sequence has no pages.
  bool keeps_kv = true;
  /// The most ticks that run at once: the stages of a pipeline. A plan names kLastToken for a row
  /// only if the row's last sample was at least this many plans before.
  std::int32_t stages = 1;
  /// The most tokens that the device guesses after the token that it chose for a row, and then
  /// verifies (PlanEntry::guesses). 0: no guesses.
  std::int32_t guesses = 0;
  /// A draft model makes guesses where a plan allows them (PlanEntry::drafts), for sequences of at
  /// most this many tokens: its context, within `context`. 0: there is no draft model.
  std::int32_t draft_context = 0;
  /// The device makes no guesses for sequences with a constraint or with penalties. It makes all
  /// choices of an entry at once, and such a choice depends on the guesses before it.
  bool chooses_at_once = false;
  /// Bytes of a row's state: data that layers keep of a sequence beside pages, independent of its
  /// length (a recurrent layer's). 0: none. A device with state makes no guesses, because it could
  /// not undo wrong ones.
  std::int64_t state_bytes = 0;
  /// The pages of a snapshot of a row's state; 0 without state.
  std::int32_t snapshot_pages = 0;
  /// States are kept at the end of each prompt, and also every this many pages of a sequence; 0:
  /// only at the end.
  std::int32_t snapshot_every = 0;
  /// The most adapters that rows can use at once (PlanAdapter); 0: the device computes none.
  std::int32_t adapter_places = 0;
  /// The greatest rank of an adapter's pair that fits in a place.
  std::int32_t adapter_rank = 0;

  /// Returns the most tokens of a step whose logits are used for a choice.
  [[nodiscard]] std::int32_t step_outputs() const noexcept {
    const std::int64_t all = std::int64_t{rows} * (1 + guesses);
    return static_cast<std::int32_t>(std::min<std::int64_t>(all, std::max(step_tokens, rows)));
  }

  [[nodiscard]] bool has_state() const noexcept { return state_bytes > 0; }
  [[nodiscard]] std::int64_t pages_for(std::int64_t tokens) const noexcept {
    return (tokens + page_tokens - 1) / page_tokens;
  }
  /// Returns the pages of a sequence with `tokens` tokens.
  [[nodiscard]] std::int64_t kv_pages_for(std::int64_t tokens) const noexcept {
    return keeps_kv ? pages_for(tokens) : 0;
  }
  /// Returns the first page that a token at `position`, or a later one, may still need. The page
  /// before `position` always counts as needed.
  [[nodiscard]] std::int64_t first_page_needed(std::int64_t position) const noexcept {
    if (window == 0) return 0;
    return std::max<std::int64_t>(position - std::max<std::int64_t>(window, 2) + 1, 0) /
           page_tokens;
  }
  /// Returns the most pages that a sequence with `tokens` tokens holds at once. If all layers have
  /// a window, these are the pages of the window and of the tokens added to it, at any alignment.
  /// The added tokens are a step, or one token with its guesses after guesses that are not yet
  /// known to be right.
  [[nodiscard]] std::int64_t held_pages_for(std::int64_t tokens) const noexcept {
    const std::int64_t all = kv_pages_for(tokens);
    if (window == 0) return all;
    const std::int64_t added = std::max(step_tokens, 2 * guesses + 1);
    return std::min(all, pages_for(std::max<std::int64_t>(window, 2) + added - 2) + 1);
  }
  [[nodiscard]] std::int32_t pages_per_row() const noexcept {
    return static_cast<std::int32_t>(kv_pages_for(context));
  }
  [[nodiscard]] std::int32_t pages_per_step() const noexcept {
    return static_cast<std::int32_t>(pages_for(step_tokens));
  }
};

/// A device as the pipeline sees it: it carries out plans, one after the other. A row's data (page
/// table, last token, sampler, state) belongs to the device, and plans change it. One thread at a
/// time, except for abandon().
///
/// A device may be one of several ranks that share a model, cut into stages: each stage has some of
/// the layers, and the ranks of a stage share them. Every rank gets every plan, in the same order,
/// each on its own thread. run() waits inside for other ranks' numbers: a stage's input, the other
/// ranks' parts of a sum, and at the first stage the tokens chosen by the plan that ran
/// `limits().stages` before this one. "Before" counts plans in the order of running: Plan::tick
/// starts again at 1 when a scheduler is replaced.
class StepDevice {
 public:
  StepDevice() = default;
  StepDevice(const StepDevice&) = delete;
  StepDevice& operator=(const StepDevice&) = delete;
  virtual ~StepDevice() = default;

  /// Returns the limits that plans must keep; constant.
  [[nodiscard]] virtual const DeviceLimits& limits() const noexcept = 0;

  /// Runs one step; `result` has been cleared. Allocates nothing once its vectors have their size.
  /// If a row's last token is kNoToken, the device feeds any token, and the row's result is
  /// ignored. A failure is an exception: ActorFailure(kDeviceLost) if the device is lost for good,
  /// any other exception if only this step is lost. A failure of one of several ranks means the
  /// loss of all.
  virtual void run(const Plan& plan, StepResult& result) = 0;

  /// Whether run() returns chosen tokens. Among several ranks only the first rank of the last stage
  /// does; the others leave the result empty except for `took`. Constant.
  [[nodiscard]] virtual bool samples() const noexcept { return true; }

  /// Called when another rank is lost. From now on run() throws ActorFailure(kDeviceLost) as soon
  /// as it would wait for another rank, even a run that has begun. Any thread, any number of times.
  virtual void abandon() noexcept {}

  /// Returns the adapter in this device's own form, for its part of the model. An error of
  /// DeviceErrc::kUnfit names the parts that must be merged into the weights. Any thread, also
  /// during run().
  [[nodiscard]] virtual Result<std::shared_ptr<const DeviceAdapter>> prepare_adapter(
      const Adapter& adapter) const;

  /// Whether the executor may run training between steps (TrainingWork). True if the model runs on
  /// the host's processors, which training uses too. Constant.
  [[nodiscard]] virtual bool lets_train() const noexcept { return false; }

  /// Returns the files where its pages may be kept; null: none. They are closed before the device
  /// is destroyed.
  [[nodiscard]] virtual std::shared_ptr<PageFiles> page_files() const { return nullptr; }

  /// Sets a function that is called with the reason if the device notices between two steps that it
  /// is lost. Any thread calls it, once, and at once if the device is lost already. An empty `tell`
  /// removes the function, and waits for a running call. A device that only a step can show lost
  /// never calls `tell`.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps it
  virtual void watch(std::function<void(const std::string& why)> /*tell*/) {}
};

/// The devices of one instance: a whole device, or the ranks of a partitioned model, by stage and
/// then by rank. They have the same limits.
using DeviceRanks = std::vector<std::shared_ptr<StepDevice>>;

}  // namespace weft
