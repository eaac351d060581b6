#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/token.h"
#include "weft/gpu/plan.h"
#include "weft/gpu/sequence_traits.h"
#include "weft/gpu/step_device.h"
#include "weft/kernels/sample/sample.h"
#include "weft/sampling/drafters/drafter.h"

namespace weft {

/// The state of a slot's sequence, as plans describe it.
struct SlotState {
  std::vector<std::int32_t> pages;  ///< the whole table; entries past the sequence are meaningless
  std::vector<std::int32_t> cross_pages;  ///< pages of its encoder's output; empty without encoder
  std::int32_t cross_context = 0;         ///< tokens of its encoder's output
  /// The prompt's part of what its sampler sees; the rest is output.
  std::int32_t prompt_tokens = 0;
  /// Tokens that its sampler has seen after this step, right guesses included. The sequence's
  /// tokens end there, and the next entry begins there.
  std::int32_t observed = 0;
  TokenId last_token = kNoToken;  ///< the last token chosen for the sequence
  SequenceTraits traits{};
  LogitNeeds needs = LogitNeeds::kAll;  ///< the logits by which its tokens are chosen
  SampleParams draws{};                 ///< GuessTask::draws, without a position
  bool may_guess = true;                ///< whether the drafter follows its tokens
  std::shared_ptr<ActivationReader> reader{};
  /// Set if its reader threw: then no more tokens are chosen for the sequence. Null: it did not
  /// throw.
  std::shared_ptr<const ChoiceFailure> failure{};
};

/// One sequence's tokens in the step: rows first .. first + count - 1 of the step, at positions
/// start .. start + count - 1 of the sequence.
struct SlotTokens {
  std::int32_t slot = 0;
  std::int32_t first = 0;
  std::int32_t count = 0;  ///< guesses included
  std::int32_t start = 0;
  std::span<const TokenId> ids = {};  ///< empty: one token, the last that was chosen for the slot
  /// Guesses after `ids`, at most as many as the plan allows.
  std::span<const TokenId> guesses = {};
  GuessSource source = GuessSource::kOwn;  ///< source of `guesses`
  /// Pages of the KV that it writes, for start + count tokens.
  std::span<const std::int32_t> pages = {};
  std::int32_t observed = 0;        ///< tokens that its sampler has seen before
  std::int32_t adapter_place = -1;  ///< its adapter's place; -1: no adapter
};

/// Entries [first, first + pages.size()) of a slot's page table have changed.
struct SlotTable {
  std::int32_t slot = 0;
  std::int32_t first = 0;
  std::span<const std::int32_t> pages = {};
};

/// Tokens of the step that an ActivationReader reads: rows first .. first + count - 1, at positions
/// from start on.
struct SlotReading {
  std::int32_t slot = 0;
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::int32_t start = 0;
  std::span<const TokenId> ids = {};  ///< empty: one token, `last`
  TokenId last = kNoToken;            ///< the token chosen for the slot before this step
  ActivationReader* reader = nullptr;
  bool has_failed = false;  ///< its reader threw earlier, and reads no more

  [[nodiscard]] TokenId token(std::int32_t index) const {
    return ids.empty() ? last : ids[static_cast<std::size_t>(index)];
  }
};

/// A choice of a slot's next token, by outputs()[output]. As long as guesses are right, one more
/// token is chosen by each following output. A guess is right if it is the token chosen by the
/// previous output.
struct SlotChoice {
  std::int32_t slot = 0;
  std::int32_t output = 0;     ///< index in outputs()
  bool shares_output = false;  ///< other choices use the same output; then there are no guesses
  std::span<const TokenId> guesses = {};
  GuessSource source = GuessSource::kOwn;  ///< source of `guesses`
  std::size_t first_result = 0;            ///< in StepResult::samples
  std::size_t told = 0;                    ///< number of results so far
};

/// Reads plans for any device, and keeps each slot's sequence as plans describe it. A row that
/// moves takes another slot's number, so a device leaves a slot's data in place. For each plan call
/// change_rows(), read_encodes() and read_entries() in this order. Each result is borrowed until
/// the next call of the same function. Allocates nothing after construction. Owner only, except for
/// tell().
class PlanReader {
 public:
  /// `encoder_pages` is the number of pages that the device's encoder has for its own KV. Each step
  /// uses them again.
  PlanReader(const DeviceLimits& limits, std::int32_t encoder_pages);

  [[nodiscard]] std::int32_t slot_of(std::int32_t row) const {
    return slot_of_row_[static_cast<std::size_t>(row)];
  }
  [[nodiscard]] const SlotState& slot(std::int32_t index) const {
    return slots_[static_cast<std::size_t>(index)];
  }
  /// Returns the tokens that are already in the KV when a sequence begins.
  [[nodiscard]] static std::span<const TokenId> history(const Plan& plan, const PlanStart& start);

  /// Reads moves, starts, page tables and adapters. Throws kUnfit if a plan names a place that the
  /// device does not have (DeviceLimits::adapter_places).
  void change_rows(const Plan& plan);

  /// Returns the tables that change_rows() has changed, each slot once. An amended plan may set one
  /// entry twice; the last value counts.
  [[nodiscard]] std::span<const SlotTable> tables() const noexcept { return tables_; }

