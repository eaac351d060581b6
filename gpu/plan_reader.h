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

/// The state of the sequence in a slot, as plans gave it.
struct SlotState {
  std::vector<std::int32_t> pages;        ///< whole table; entries behind the sequence mean nothing
  std::vector<std::int32_t> cross_pages;  ///< of its encoder's output; empty where that is absent
  std::int32_t cross_context = 0;         ///< tokens of its encoder's output
  std::int32_t prompt_tokens = 0;         ///< of what its sampler sees; the rest is output
  /// Tokens that its sampler has seen after this step, right guesses included: where the sequence's
  /// tokens end, and the next entry begins.
  std::int32_t observed = 0;
  TokenId last_token = kNoToken;  ///< what was chosen for it last
  SequenceTraits traits{};
  LogitNeeds needs = LogitNeeds::kAll;  ///< of what its tokens are chosen by
  SampleParams draws{};                 ///< GuessTask::draws, without a position
  bool may_guess = true;                ///< whether the drafter follows its tokens
  std::shared_ptr<ActivationReader> reader{};
  /// Set when its reader threw: no token is chosen for it any more. Null: it did not throw.
  std::shared_ptr<const ChoiceFailure> failure{};
};

/// One sequence's tokens in the step: rows first .. first + count - 1 of the step, at positions
/// start .. start + count - 1 of the sequence.
struct SlotTokens {
  std::int32_t slot = 0;
  std::int32_t first = 0;
  std::int32_t count = 0;  ///< guesses included
  std::int32_t start = 0;
  std::span<const TokenId> ids = {};       ///< empty: one token, what was chosen for the slot last
  std::span<const TokenId> guesses = {};   ///< behind `ids`, at most as many as the plan allows
  GuessSource source = GuessSource::kOwn;  ///< of `guesses`
  std::span<const std::int32_t> pages = {};  ///< of the KV that it writes, for start + count tokens
  std::int32_t observed = 0;                 ///< tokens that its sampler has seen before
  std::int32_t adapter_place = -1;           ///< where its adapter is; -1: it has none
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
  TokenId last = kNoToken;            ///< what was chosen for the slot before this step
  ActivationReader* reader = nullptr;
  bool has_failed = false;  ///< its reader threw before, and reads no more

  [[nodiscard]] TokenId token(std::int32_t index) const {
    return ids.empty() ? last : ids[static_cast<std::size_t>(index)];
  }
};

/// A token is to be chosen for a slot: by outputs()[output] and, as long as guesses are right, one
/// more by each output behind it. A guess is right if it is the token chosen by the output before.
struct SlotChoice {
  std::int32_t slot = 0;
  std::int32_t output = 0;     ///< which of outputs() it is chosen by
  bool shares_output = false;  ///< others choose by the same; then there are no guesses
  std::span<const TokenId> guesses = {};
  GuessSource source = GuessSource::kOwn;  ///< of `guesses`
  std::size_t first_result = 0;            ///< in StepResult::samples
  std::size_t told = 0;                    ///< how many results there are so far
};

/// Reads plans for any device. It keeps each slot's sequence as plans describe it. A row that moves
/// takes another slot's number, so a device leaves a slot's data in place. For one plan after the
/// other, call change_rows(), read_encodes() and read_entries() in this order; each result is
/// borrowed until the next call of the same function. Allocates nothing after it was made. Owner
/// only, except for tell().
class PlanReader {
 public:
  /// `encoder_pages`: pages that the device's encoder has for its own KV. They are used again in
  /// each step.
  PlanReader(const DeviceLimits& limits, std::int32_t encoder_pages);

  [[nodiscard]] std::int32_t slot_of(std::int32_t row) const {
    return slot_of_row_[static_cast<std::size_t>(row)];
  }
  [[nodiscard]] const SlotState& slot(std::int32_t index) const {
    return slots_[static_cast<std::size_t>(index)];
  }
  /// The tokens that are in the KV already where a sequence begins.
  [[nodiscard]] static std::span<const TokenId> history(const Plan& plan, const PlanStart& start);

