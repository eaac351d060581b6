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

/// Chooses what each running sequence feeds in a tick: one token of each that decodes, with what
/// was put in behind it (Group::is_jump), then chunks of prompts, `chat` before `batch`, each as
/// far as the step's tokens and its time allow. A choice is `Sequence::chunk` with the pages for
/// it, and is counted in the tick's shape; a PlanWriter makes a plan of it.
///
/// What holds: the tokens chosen for a tick are at most the device's step_tokens, encoders' input
/// apart, which has as many of its own. A running sequence decodes at least every `decode_every`
/// ticks, and of those that compute prompts the oldest of the better class gets at least
/// kLeastChunk tokens a tick; so do, together, the jumps. Groups may give way while chunks are
/// chosen; `Tick::shape` still counts those that were chosen for them.
///
/// An encoder alone reads each sequence whole (DeviceLimits::keeps_kv): those go into a tick that
/// it has room for within the step's time, and of those that wait the first goes in whatever its
/// time.
///
/// On a device of S stages, where S ticks run at once, those that decode take turns (DecodeTurns):
/// each decodes every S ticks, so at least every S * `decode_every`, and a tick has the S-th part
/// of `target_inter_token`. Pieces of one prompt may be in ticks that run at once.
///
/// Owns the model of a step's time, which learn() feeds. Owner only. Allocates nothing.
class ChunkPlanner {
 public:
  /// Prompt tokens that a tick takes whatever the time budget says, and as many of jumps: a step of
  /// the weights' reading costs the same for one token as for these. It is the default page; where
  /// pages have another size it stays, as pages of one token would make prompts crawl.
  static constexpr std::int32_t kLeastChunk = 16;
  /// Jumps with fewer tokens together than one for so many rows go on by one token a step: where
  /// steps of 32 rows were made longer for less, an H100 took 17 % longer for the same tokens. Such
  /// a step is no recorded graph there, and its products have more rows.
  static constexpr std::int32_t kRowsOfAJumpToken = 6;

  ChunkPlanner(const SchedulerOptions& options, RunningGroups& running);

  /// The ticks from now on are to take no longer, as far as prompts and jumps can be cut: beside
  /// `target_inter_token`, and without its factor where no stream waits. None: no other bound.
  void set_budget(std::optional<Duration> budget) noexcept { budget_ = budget; }

  /// Chooses a token for each sequence that decodes, unless those wait for prompts (decode_every).
  void choose_decodes(Tick& tick);
  /// Chooses chunks for those that compute what is known, within what is left of the step.
  void choose_prefills(Tick& tick);

  /// The same for those alone whose pages come from host memory with this plan; choose_prefills()
  /// leaves them to the next one.
  void choose_arriving(Tick& tick);

  /// Adds guesses behind the tokens of sequences that decode, as many as pay (GuessPolicy), the
  /// step and its time have room for, and spare pages are there for. Called when all else is
  /// chosen.
  void choose_guesses(Tick& tick);

  /// Whether a running group could compute known tokens of a prompt in this tick.
  [[nodiscard]] bool has_prompts(const Tick& tick) const;
  /// Whether a running group of `chat` could compute more than one token in this tick.
  [[nodiscard]] bool chat_has_prompts(const Tick& tick) const;

  /// A step of this shape took this long.
  void learn(const StepShape& shape, Duration took) { times_.learn(shape, took); }
  /// What became of guesses, for the next ones.
  [[nodiscard]] GuessPolicy& guesses() noexcept { return guesses_; }
  [[nodiscard]] const StepTimeModel& times() const noexcept { return times_; }

 private:
  /// What is left of a step for prompts.
  struct Budget {
    std::int32_t tokens = 0;
    std::int32_t encoder_tokens = 0;
    std::int32_t room = 0;  ///< tokens that the step takes, whatever its time
  };
  /// How a pass over the running groups ended.
  enum class Pass : std::uint8_t {
    kComplete,
    kListChanged,  ///< groups gave way; another pass finds whom this one did not reach
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
  [[nodiscard]] std::int32_t room_for_guesses(const Tick& tick, double each) const;
  [[nodiscard]] Budget prefill_budget(const Tick& tick) const;
  [[nodiscard]] std::int64_t context_of_next_prefill(const Tick& tick) const;

  const SchedulerOptions options_;
  RunningGroups& running_;
  DecodeTurns turns_;
  StepTimeModel times_;
  GuessPolicy guesses_;
  std::int32_t ticks_without_decode_ = 0;
  std::int32_t jump_tokens_ = 0;  // of the newest tick, that wait behind the first ones
  bool has_jumps_ = false;        // and have got some
  bool feeds_arriving_ = false;
  std::optional<Duration> budget_;
};

}  // namespace weft
