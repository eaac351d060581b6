#include "weft/schedule/scheduler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/schedule/beam_step.h"

namespace weft {
namespace {

bool is_empty(const StepShape& shape) { return shape.decode_tokens + shape.prefill_tokens == 0; }

/// Returns the results of the PlanSample whose first result is at `first`.
std::span<const SampleResult> results_from(const StepResult& step, std::size_t first) {
  std::size_t end = first;
  while (step.samples.at(end++).more) {
  }
  return std::span(step.samples).subspan(first, end - first);
}

/// Returns the entry whose logits choose the plan's sample of this index.
const PlanEntry& entry_of(const Plan& plan, std::size_t sample) {
  return plan.entries[static_cast<std::size_t>(plan.samples[sample].entry)];
}

std::span<const TokenLogprob> top_of(const SampleResult& result, const StepResult& step) {
  return std::span(step.top).subspan(static_cast<std::size_t>(result.first_top),
                                     static_cast<std::size_t>(result.top_count));
}

/// The fewest forced tokens worth a jump: the step in flight would choose the first anyway.
constexpr std::size_t kLeastJump = 2;

/// Whether forced text may be inserted: not if the application sees each choice, if lists of
/// tokens restrict choices, or if choices depend on earlier choices by more than their
/// tokens.
bool may_jump_ahead(const GroupSpec& spec) {
  const SamplingParams& sampling = *spec.sampling;
  return sampling.constraint != nullptr && sampling.logit_processor == nullptr &&
         spec.reader == nullptr && !spec.beams() && !sampling.logprobs &&
         sampling.top_logprobs == 0 && sampling.mirostat.version == 0 &&
         sampling.logit_bias.empty() && sampling.bad_tokens.empty() &&
         sampling.allowed_tokens.empty() && sampling.stop_tokens.empty();
}

/// Whether a hook of the application has thrown, which ends the whole request. A beam whose logits
/// are NaN merely has no candidates.
bool has_thrown(const SampleResult& result) {
  return result.failure && result.failure->cause != ChoiceFailure::Cause::kNotNumbers;
}

/// Notes a result that counts for the sequence, `right` of whose `guesses` are right.
void note_result(Sequence& sequence, std::int32_t guesses, std::int32_t right) {
  sequence.under_way.take_result();
  sequence.progress.resolve(guesses, right);
  sequence.progress.verify();
}

/// Raises internal_error if a sequence's Progress contradicts its tokens or itself.
void check_progress(const Group& group, const Sequence& sequence) {
  const Progress& progress = sequence.progress;
  const std::size_t known = group.spec.prompt.size() + sequence.outputs.size();
  if (std::cmp_not_equal(progress.known(), known)) internal_error("known tokens are miscounted");
  if (progress.verified() > progress.known() || progress.verified() > progress.surely_planned()) {
    internal_error("tokens are verified that nobody has computed");
  }
}

/// Returns how many guesses a draft model made.
std::int32_t drafted_in(const StepResult& result) {
  std::int32_t made = 0;
  for (const SampleResult& one : result.samples) {
    if (one.source == GuessSource::kModel) made += one.guessed;
  }
  return made;
}

/// Whether the sequence's newest token is its last.
SequenceEnd end_at_newest(const Group& group, const Sequence& sequence) {
  if (std::ranges::binary_search(group.spec.end_tokens, sequence.outputs.back())) {
    return SequenceEnd::kStop;
  }
  const bool full = std::cmp_greater_equal(sequence.outputs.size(), group.spec.max_tokens);
  return full ? SequenceEnd::kLength : SequenceEnd::kNone;
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, SchedulerListener& listener)
    : listener_(listener),
      page_bytes_(options.page_bytes),
      jumps_ahead_(options.jump_ahead),
      longest_step_(options.target_inter_token / std::max(options.limits.stages, 1)),
      rows_(options.limits.rows),
      memory_(clock_, options.limits, options.layout, options.cache),
      adapters_(clock_, options.limits.adapter_places),
      waiting_(adapters_),
      running_(options.limits, options.admission, rows_, memory_, adapters_, waiting_),
      chunks_(options, running_),
      swaps_(chunks_.times(), options.limits),
      leaders_(options, memory_, running_, chunks_.times()),
      training_(options.training),
      admission_(options, rows_, memory_, adapters_, waiting_, running_, leaders_,
                 use_files(options) ? &*fetches_ : nullptr, &training_),
      writer_(options.limits, rows_, memory_),
      amender_(options.limits, rows_, groups_, running_) {
  memory_.finder().use(swaps_);
}

/// Whether pages are kept in files.
bool Scheduler::use_files(const SchedulerOptions& options) {
  // Files hold only pages, and models with a state need a snapshot to continue from pages.
  if (options.files == nullptr || options.limits.has_state() || !memory_.pages().keeps()) {
    return false;
  }
  saver_.emplace(clock_, memory_.copies(), options.files, options.limits.pages,
                 memory_.pages().tiers().others());
  fetches_.emplace(clock_, *saver_, memory_, chunks_.times(), options.limits);
  memory_.pages().use(*saver_, [this] { fetches_->cancel_all(); });
  return true;
}

void Scheduler::submit(std::unique_ptr<Group> group, TimePoint now) {
  Group& one = groups_.add(std::move(group));
  one.make_sequences();
  if (jumps_ahead_ && may_jump_ahead(one.spec)) {
    for (Sequence& sequence : one.sequences)
      sequence.forced = one.spec.sampling->constraint->follow();
  }
  arrived_ = true;
  waiting_.arrive(one, now);
}

void Scheduler::end(Group& group, GroupEnd how, const Error& error) {
  if (group.done) return;
  finish(group, how, error);
}

void Scheduler::end_sequence(Group& group, std::int32_t sequence) {
  Sequence& one = group.sequences[static_cast<std::size_t>(sequence)];
  if (group.done || one.ended()) return;
  finish_sequence(group, one, SequenceEnd::kStop);
}

bool Scheduler::plan(TimePoint now, Tick& tick, std::optional<Duration> budget) {
  tick.clear();
  clock_.begin_plan();
  tick.plan.tick = clock_.making();
  note_seen();
  memory_.prefixes().offer();
  chunks_.set_budget(budget);
  chunks_.choose_decodes(tick);
  admit(now, nullptr);
  chunks_.choose_prefills(tick);
  // The prompt for which decoding was to wait may have given way.
  if (is_empty(tick.shape)) chunks_.choose_decodes(tick);
  // Otherwise no sequence would compute while pages come from host memory.
  if (is_empty(tick.shape)) chunks_.choose_arriving(tick);
  // Loads of adapters are work of their own.
  const bool loads = adapters_.begin_loads();
  const bool computes = !is_empty(tick.shape);
  if (computes) chunks_.choose_guesses(tick);
  // A load's result is not to wait for an iteration of training.
  if (!loads) choose_training(now, tick);
  const bool stops = !computes && !loads && is_awaited() && training_.interrupt();
  const bool has_work = computes || loads || stops || tick.plan.training_pieces > 0;
  if (has_work) clock_.write();
  memory_.prefixes().settle_offers();
  if (!has_work) return false;
  writer_.write(tick);
  adapters_.write(tick.plan);
  amender_.note_planned();
  return true;
}

void Scheduler::amend(TimePoint now, Tick& tick) {
  clock_.begin_amending(tick.plan.tick);
  amender_.drop_stale(tick);
  admit(now, &tick);
  amender_.drop_stale(tick);  // groups may have given way for places of adapters
  if (chunks_.has_prompts(tick)) amender_.take_back_guesses(tick);
  if (chunks_.chat_has_prompts(tick)) amender_.withdraw_batch_prompts(tick);
  chunks_.choose_prefills(tick);
  amender_.drop_stale(tick);
  writer_.write_more(tick);
  const bool loads = adapters_.begin_loads();
  adapters_.write(tick.plan);
  tick.plan.training_pieces = 0;
  if (!loads && tick.plan.adapters.empty()) choose_training(now, tick);
  clock_.write();
  note_seen();
}

/// Gives the plan its training, once all else is chosen.
void Scheduler::choose_training(TimePoint now, Tick& tick) {
  TrainingPolicy::PlanState state{.plan = tick.plan.tick, .computes = !is_empty(tick.shape)};
  state.batch_is_empty = running_.empty();
  state.is_awaited = is_awaited();
  if (const auto since = oldest_wait()) state.longest_wait = now - *since;
  if (longest_step_ > Duration{}) state.left = longest_step_ - chunks_.times().predict(tick.shape);
  tick.plan.training_pieces = training_.choose(state, now);
}

void Scheduler::train(std::uint64_t task, TimePoint now) {
  const bool had_task = training_.has_task();
  training_.set_task(task, now);
  // Groups that waited for it can begin.
  if (had_task && task == 0) arrived_ = true;
}

/// Whether no group runs, and one that does not wait for training waits for something else, such as
/// pages from files.
bool Scheduler::is_awaited() const noexcept {
  return running_.empty() && !waiting_.empty() && !defers_;
}

std::optional<TimePoint> Scheduler::oldest_wait() const noexcept {
  const Group* const oldest = waiting_.oldest();
  if (oldest == nullptr) return {};
  return oldest->waits_since;
}

/// Whether the oldest new group waited for training when the last plan was made, and does not any
/// more.
bool Scheduler::stops_waiting(TimePoint now) const noexcept {
  const Group* const oldest = waiting_.oldest();
  return defers_ && oldest != nullptr && training_.joins(oldest->waits_since, now);
}

void Scheduler::note_seen() noexcept {
  arrived_ = false;
  releases_seen_ = rows_.releases();
}

/// Begins all groups that may begin, in their order; in the amended plan, if there is one.
void Scheduler::admit(TimePoint now, Tick* amended) {
  save_pages();  // pages that ended groups have left
  if (fetches_) fetches_->advance(now);
  const Group* const oldest = waiting_.oldest();
  looked_at_ = now;
  defers_ = oldest != nullptr && !training_.joins(oldest->waits_since, now);
  if (!admission_.is_open(now)) return;
  for (const RequestClass cls : kRequestClasses) {
    for (;;) {
      const AdmissionChoice next = admission_.choose(cls, now);
      // Places are made also while a group waits for rows or pages: loads take their time
      // meanwhile.
      if (next.blocked) return make_places();
      if (next.group == nullptr) break;
      make_room(*next.group);
      begin(*next.group, amended);
    }
    make_places();
  }
}

/// Lets `batch` groups give way whose adapters' places chat groups get.
void Scheduler::make_places() {
  for (std::size_t i = running_.all().size(); i-- > 0;) {
    Group& group = *running_.all()[i];
    if (adapters_.gives_way(group)) running_.preempt(group);
  }
}

/// Lets `batch` groups give way until the chosen group fits.
void Scheduler::make_room(const Group& group) {
  while (!admission_.fits(group)) {
    Group* const other = running_.victim(group);
    if (other == nullptr || other->cls != RequestClass::kBatch) {
      internal_error("all of batch gave way, and who was to fit then does not");
    }
    running_.preempt(*other);
  }
}

void Scheduler::begin(Group& group, Tick* amended) {
  // The amended plan may name rows and pages of the groups that gave way.
  if (amended != nullptr) amender_.drop_stale(*amended);
  running_.begin(group);
  PageFetches::begun(group);
  listener_.on_begin(group);
}

void Scheduler::complete(const Tick& tick) {
  // A draft model's time is no part of what a step of this shape takes.
  const DraftTimes& drafting = tick.result.drafting;
  const Duration took = std::max(tick.result.took - drafting.total(), Duration{});
  if (!is_empty(tick.shape)) chunks_.learn(shape_that_ran(tick), took);
  chunks_.guesses().note_drafting(tick.guess_costs, drafting, drafted_in(tick.result));
  swaps_.learn(tick.result.swapped, tick.result.swapping);
  training_.take(tick.plan.tick, tick.result.training);
  clock_.run(tick.plan.tick);
  if (adapters_.take(tick)) arrived_ = true;
  std::size_t first = 0;
  for (std::size_t i = 0; i < tick.owners.size(); ++i) {
    const std::span<const SampleResult> results = results_from(tick.result, first);
    take_results(tick, i, results);
    first += results.size();
  }
  for (const SampleOwner& owner : tick.computed) take_computed(owner);
  save_pages();
}

void Scheduler::save_pages() {
  if (saver_) saver_->advance();
}

std::optional<TimePoint> Scheduler::wake_at() const {
  std::optional<TimePoint> next = admission_.opens_at();
  const auto add = [&next](std::optional<TimePoint> when) {
    if (when && (!next || *when < *next)) next = when;
  };
  if (fetches_) add(fetches_->looks_again_at());
  const Group* const oldest = waiting_.oldest();
  if (defers_ && oldest != nullptr) add(training_.joins_at(oldest->waits_since, looked_at_));
  return next;
}

/// Ends a sequence for which no token is chosen: its prompt is computed.
void Scheduler::take_computed(const SampleOwner& owner) {
  Group& group = *owner.group;
  Sequence& sequence = group.sequences[static_cast<std::size_t>(owner.sequence)];
  if (!group.done && sequence.under_way.serial() == owner.serial) {
    note_result(sequence, 0, 0);
    memory_.prefixes().keep(group, sequence);
    finish_sequence(group, sequence, SequenceEnd::kStop);
  }
  groups_.settle_result(group);
}

void Scheduler::take_results(const Tick& tick, std::size_t index,
                             std::span<const SampleResult> results) {
  const SampleOwner& owner = tick.owners[index];
  Group& group = *owner.group;  // stays while its result is under way
  const std::int32_t made = results.front().guessed;
  const auto right = static_cast<std::int32_t>(results.size()) - 1;
  const GuessSource source = results.front().source;
  chunks_.guesses().note(tick.guess_costs, made, right);
  count_guesses(group, source, {.made = made});
  Sequence& sequence = group.sequences[static_cast<std::size_t>(owner.sequence)];
  if (!group.done && sequence.under_way.serial() == owner.serial) {
    const std::int32_t guesses = entry_of(tick.plan, index).guesses;
    note_result(sequence, guesses, right);
    if (guesses > 0) memory_.trim(sequence);
    chunks_.guesses().learn(sequence, made, right, source);
    count_guesses(group, source, {.rejected = made - right});
    // What is known of it is written by this tick and those before, as later ones feed its result.
    // It may be about to end.
    memory_.prefixes().keep_after_step(group, sequence);
    for (const SampleResult& result : results) {
      if (group.done || sequence.ended()) break;
      if (&result != &results.front()) count_guesses(group, source, {.accepted = 1});
      sequence.progress.verify();
      take_result(group, owner.sequence, result, top_of(result, tick.result));
    }
  }
  groups_.settle_result(group);
}

void Scheduler::count_guesses(Group& group, GuessSource source, const GuessCounts& counts) {
  guesses_.of(source) += counts;
  group.guesses += counts;
}

void Scheduler::take_result(Group& group, std::int32_t index, const SampleResult& result,
                            std::span<const TokenLogprob> top) {
  if (result.failure) group.failure = result.failure;
  if (has_thrown(result)) {
    finish(group, GroupEnd::kFailed, {});
  } else if (group.beams) {
    take_beam(group, index, top);
  } else {
    take_token(group, index, result, top);
  }
}

void Scheduler::take_token(Group& group, std::int32_t index, const SampleResult& result,
                           std::span<const TokenLogprob> top) {
  if (result.token == kNoToken) {
    finish(group, GroupEnd::kFailed, {});
    return;
  }
  add_output(group, index, result, top);
  const Sequence& sequence = group.sequences[static_cast<std::size_t>(index)];
  if (sequence.forced != nullptr && !sequence.ended()) jump_ahead(group, index);
}

void Scheduler::add_output(Group& group, std::int32_t index, const SampleResult& result,
                           std::span<const TokenLogprob> top) {
  Sequence& sequence = group.sequences[static_cast<std::size_t>(index)];
  sequence.add(result.token);
  sequence.mirostat_mu = result.mirostat_mu;
  sequence.cumulative_logprob += static_cast<double>(result.logprob);
  ++output_tokens_;
  waiting_.charge_output(group, 1);
  const SequenceEnd end = end_at_newest(group, sequence);
  listener_.on_token(group, index, result, top, end);
  if (end != SequenceEnd::kNone) finish_sequence(group, sequence, end);
}

/// Inserts forced text behind the newest token. A plan that waits or runs computes that token, and
/// would choose the beginning of the same text.
void Scheduler::jump_ahead(Group& group, std::int32_t index) {
  Sequence& sequence = group.sequences[static_cast<std::size_t>(index)];
  sequence.forced->advance(std::span(sequence.outputs).last(1));
  const std::span<const TokenId> forced = sequence.forced->next();
  if (forced.size() < kLeastJump) return;
  if (sequence.under_way.results() > 0) sequence.under_way.disown_results();
  std::size_t taken = 0;
  while (taken < forced.size() && !sequence.ended()) {
    SampleResult result;
    result.token = forced[taken++];
    add_output(group, index, result, {});
  }
  forced_tokens_ += taken;
  sequence.forced->advance(std::span(sequence.outputs).last(taken));
}

/// The search advances once each beam has its candidates.
void Scheduler::take_beam(Group& group, std::int32_t index, std::span<const TokenLogprob> top) {
  if (!add_candidates(group, index, top)) return;
  const std::span<const Beam> beams = advance_beams(group);
  output_tokens_ += beams.size();
  waiting_.charge_output(group, static_cast<std::int64_t>(beams.size()));
  if (!beams.empty()) return follow_beams(group, beams, memory_);
  // No output means that at some step no logit was a number above -inf.
  const bool found = !group.beams->best(1).empty();
  finish(group, found ? GroupEnd::kDone : GroupEnd::kFailed, {});
}

/// The sequence that computes the prompt may end before the others share it, by a stop string from
/// before its group gave way; then the next sequence computes the prompt. The amender removes a
/// fork from a waiting plan. A fork in a running plan stays valid, because only later plans give
/// the row and pages to another sequence.
void Scheduler::finish_sequence(Group& group, Sequence& sequence, SequenceEnd end) {
  if (group.phase == GroupPhase::kPrompt && &group.leader() == &sequence) {
    // A waiting plan that loses that row was perhaps to compute the encoder's output.
    group.encoded = memory_.is_encoded(group);
  }
  sequence.end = end;
  running_.release(group, sequence);
  if (--group.alive == 0) finish(group, GroupEnd::kDone, {});
}

void Scheduler::finish(Group& group, GroupEnd how, const Error& error) {
  if (group.phase == GroupPhase::kWaiting) {
    waiting_.leave(group);
  } else {
    running_.remove(group);
  }
  group.done = true;
  listener_.on_end(group, how, error);
  groups_.forget_if_possible(group);
}

void Scheduler::fail(const Tick& tick, const Error& error) {
  for (const SampleOwner& owner : tick.owners) groups_.settle_result(*owner.group);
  for (const SampleOwner& owner : tick.computed) groups_.settle_result(*owner.group);
  training_.lose(tick.plan.tick);
  if (clock_.lose(tick.plan.tick)) lose_all(error);
  save_pages();
}

/// Ends all running groups and forgets all pages, since keys and values may be wrong; and ends the
/// groups that wait for a load, which may be lost as well. So no load is tried again without end.
void Scheduler::lose_all(const Error& error) {
  while (!running_.empty()) finish(*running_.all().back(), GroupEnd::kFailed, error);
  if (fetches_) fetches_->cancel_all();
  memory_.prefixes().forget_all();
  memory_.encoder_outputs().forget_all();
  for (Group* const group : groups_.all()) {
    if (adapters_.is_loading(*group)) finish(*group, GroupEnd::kFailed, error);
  }
  adapters_.forget_loads();
}

SchedulerStats Scheduler::stats() const {
  SchedulerStats stats;
  stats.waiting = waiting_.size();
  stats.running = static_cast<std::size_t>(rows_.size() - rows_.free());
  stats.pages_free = memory_.free();
  stats.ticks = clock_.newest();
  stats.prompt_tokens = writer_.prompt_tokens() - amender_.withdrawn_tokens();
  stats.output_tokens = output_tokens_;
  stats.forced_tokens = forced_tokens_;
  stats.guesses = guesses_;
  stats.preemptions = running_.preemptions();
  stats.moved_rows = rows_.moved();
  stats.adapters = adapters_.stats();
  stats.training = training_.stats();
  stats.prefixes = memory_.prefix_stats();
  stats.prefixes.bytes = page_bytes_ * stats.prefixes.pages;
  if (saver_) stats.files = saver_->files().stats();
  return stats;
}

void Scheduler::check_invariants() const {
  const std::vector<Group*> all = groups_.all();
  rows_.check(all);
  memory_.check(all);
  adapters_.check(all);
  for (const Group* const group : all) {
    for (const Sequence& sequence : group->sequences) check_progress(*group, sequence);
  }
}

}  // namespace weft