  /// Reads moves, starts, page tables and adapters. Throws kUnfit if a plan names a place that the
  /// device does not have (DeviceLimits::adapter_places).
  void change_rows(const Plan& plan);

  /// The tables that change_rows() has changed, each slot once: an amended plan may set one entry
  /// twice, and the last value holds.
  [[nodiscard]] std::span<const SlotTable> tables() const noexcept { return tables_; }

  /// The adapter in each place; zeros: none, or one that is in another place by now.
  [[nodiscard]] std::span<const AdapterId> adapters() const noexcept { return adapters_; }

  /// The sequences that the encoder reads.
  std::span<const SlotTokens> read_encodes(const Plan& plan);

  /// Lets the device guess by this drafter from now on. Without one no guess is made, whatever
  /// plans allow.
  void use(std::unique_ptr<Drafter> drafter) { drafter_ = std::move(drafter); }

  /// What the decoder reads, in the order of Plan::entries. Slots that fork have their new state
  /// afterwards. An entry gets the guesses of the drafter, at most as many as the plan allows, and
  /// begins where its slot's tokens end. Throws kUnfit if a plan allows more guesses than the
  /// device verifies (DeviceLimits::guesses), if an entry would not begin where the plan says, or
  /// if its adapter is in no place.
  std::span<const SlotTokens> read_entries(const Plan& plan);

  /// `tokens.ids`, with the last token where these are empty.
  [[nodiscard]] std::span<const TokenId> known_ids(const SlotTokens& tokens) const;

  /// Rows of the step whose logits are wanted, each once.
  [[nodiscard]] std::span<const std::int32_t> outputs() const noexcept { return outputs_; }
  /// By output, which of its logits the choices need; where choices share an output, the most.
  [[nodiscard]] std::span<const LogitNeeds> needs() const noexcept { return needs_; }

  /// The choices, in the order of Plan::samples.
  [[nodiscard]] std::span<const SlotChoice> choices() const noexcept { return choices_; }

  /// The readings that read_entries() found.
  [[nodiscard]] std::span<const SlotReading> readings() const noexcept { return readings_; }

  /// Nothing is chosen for a slot in this step, of which `result` has been told, and until another
  /// sequence begins in it. `why` is not null.
  void fail(std::int32_t slot, const std::shared_ptr<const ChoiceFailure>& why, StepResult& result);

  /// Notes what another rank has chosen for a slot.
  void hear(std::int32_t slot, TokenId token) {
    slots_[static_cast<std::size_t>(slot)].last_token = token;
  }

  /// Pages to copy once the step has been computed, so that a fork has its own.
  std::span<const PlanCopy> forked_pages(const PlanFork& fork);

  /// Makes room for what choices() give.
  void begin_results(StepResult& result) const;

  /// Notes what choice `index` gave, and returns where its `top_count` most probable tokens go.
  /// Told again of the same choice, it notes that the next guess was right, and what is chosen
  /// behind it. Different choices may be told by different threads.
  std::span<TokenLogprob> tell(StepResult& result, std::size_t index, const SampleResult& chosen);

  /// The same for a sampler's outcome, whose most probable tokens are copied. `shift` is added to
  /// its logprobs: what logits that other ranks did not tell of make them less (join_parts()).
  void tell(StepResult& result, std::size_t index, const SampleOutcome& outcome, float shift);

  /// All choices have been told: takes out the room for what was not chosen, as guesses were wrong.
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
  std::vector<std::int32_t> table_of_slot_;  // which of tables_, or -1
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
  std::vector<TokenId> guesses_;           // rooms of the step's tasks_
  std::size_t guesses_wanted_ = 0;         // guesses that have rooms
  std::size_t guessed_ = 0;                // and made
  std::size_t results_ = 0;                // that choices_ give at most
};

}  // namespace weft
