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

/// The sizes that a device took memory for when it was made; plans stay within them.
struct DeviceLimits {
  std::int32_t rows = 0;
  std::int32_t pages = 0;  ///< of the decoder's KV
  std::int32_t page_tokens = 1;
  std::int32_t host_pages = 0;  ///< places for pages in host memory
  bool kv_on_host = false;      ///< a GPU's pages are all in host memory, page-locked
  /// A GPU rounds rows to FP8 for products with FP8 weights where it has LinearWay::kRounded, from
  /// kMaxStreamedTokens + 1 rows up to kMaxRoundedTokens. The host never does.
  bool rounds_rows = false;
  /// Tokens of an entry list, and of an encode list, at most. At least `rows`, so that all can
  /// advance in one step.
  std::int32_t step_tokens = 0;
  std::int64_t context = 0;      ///< positions of a sequence
  std::int32_t cross_pages = 0;  ///< of the encoder's output; 0 without encoder
  std::int64_t vocabulary = 0;
  /// In each layer a token sees at most so many positions, its own included; 0: in some layer it
  /// sees all before it.
  std::int64_t window = 0;
  /// False: an encoder alone, which reads each sequence whole, in one entry, and keeps nothing of
  /// it between steps, so that a sequence has no pages.
  bool keeps_kv = true;
  /// Ticks that run at once, at most: the stages of a pipeline. A plan names kLastToken only for a
  /// row whose last sample was so many plans before, or more.
  std::int32_t stages = 1;
  /// How many tokens the device guesses at most behind the token that it chose for a row, and then
  /// verifies (PlanEntry::guesses); 0: it guesses none.
  std::int32_t guesses = 0;
  /// A draft model makes guesses where a plan allows them (PlanEntry::drafts), for sequences of at
  /// most so many tokens: its context, within `context`. 0: there is no draft model.
  std::int32_t draft_context = 0;
  /// It guesses no tokens of sequences with a constraint or with penalties: all choices of an entry
  /// are made at once, and such a choice depends on the guesses before it.
  bool chooses_at_once = false;
  /// Bytes of a row's state: what layers keep of a sequence beside pages, as much of two tokens as
  /// of a thousand (a recurrent layer's). 0: none. A device with state guesses no tokens, because
  /// it could not take back what wrong ones change.
  std::int64_t state_bytes = 0;
  /// How many pages a snapshot of a row's state takes; 0 without state.
  std::int32_t snapshot_pages = 0;
  /// Beside the end of each prompt, states are kept each so many pages of a sequence; 0: nowhere
  /// else.
  std::int32_t snapshot_every = 0;
  /// How many adapters rows can use at once (PlanAdapter); 0: the device computes none.
  std::int32_t adapter_places = 0;
  /// The greatest rank of an adapter's pair that a place has room for.
  std::int32_t adapter_rank = 0;

  /// The most tokens of a step by whose logits something is chosen.
  [[nodiscard]] std::int32_t step_outputs() const noexcept {
    const std::int64_t all = std::int64_t{rows} * (1 + guesses);
    return static_cast<std::int32_t>(std::min<std::int64_t>(all, std::max(step_tokens, rows)));
  }

  [[nodiscard]] bool has_state() const noexcept { return state_bytes > 0; }
  [[nodiscard]] std::int64_t pages_for(std::int64_t tokens) const noexcept {
    return (tokens + page_tokens - 1) / page_tokens;
  }
  /// The pages of a sequence with so many tokens.
  [[nodiscard]] std::int64_t kv_pages_for(std::int64_t tokens) const noexcept {
    return keeps_kv ? pages_for(tokens) : 0;
  }
  /// The first page that a token at `position`, or one after it, may still need. The page before
  /// `position` always counts as needed.
  [[nodiscard]] std::int64_t first_page_needed(std::int64_t position) const noexcept {
    if (window == 0) return 0;
    return std::max<std::int64_t>(position - std::max<std::int64_t>(window, 2) + 1, 0) /
           page_tokens;
  }
  /// The pages that a sequence with so many tokens holds at most at once: where all layers have a
  /// window, those of the window and of what is added to it, wherever they begin in a page. That is
  /// a step, or one token with guesses behind guesses of which nobody knows which are right.
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

/// A device as the pipeline sees it: it carries out plans, one after the other. What stands in a
/// row (page table, last token, sampler, state) is the device's, and plans change it. One thread at
/// a time, but for abandon().
///
/// A device may be one of several ranks that share a model, cut into stages: each stage has some of
/// the layers, and the ranks of a stage share them. Every rank gets every plan, in the same order,
/// each on a thread of its own. run() waits inside for other ranks' numbers: a stage's input, the
/// other ranks' parts of a sum, and at the first stage the tokens chosen by the plan that ran
/// `limits().stages` before this one. "Before" counts plans as they were run: Plan::tick starts
/// again at 1 when a scheduler is replaced.
class StepDevice {
 public:
  StepDevice() = default;
  StepDevice(const StepDevice&) = delete;
  StepDevice& operator=(const StepDevice&) = delete;
  virtual ~StepDevice() = default;

  /// What plans must keep to; constant.
  [[nodiscard]] virtual const DeviceLimits& limits() const noexcept = 0;

  /// Runs one step; `result` has been cleared. Allocates nothing once its vectors have their size.
  /// A row whose last token is kNoToken is fed any other: what it gives is not looked at.
  /// A failure is an exception: ActorFailure(kDeviceLost) when the device is gone for good, any
  /// other when only this step is lost. Of several ranks any failure is the loss of all.
  virtual void run(const Plan& plan, StepResult& result) = 0;

  /// Whether run() returns chosen tokens. Among several ranks only the first of the last stage
  /// does; the others leave the result empty but for `took`. Constant.
  [[nodiscard]] virtual bool samples() const noexcept { return true; }

  /// Called when another rank is lost: from now on run() throws ActorFailure(kDeviceLost), also one
  /// that is under way, as soon as it would wait for another rank. Any thread, any number of times.
  virtual void abandon() noexcept {}

  /// Returns the adapter in this device's own form, for its part of the model. An error of
  /// DeviceErrc::kUnfit names what the device cannot compute without merging it into the weights.
  /// Any thread, beside run() too.
  [[nodiscard]] virtual Result<std::shared_ptr<const DeviceAdapter>> prepare_adapter(
      const Adapter& adapter) const;

  /// Whether the executor may run training between steps (TrainingWork). True if the model runs on
  /// the host's processors, which training uses too. Constant.
  [[nodiscard]] virtual bool lets_train() const noexcept { return false; }

  /// The files where its pages may be kept; null: none. They are closed when the device goes.
  [[nodiscard]] virtual std::shared_ptr<PageFiles> page_files() const { return nullptr; }

  /// Has `tell` called with the reason when the device finds out between two steps that it is lost:
  /// by any thread, once, at once if it is lost already. An empty `tell` ends that, and waits for a
  /// call under way. A device that only a step can show lost never calls `tell`.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps it
  virtual void watch(std::function<void(const std::string& why)> /*tell*/) {}
};

/// The devices of one instance: a whole device, or the ranks of a model that is cut, by stage and
/// in each stage by place. Their limits are the same.
using DeviceRanks = std::vector<std::shared_ptr<StepDevice>>;

}  // namespace weft
