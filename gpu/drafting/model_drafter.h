#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/token.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/step.h"
#include "weft/gpu/step_device.h"
#include "weft/sampling/drafters/draft_times.h"
#include "weft/sampling/drafters/drafter.h"

namespace weft {

/// Guesses by a draft model: a smaller model of the same vocabulary, which continues each sequence
/// (Leviathan et al., arXiv 2211.17192). A step of the draft model guesses one token of each
/// sequence. It draws a guess as the model draws the token there (GuessTask::draws), by the same
/// random number, so the two tokens are the same where the two models nearly agree. The guess is a
/// function of the text, the seed and the position, and is verified like the guesses of any
/// drafter: by the token that the model chooses.
///
/// It has a drafter for look-ups beside it. A look-up with a long match speaks first, since it
/// takes no time; a shorter match speaks where the draft model may not guess, or is not ready.
///
/// The draft model has its own KV cache: one page for each page of the model, with the same number,
/// so page tables, shared prompts and preemption are the model's. The drafter notes which tokens
/// each page was written by. So a sequence whose pages an earlier sequence has left finds what the
/// draft model had computed there.
///
/// The draft model reads a sequence only once guesses of it are wanted (GuessTask::drafts), and at
/// most kReadTokens tokens in a step, so a long prompt takes several steps until the first guess.
///
/// Takes a slot's memory for the first sequence in it, and keeps it. Owner only, on the thread that
/// runs the device's steps. What the draft model's step throws is thrown; the next guess_all()
/// reads the tokens of that step again.
class ModelDrafter final : public Drafter {
 public:
  /// Tokens that the draft model reads in a step, besides the newest tokens of the sequences that
  /// it guesses for. With a draft model of a tenth of the model's size, reading them makes a step
  /// about half as long again.
  static constexpr std::int32_t kReadTokens = 32;
  /// Tokens that must match for a look-up to speak before the draft model.
  static constexpr std::size_t kLongMatch = 8;

  /// Returns DeviceLimits::draft_context of a device with these limits: the most tokens that the
  /// draft model is fed of a sequence.
  [[nodiscard]] static std::int32_t context_for(const Program& draft, const DeviceLimits& limits);
  /// Returns the options of the draft model's device, beside a device with these limits.
  [[nodiscard]] static DeviceOptions options_for(const Program& draft, const DeviceLimits& limits,
                                                 DType kv_dtype, int threads);
  /// Returns the bytes that a drafter takes beside the draft model's device.
  [[nodiscard]] static std::int64_t bytes(const DeviceLimits& limits);

  /// `draft` was made with options_for(`limits`). `look_ups` may be null.
  ModelDrafter(std::unique_ptr<ModelDevice> draft, const DeviceLimits& limits,
               std::unique_ptr<Drafter> look_ups);

  void start(std::int32_t slot, std::span<const TokenId> tokens, std::size_t prompt_tokens,
             const DraftSources& sources) override;
  void observe(std::int32_t slot, std::span<const TokenId> tokens) override;
  void fork(std::int32_t from, std::int32_t to) override;
  /// Looks up alone: the draft model guesses for a whole step.
  [[nodiscard]] Draft guess(std::int32_t slot, std::span<TokenId> guesses) override;
  void guess_all(std::span<GuessTask> tasks) override;
  [[nodiscard]] DraftTimes took() const noexcept override { return took_; }

 private:
  struct Slot {
    std::vector<TokenId> tokens{};
    /// The tokens whose keys and values the draft model has, from the first on: some of `tokens`,
    /// and guesses behind them.
    std::vector<TokenId> read{};
    std::vector<std::int32_t> pages{};    // in which they lie
    std::vector<std::uint64_t> chains{};  // a hash per full page, of all tokens to its end
    std::size_t noted = 0;                // full pages whose chain is in chain_of_page_
    bool is_readable = true;              // no token is unknown to the draft model
  };

  [[nodiscard]] Slot& at(std::int32_t slot) { return slots_[static_cast<std::size_t>(slot)]; }
  void begin(Slot& slot) const;
  [[nodiscard]] bool can_draft(const GuessTask& task);
  void find_pages(Slot& slot, std::span<const std::int32_t> pages);
  void note_pages(Slot& slot);
  [[nodiscard]] bool claim(std::int32_t slot, std::size_t tokens);
  void begin_step();
  void begin_model_step();
  void read();
  void draft();
  void feed(std::int32_t slot, std::span<const TokenId> ids);
  void run(std::span<const std::int32_t> outputs);
  [[nodiscard]] TokenId drawn(std::int64_t row, const GuessTask& task);

  std::unique_ptr<ModelDevice> draft_;
  std::unique_ptr<Drafter> look_ups_;
  const std::size_t page_tokens_;
  const std::size_t context_;   // the draft model's
  const std::size_t capacity_;  // tokens of a slot
  const std::int64_t shared_vocabulary_;
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> chain_of_page_;  // 0: other tokens
  std::vector<std::int32_t> claimed_by_;      // the slot that writes a page in this step, or -1
  std::vector<std::int32_t> claims_;
  DraftTimes took_;

  // The step under way.
  std::vector<GuessTask*> drafted_;    // sequences for which the draft model guesses
  std::vector<std::int32_t> readers_;  // slots whose sequences it reads first
  std::vector<TokenId> ids_;
  std::vector<StepSequence> sequences_;
  std::vector<std::int32_t> fed_;  // by sequence: its slot
  std::vector<std::int32_t> outputs_;
  std::vector<std::uint64_t> draw_scratch_;  // [2 V]
};

}  // namespace weft
