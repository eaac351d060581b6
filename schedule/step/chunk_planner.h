#pragma once

#include <cstdint>
#include <optional>

#include "weft/core/time/clock.h"
#include "weft/schedule/running_groups.h"
#include "weft/schedule/scheduler_options.h"
#include "weft/schedule/step/decode_turns.h"
#include "weft/schedule/step/guess_policy.h"
#include "weft/schedule/step/step_time_model.h"
#include "weft/schedule/step/tick.h"

namespace weft {

/// Chooses how many tokens each running sequence feeds in a tick: one token of each decoding
/// sequence with the forced tokens behind it (Group::is_jump), then chunks of prompts, `chat`
/// before `batch`, within the step's tokens and time. It sets `Sequence::chunk`, gets the pages,
/// and counts the chunk in the tick's shape; a PlanWriter then writes the plan.
///
/// Invariants: a tick has at most step_tokens tokens, and as many of encoders' input. A
/// running sequence decodes at least every `decode_every` ticks. Of sequences with prompts,
/// the oldest of the better class gets at least kLeastChunk tokens a tick; all jumps together
/// get as many. Groups may give way while chunks are chosen; `Tick::shape` still counts their
/// chunks.
///
/// An encoder-only model reads each sequence whole (DeviceLimits::keeps_kv). Sequences join a
/// tick if they fit within the step's time; the first waiting sequence joins whatever its
/// time.
///
/// On a device of S stages, where S ticks run at once, decoding sequences take turns (DecodeTurns).
/// Each decodes every S ticks, so at least every S * `decode_every`, and a tick may take 1 / S of
/// `target_inter_token`. Pieces of one prompt may be in ticks that run at once.
///
/// Owns the model of a step's time, which learn() feeds. Owner only. Allocates nothing.
class ChunkPlanner {
 public:
  /// Prompt tokens that a tick takes whatever the time budget, and as many of jumps: reading the
  /// weights takes as long for one token as for these. It equals the default page size, but does
  /// not follow it, since pages of one token would make prompts crawl.
  static constexpr std::int32_t kLeastChunk = 16;
  /// Jumps need together at least one token for so many rows; otherwise sequences continue by one
  /// token a step. With fewer, steps of 32 rows took an H100 17 % longer for the same tokens, since
  /// a longer step is no recorded graph there and its products have more rows.
  static constexpr std::int32_t kRowsOfAJumpToken = 6;

  ChunkPlanner(const SchedulerOptions& options, RunningGroups& running);

  /// Bounds the time of later ticks, as far as prompts and jumps can be cut, in addition to
  /// `target_inter_token` and without the longer bound while no stream waits. None: no such bound.
  void set_budget(std::optional<Duration> budget) noexcept { budget_ = budget; }

  /// Chooses a token for each decoding sequence, unless decoding waits for prompts (decode_every).
  void choose_decodes(Tick& tick);
  /// Chooses chunks for sequences that compute known tokens, within the rest of the step.
  void choose_prefills(Tick& tick);

  /// The same only for sequences whose pages this plan brings from host memory; choose_prefills()
  /// leaves these sequences to the next plan.
  void choose_arriving(Tick& tick);

  /// Adds guesses behind the tokens of sequences that decode, as many as pay (GuessPolicy), the
  /// step and its time have room for, and spare pages are there for. Called when all else is
  /// chosen.
  void choose_guesses(Tick& tick);

  /// Whether a running group could compute known tokens of a prompt in this tick.
  [[nodiscard]] bool has_prompts(const Tick& tick) const;
  /// Whether a running group of `chat` could compute more than one token in this tick.
  [[nodiscard]] bool chat_has_prompts(const Tick& tick) const;

  /// Tells the model that a step of this shape took this long.
  void learn(const StepShape& shape, Duration took) { times_.learn(shape, took); }
  /// What became of guesses, for the next ones.
  [[nodiscard]] GuessPolicy& guesses() noexcept { return guesses_; }
  [[nodiscard]] const StepTimeModel& times() const noexcept { return times_; }

 private:
  /// The rest of a step, for prompts.
  struct Budget {
    std::int32_t tokens = 0;
    std::int32_t encoder_tokens = 0;
    std::int32_t room = 0;  ///< tokens that the step takes, whatever its time
  };
  /// How a pass over the running groups ended.
  enum class Pass : std::uint8_t {
    kComplete,
    kListChanged,  ///< groups gave way; another pass reaches the remaining groups
  };

  [[nodiscard]] std::int32_t tokens_to_feed(const Group& group, const Sequence& sequence,
                                            const Tick& tick) const;
  [[nodiscard]] bool computes_prompt(const Group& group, const Sequence& sequence,
                                     const Tick& tick) const;
  [[nodiscard]] Pass lengthen_jumps_in_order(Tick& tick, std::int32_t& room);
  [[nodiscard]] std::int32_t room_for_jumps(const Tick& tick) const;
  [[nodiscard]] Duration longest_step(bool streams_wait) const;
  [[nodiscard]] std::int32_t within_target(const Tick& tick, std::int32_t room, bool streams_wait,
                                           std::int64_t context, std::int32_t least) const;
  [[nodiscard]] bool decodes_wait(const Tick& tick);
  void give_turns(const Tick& tick);
  [[nodiscard]] Pass choose_decodes_in_order(Tick& tick);
  [[nodiscard]] Pass choose_prefills_in_order(RequestClass cls, Tick& tick, Budget& budget);
  [[nodiscard]] std::int32_t chunk_of(std::int32_t most, const Tick& tick,
                                      const Budget& budget) const;
  [[nodiscard]] ChunkRoom choose_prefill(Group& group, Sequence& sequence, Tick& tick,
                                         Budget& budget);
  [[nodiscard]] std::int32_t guesses_of(const Group& group, const Sequence& sequence) const;
  [[nodiscard]] std::int32_t drafts_of(const Sequence& sequence, std::int32_t most) const;
  [[nodiscard]] std::int32_t room_for_guesses(const Tick& tick, double each) const;
  [[nodiscard]] Budget prefill_budget(const Tick& tick) const;
  [[nodiscard]] std::int64_t context_of_next_prefill(const Tick& tick) const;

  const SchedulerOptions options_;
  RunningGroups& running_;
  DecodeTurns turns_;
  StepTimeModel times_;
  GuessPolicy guesses_;
  std::int32_t ticks_without_decode_ = 0;
  std::int32_t jump_tokens_ = 0;  // forced tokens that wait in the newest tick
  bool has_jumps_ = false;        // the newest tick has jumps
  bool feeds_arriving_ = false;
  std::optional<Duration> budget_;
};

}  // namespace weft