  /// Returns the adapter of each place; zeros: no adapter, or one that is in another place by now.
  [[nodiscard]] std::span<const AdapterId> adapters() const noexcept { return adapters_; }

  /// Returns the sequences that the encoder reads.
  std::span<const SlotTokens> read_encodes(const Plan& plan);

  /// Lets the device guess with this drafter from now on. Without a drafter it makes no guesses,
  /// whatever plans allow.
  void use(std::unique_ptr<Drafter> drafter) { drafter_ = std::move(drafter); }

  /// Returns the tokens that the decoder reads, in the order of Plan::entries. Slots that fork have
  /// their new state afterwards. An entry gets the drafter's guesses, at most as many as the plan
  /// allows, and begins where its slot's tokens end. Throws kUnfit if a plan allows more guesses
  /// than the device verifies (DeviceLimits::guesses), if an entry would not begin where the plan
  /// says, or if its adapter is in no place.
  std::span<const SlotTokens> read_entries(const Plan& plan);

  /// Returns `tokens.ids`, or the last token if these are empty.
  [[nodiscard]] std::span<const TokenId> known_ids(const SlotTokens& tokens) const;

  /// Returns the rows of the step whose logits are wanted, each once.
  [[nodiscard]] std::span<const std::int32_t> outputs() const noexcept { return outputs_; }
  /// Returns for each output which of its logits the choices need; for a shared output the most.
  [[nodiscard]] std::span<const LogitNeeds> needs() const noexcept { return needs_; }

  /// Returns the choices, in the order of Plan::samples.
  [[nodiscard]] std::span<const SlotChoice> choices() const noexcept { return choices_; }

  /// Returns the readings that read_entries() found.
  [[nodiscard]] std::span<const SlotReading> readings() const noexcept { return readings_; }

  /// Chooses no more tokens for a slot, in this step and until another sequence begins in it. The
  /// step's results of the slot have been told to `result`. `why` is not null.
  void fail(std::int32_t slot, const std::shared_ptr<const ChoiceFailure>& why, StepResult& result);

  /// Stores the token that another rank has chosen for a slot.
  void hear(std::int32_t slot, TokenId token) {
    slots_[static_cast<std::size_t>(slot)].last_token = token;
  }

  /// Returns the pages to copy after the step, so that a fork has its own.
  std::span<const PlanCopy> forked_pages(const PlanFork& fork);

  /// Makes room for the results of choices().
  void begin_results(StepResult& result) const;

  /// Stores a result of choice `index`, and returns where its `top_count` most probable tokens go.
  /// A second call for the same choice means that the next guess was right, and stores the token
  /// chosen after it. Different threads may store different choices.
  std::span<TokenLogprob> tell(StepResult& result, std::size_t index, const SampleResult& chosen);

  /// As above for a sampler's outcome, whose most probable tokens are copied. `shift` is the
  /// correction that is added to its logprobs (join_parts()).
  void tell(StepResult& result, std::size_t index, const SampleOutcome& outcome, float shift);

  /// Call it after all results. It removes the room for choices that were not made because guesses
  /// were wrong.
  void end_results(StepResult& result);

 private:
  [[nodiscard]] SlotState& state_of_row(std::int32_t row) {
    return slots_[static_cast<std::size_t>(slot_of(row))];
  }
  void start(const Plan& plan, const PlanStart& start);
  void read_tables(const Plan& plan);
  void read_adapters(const Plan& plan);
  [[nodiscard]] std::int32_t adapter_place(const PlanEntry& entry, const AdapterId& adapter) const;
  void read_samples(const Plan& plan);
  void fork(const PlanFork& fork);
  void note_reading(const SlotTokens& tokens);
  void want_guesses(const PlanEntry& entry, const SlotTokens& tokens);
  void guess();
  void lay_entries();
  void add_outputs(const SlotTokens& tokens);

  const DeviceLimits limits_;
  std::vector<SlotState> slots_;
  std::vector<std::int32_t> slot_of_row_;
  std::vector<std::int32_t> encoder_pages_;
  std::vector<SlotTable> tables_;
  std::vector<std::int32_t> table_of_slot_;  // index in tables_, or -1
  std::vector<AdapterId> adapters_;          // by place
  std::vector<SlotTokens> encodes_;
  std::vector<SlotTokens> entries_;
  std::vector<std::int32_t> outputs_;
  std::vector<LogitNeeds> needs_;
  std::vector<std::size_t> first_choice_;  // by output
  std::vector<std::int32_t> output_of_entry_;
  std::vector<SlotChoice> choices_;
  std::vector<PlanCopy> forked_;
  std::vector<SlotReading> readings_;
  std::unique_ptr<Drafter> drafter_;
  std::vector<GuessTask> tasks_;
  std::vector<std::size_t> task_entries_;  // a task's index in entries_
  std::vector<TokenId> guesses_;           // room for the guesses of tasks_
  std::size_t guesses_wanted_ = 0;         // guesses that have room
  std::size_t guessed_ = 0;                // guesses that were made
  std::size_t results_ = 0;                // the most results of choices_
};

}  // namespace weft
