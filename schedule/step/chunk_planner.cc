#include "weft/schedule/step/chunk_planner.h"

#include <algorithm>

namespace weft {
namespace {

// If no stream waits for its next token, a step may take this many times the target: longer chunks
// use the device better, and a request that arrives meanwhile waits no longer than this.
constexpr std::int32_t kNobodyWaits = 4;

/// Whether feeding so many tokens is decoding: the newest token, or a jump.
bool decodes(const Group& group, const Sequence& sequence, std::int32_t feeds) {
  return group.phase == GroupPhase::kForked &&
         (feeds == 1 || group.is_jump(sequence, sequence.progress.planned(), feeds));
}

/// Whether the output may get another token after the pending results.
bool wants_more(const Group& group, const Sequence& sequence) {
  const auto outputs = static_cast<std::int32_t>(sequence.outputs.size());
  return outputs + sequence.under_way.results() < group.spec.max_tokens;
}

/// Whether the output has room for one more token even if all planned guesses are right.
bool has_room_for_next(const Group& group, const Sequence& sequence) {
  return sequence.progress.planned() < group.spec.most_kept_tokens();
}

/// Whether the sequence decodes now or, as far as is known, after the steps in flight.
bool goes_on(const Group& group, const Sequence& sequence) {
  if (sequence.row < 0) return false;
  if (sequence.under_way.results() == 0) {
    return decodes(group, sequence, sequence.progress.to_plan());
  }
  return wants_more(group, sequence);
}

}  // namespace

/// How many tokens the sequence could feed in a tick: its known tokens that no plan computes, or
/// else the token that an earlier step will give, if that step is as many ticks ago as there are
/// stages.
std::int32_t ChunkPlanner::tokens_to_feed(const Group& group, const Sequence& sequence,
                                          const Tick& tick) const {
  const UnderWay& under_way = sequence.under_way;
  if (sequence.row < 0 || under_way.last_tick() == tick.plan.tick) return 0;
  if (running_.is_arriving(sequence) && !feeds_arriving_) return 0;
  const Progress& progress = sequence.progress;
  if (group.phase == GroupPhase::kPrompt && group.alive > 1) {
    return &group.leader() == &sequence ? group.prompt_tokens() - progress.planned() : 0;
  }
  if (progress.to_plan() > 0) return progress.to_plan();
  const bool next_is_coming =
      progress.surely_planned() == progress.known() && under_way.results() == 1 &&
      tick.plan.tick >= under_way.last_tick() + static_cast<std::uint64_t>(options_.limits.stages);
  // A beam's next token is known only after the step.
  return next_is_coming && !group.beams && has_room_for_next(group, sequence) ? 1 : 0;
}

ChunkPlanner::ChunkPlanner(const SchedulerOptions& options, RunningGroups& running)
    : options_(options), running_(running), turns_(options.limits), guesses_(options.limits.rows) {}

void ChunkPlanner::choose_decodes(Tick& tick) {
  has_jumps_ = false;
  jump_tokens_ = 0;
  if (decodes_wait(tick)) return;
  if (options_.limits.stages > 1) give_turns(tick);
  while (choose_decodes_in_order(tick) == Pass::kListChanged) {
  }
  if (jump_tokens_ == 0 || jump_tokens_ * kRowsOfAJumpToken < tick.shape.decode_tokens) return;
  std::int32_t room = room_for_jumps(tick);
  while (lengthen_jumps_in_order(tick, room) == Pass::kListChanged) {
  }
}

/// Whether decoding waits in this tick, in which prompts go first; counts these ticks.
bool ChunkPlanner::decodes_wait(const Tick& tick) {
  const auto has_prompt = [&](const Group* group) {
    return group->phase == GroupPhase::kPrompt &&
           std::ranges::any_of(group->sequences, [&](const Sequence& sequence) {
             return tokens_to_feed(*group, sequence, tick) > 0;
           });
  };
  const bool prompts_go_first =
      options_.decode_every > 1 && std::ranges::any_of(running_.all(), has_prompt);
  if (prompts_go_first && ++ticks_without_decode_ < options_.decode_every) return true;
  ticks_without_decode_ = 0;
  return false;
}

/// Decides which sequences decode in a tick of a device with several stages.
void ChunkPlanner::give_turns(const Tick& tick) {
  turns_.begin(tick.plan.tick);
  for (const Group* const group : running_.all()) {
    if (group->phase != GroupPhase::kForked) continue;
    for (const Sequence& sequence : group->sequences) {
      if (!goes_on(*group, sequence)) continue;
      turns_.add(sequence.under_way.last_tick(),
                 decodes(*group, sequence, tokens_to_feed(*group, sequence, tick)));
    }
  }
  turns_.share_out();
}

/// Passes over those that have a chunk already.
ChunkPlanner::Pass ChunkPlanner::choose_decodes_in_order(Tick& tick) {
  for (Group* const group : running_.all()) {
    if (group->phase != GroupPhase::kForked) continue;
    for (Sequence& sequence : group->sequences) {
      const std::int32_t feeds = tokens_to_feed(*group, sequence, tick);
      if (sequence.chunk > 0 || !decodes(*group, sequence, feeds)) continue;
      if (options_.limits.stages > 1 && !turns_.take(sequence.under_way.last_tick())) continue;
      jump_tokens_ += feeds - 1;
      sequence.chunk = 1;
      const ChunkRoom room = running_.make_room_for_chunk(*group, sequence);
      if (room != ChunkRoom::kNone) {
        ++tick.shape.decode_tokens;
        tick.shape.context_tokens +=
            attended_tokens(options_.limits.window, sequence.progress.planned(), 1);
      }
      if (room != ChunkRoom::kFree) return Pass::kListChanged;
    }
  }
  return Pass::kComplete;
}

/// Adds forced tokens to decoding sequences, as far as there is room. Skips sequences that have
/// some already.
ChunkPlanner::Pass ChunkPlanner::lengthen_jumps_in_order(Tick& tick, std::int32_t& room) {
  for (Group* const group : running_.all()) {
    for (Sequence& sequence : group->sequences) {
      if (room == 0) return Pass::kComplete;
      if (sequence.chunk != 1) continue;
      const std::int32_t feeds = tokens_to_feed(*group, sequence, tick);
      if (feeds == 1 || !decodes(*group, sequence, feeds)) continue;
      const std::int32_t more = std::min(feeds - 1, room);
      sequence.chunk += more;
      const ChunkRoom pages = running_.make_room_for_chunk(*group, sequence);
      if (pages != ChunkRoom::kNone) {
        has_jumps_ = true;
        room -= more;
        --tick.shape.decode_tokens;
        tick.shape.prefill_tokens += 1 + more;
        tick.shape.context_tokens += more;
      }
      if (pages != ChunkRoom::kFree) return Pass::kListChanged;
    }
  }
  return Pass::kComplete;
}

/// The room for jumps, in tokens and time, after each row has a token: jumps wait rather than rows,
/// and are cut like prompts.
std::int32_t ChunkPlanner::room_for_jumps(const Tick& tick) const {
  const std::int32_t room =
      options_.limits.step_tokens - options_.limits.rows - tick.shape.prefill_tokens;
  const bool others_wait = tick.shape.decode_tokens > 1 || turns_.decoding() > 1;
  return within_target(tick, std::max(room, 0), others_wait, 0, kLeastChunk);
}

/// How long a tick may take, as far as prompts can be cut.
Duration ChunkPlanner::longest_step(bool streams_wait) const {
  Duration longest = Duration::max();
  if (options_.target_inter_token > Duration{0}) {
    const std::int32_t times = streams_wait ? 1 : kNobodyWaits;
    // Ticks that run at the same time delay each other's streams.
    longest = times * options_.target_inter_token / options_.limits.stages;
  }
  return budget_ ? std::min(longest, *budget_) : longest;
}

/// How many of `room` tokens, which attend to `context` tokens, can join the tick so
/// that it takes no longer than streams may wait; at least `least`, if there is
/// room.
std::int32_t ChunkPlanner::within_target(const Tick& tick, std::int32_t room, bool streams_wait,
                                         std::int64_t context, std::int32_t least) const {
  const Duration target = longest_step(streams_wait);
  if (target == Duration::max()) return room;
  const StepShape& shape = tick.shape;
  const StepShape without{shape.decode_tokens, 0, shape.context_tokens + context};
  const std::int32_t within =
      times_.prefill_tokens_within(target, without, room + shape.prefill_tokens) -
      shape.prefill_tokens;
  return std::min(room, std::max(within, least));
}

void ChunkPlanner::choose_prefills(Tick& tick) {
  Budget budget = prefill_budget(tick);
  for (const RequestClass cls : kRequestClasses) {
    while (choose_prefills_in_order(cls, tick, budget) == Pass::kListChanged) {
    }
  }
}

void ChunkPlanner::choose_arriving(Tick& tick) {
  feeds_arriving_ = true;
  choose_prefills(tick);
  feeds_arriving_ = false;
}

/// Passes over those that have a chunk already.
ChunkPlanner::Pass ChunkPlanner::choose_prefills_in_order(RequestClass cls, Tick& tick,
                                                          Budget& budget) {
  for (Group* const group : running_.all()) {
    if (budget.tokens <= 0) break;
    if (group->cls != cls) continue;
    const auto input = static_cast<std::int32_t>(group->spec.encoder_input.size());
    if (!group->encoded && input > budget.encoder_tokens) continue;
    for (Sequence& sequence : group->sequences) {
      if (sequence.chunk > 0 || budget.tokens <= 0) continue;
      if (choose_prefill(*group, sequence, tick, budget) != ChunkRoom::kFree) {
        return Pass::kListChanged;
      }
    }
  }
  return Pass::kComplete;
}

void ChunkPlanner::choose_guesses(Tick& tick) {
  StepShape& shape = tick.shape;
  if (options_.limits.guesses == 0 || shape.decode_tokens == 0) return;
  if (budget_ && *budget_ <= Duration::zero()) return;
  // Prompts in the step are computed with guesses or without.
  const GuessTimes times = times_.guess_times(
      {.decode_tokens = shape.decode_tokens, .context_tokens = shape.context_tokens});
  tick.guess_costs =
      guesses_.begin({.step = times.step, .guess = times.guess, .rows = shape.decode_tokens});
  for (Group* const group : running_.all()) {
    for (Sequence& sequence : group->sequences) {
      const std::int32_t most = guesses_of(*group, sequence);
      if (most > 0) guesses_.add(sequence, most, drafts_of(sequence, most));
    }
  }
  for (const GuessPolicy::Choice& choice :
       guesses_.share_out(room_for_guesses(tick, times.guess + guesses_.draft_time()))) {
    if (choice.guesses == 0) continue;
    Sequence& sequence = *choice.sequence;
    sequence.guesses = running_.make_room_for_guesses(sequence, choice.guesses);
    sequence.drafts = std::min(choice.drafts, sequence.guesses);
    sequence.chunk += sequence.guesses;
    shape.guess_tokens += sequence.guesses;
    shape.context_tokens += sequence.guesses;
  }
}

/// Returns how many guesses the step and its time have room for, each of which is predicted to take
/// `each` nanoseconds.
std::int32_t ChunkPlanner::room_for_guesses(const Tick& tick, double each) const {
  const StepShape& shape = tick.shape;
  const std::int32_t room =
      std::max(options_.limits.step_tokens - shape.decode_tokens - shape.prefill_tokens, 0);
  const Duration target = longest_step(true);
  if (target == Duration::max() || each <= 0) return room;
  const auto time = static_cast<double>((target - times_.predict(shape)).count());
  const double left = std::max(time, 0.0) / each;
  return left < room ? static_cast<std::int32_t>(left) : room;
}

/// How many guesses the sequence may have in the plan in the making. None where a reader looks
/// at each computed token, or a constraint puts in text; and none where a beam search or a logit
/// processor of the application wants each position's logits, whatever becomes of the guess there;
/// nor where the device could not choose behind a guess (GroupSpec::may_guess).
std::int32_t ChunkPlanner::guesses_of(const Group& group, const Sequence& sequence) const {
  const Progress& progress = sequence.progress;
  const bool decodes_one = group.phase == GroupPhase::kForked && sequence.chunk == 1 &&
                           progress.to_plan() <= 1 && group.spec.generates();
  if (!decodes_one || !group.spec.may_guess(options_.limits) || sequence.forced) return 0;
  const auto behind =
      static_cast<std::int32_t>(group.spec.most_kept_tokens()) - (progress.planned() + 1);
  return std::min({options_.limits.guesses, group.spec.most_guesses, behind});
}

/// Returns how many of `most` guesses a draft model may make. It reads the sequence up to its
/// newest token, and each guess but the last. Beyond its context it makes none, so a try would only
/// take room and credit.
std::int32_t ChunkPlanner::drafts_of(const Sequence& sequence, std::int32_t most) const {
  const std::int32_t newest = sequence.progress.surely_planned();  // its position, at the least
  return std::clamp(options_.limits.draft_context - newest, 0, most);
}

/// How many of `most` tokens fit into the tick.
std::int32_t ChunkPlanner::chunk_of(std::int32_t most, const Tick& tick,
                                    const Budget& budget) const {
  if (options_.limits.keeps_kv) return std::min(most, budget.tokens);
  const bool first = tick.shape.decode_tokens + tick.shape.prefill_tokens == 0;
  return most <= (first ? budget.room : budget.tokens) ? most : 0;
}

/// Chooses a chunk for a sequence without one, if it computes known tokens.
ChunkRoom ChunkPlanner::choose_prefill(Group& group, Sequence& sequence, Tick& tick,
                                       Budget& budget) {
  const std::int32_t most = tokens_to_feed(group, sequence, tick);
  if (most == 0 || decodes(group, sequence, most)) return ChunkRoom::kFree;
  const std::int32_t chunk = running_.cut_chunk(group, sequence, chunk_of(most, tick, budget));
  if (chunk == 0) return ChunkRoom::kFree;
  sequence.chunk = chunk;
  const ChunkRoom room = running_.make_room_for_chunk(group, sequence);
  if (room == ChunkRoom::kNone) return room;
  budget.tokens -= chunk;
  tick.shape.prefill_tokens += chunk;
  tick.shape.context_tokens +=
      attended_tokens(options_.limits.window, sequence.progress.planned(), chunk);
  if (!group.encoded) {
    const auto input = static_cast<std::int32_t>(group.spec.encoder_input.size());
    budget.encoder_tokens -= input;
    budget.tokens -= input;
    tick.shape.prefill_tokens += input;
  }
  return room;
}

ChunkPlanner::Budget ChunkPlanner::prefill_budget(const Tick& tick) const {
  const StepShape& shape = tick.shape;
  const std::int32_t taken = shape.decode_tokens + shape.prefill_tokens + shape.guess_tokens;
  const std::int32_t most = options_.limits.step_tokens;
  Budget budget{most - taken, most, most - taken};
  for (const PlanEncode& one : tick.plan.encodes) budget.encoder_tokens -= one.count;
  const bool streams_wait = shape.decode_tokens > 0 || has_jumps_ || turns_.decoding() > 0;
  budget.tokens =
      within_target(tick, budget.tokens, streams_wait, context_of_next_prefill(tick), kLeastChunk);
  return budget;
}

/// Returns the context of the first sequence that would compute a prompt, which gets most of a
/// step's prefill.
std::int64_t ChunkPlanner::context_of_next_prefill(const Tick& tick) const {
  for (const RequestClass cls : kRequestClasses) {
    for (const Group* group : running_.all()) {
      if (group->cls != cls) continue;
      for (const Sequence& sequence : group->sequences) {
        if (sequence.chunk == 0 && computes_prompt(*group, sequence, tick)) {
          return attended_tokens(options_.limits.window, sequence.progress.planned(), 0);
        }
      }
    }
  }
  return 0;
}

bool ChunkPlanner::has_prompts(const Tick& tick) const {
  return std::ranges::any_of(running_.all(), [&](const Group* group) {
    return std::ranges::any_of(group->sequences, [&](const Sequence& sequence) {
      const std::int32_t feeds = tokens_to_feed(*group, sequence, tick);
      return feeds > 0 && !decodes(*group, sequence, feeds);
    });
  });
}

bool ChunkPlanner::chat_has_prompts(const Tick& tick) const {
  return std::ranges::any_of(running_.all(), [&](const Group* group) {
    return group->cls == RequestClass::kChat &&
           std::ranges::any_of(group->sequences, [&](const Sequence& sequence) {
             return computes_prompt(*group, sequence, tick);
           });
  });
}

bool ChunkPlanner::computes_prompt(const Group& group, const Sequence& sequence,
                                   const Tick& tick) const {
  const std::int32_t feeds = tokens_to_feed(group, sequence, tick);
  return feeds > 1 && !decodes(group, sequence, feeds);
}

}  // namespace weft
