#include "weft/gpu/plan_reader.h"

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <numeric>
#include <string>
#include <utility>

#include "weft/gpu/device_error.h"

namespace weft {
namespace {

std::size_t place_of(std::int64_t index) { return static_cast<std::size_t>(index); }

/// The token that a row is fed if no token could be chosen for it and the plan was made before that
/// was known. Its sequence has failed, so any token will do.
constexpr TokenId kAnyToken = 0;

Error unfit(const PlanEntry& entry, const char* why) {
  return {DeviceErrc::kUnfit, "plan: the entry of row " + std::to_string(entry.row) + why};
}

/// Refuses guesses that the device does not verify.
void check_guesses(const PlanEntry& entry, const DeviceLimits& limits) {
  if (entry.guesses <= limits.guesses && entry.unsure <= limits.guesses) return;
  const Error error = unfit(entry, " has guesses, which are not verified");
  throw boost::system::system_error(error.code, error.detail);
}

/// Returns where an entry begins, for a row whose tokens end at `end`.
std::int32_t start_of(const PlanEntry& entry, std::int32_t end) {
  if (entry.unsure == 0) return entry.start;
  if (end <= entry.start && end >= entry.start - entry.unsure) return end;
  const Error error = unfit(entry, " does not begin where its tokens end");
  throw boost::system::system_error(error.code, error.detail);
}

/// Returns how a sequence's tokens are drawn, as far as SampleParams says it.
SampleParams draws_of(const PlanStart& start) {
  if (!start.sampling || start.sampling->fsd.alpha > 0) return {};
  const SamplingParams& sampling = *start.sampling;
  return {.temperature = sampling.temperature,
          .top_p = sampling.top_p,
          .top_k = sampling.top_k,
          .min_p = sampling.min_p,
          .seed = start.seed};
}

void refuse_state(const Plan& plan) {
  if (plan.restores.empty() && plan.snapshots.empty()) return;
  throw boost::system::system_error(
      DeviceErrc::kUnfit,
      "plan: a snapshot of a row's state, which the device's layers do not keep");
}

}  // namespace

PlanReader::PlanReader(const DeviceLimits& limits, std::int32_t encoder_pages)
    : limits_(limits),
      slots_(place_of(limits.rows)),
      slot_of_row_(place_of(limits.rows)),
      encoder_pages_(place_of(encoder_pages)),
      table_of_slot_(place_of(limits.rows), -1),
      adapters_(place_of(limits.adapter_places)) {
  for (SlotState& slot : slots_) {
    slot.pages.resize(place_of(limits.pages_per_row()));
    // An encoder reads its input in one step.
    if (limits.cross_pages > 0) slot.cross_pages.reserve(place_of(limits.pages_per_step()));
  }
  std::iota(slot_of_row_.begin(), slot_of_row_.end(), 0);
  std::iota(encoder_pages_.begin(), encoder_pages_.end(), 0);
  const std::size_t rows = place_of(limits.rows);
  tables_.reserve(rows);
  encodes_.reserve(rows);
  entries_.reserve(rows);
  output_of_entry_.reserve(rows);
  choices_.reserve(rows);
  forked_.reserve(place_of(limits.pages_per_row()));
  readings_.reserve(rows);
  // One entry for each row, with its guesses.
  const std::size_t guesses = rows * place_of(limits.guesses);
  guesses_.resize(guesses);
  tasks_.reserve(rows);
  task_entries_.reserve(rows);
  outputs_.reserve(rows + guesses);
  needs_.reserve(rows + guesses);
  first_choice_.reserve(rows + guesses);
}

std::span<const TokenId> PlanReader::history(const Plan& plan, const PlanStart& start) {
  return std::span(plan.ids).subspan(place_of(start.first_history), place_of(start.history_tokens));
}

void PlanReader::change_rows(const Plan& plan) {
  refuse_state(plan);
  for (const PlanMove& move : plan.moves) {
    std::swap(slot_of_row_[place_of(move.from)], slot_of_row_[place_of(move.to)]);
  }
  for (const PlanStart& one : plan.starts) start(plan, one);
  read_tables(plan);
  read_adapters(plan);
}

void PlanReader::start(const Plan& plan, const PlanStart& start) {
  SlotState& slot = state_of_row(start.row);
  const auto cross = plan.pages.begin() + start.first_cross_page;
  slot.cross_pages.assign(cross, cross + start.cross_pages);
  slot.cross_context = start.cross_context;
  slot.prompt_tokens = start.prompt_tokens;
  slot.observed = start.history_tokens;
  slot.last_token = kNoToken;
  slot.traits = start.traits;
  slot.needs = start.sampling ? logit_needs(*start.sampling) : start.needs;
  slot.draws = draws_of(start);
  slot.reader = start.reader;
  slot.failure = nullptr;
  slot.may_guess = start.may_guess;
  if (drafter_ && slot.may_guess) {
    drafter_->start(slot_of(start.row), history(plan, start), place_of(start.prompt_tokens),
                    start.drafts);
  }
}

void PlanReader::read_tables(const Plan& plan) {
  for (const SlotTable& table : tables_) table_of_slot_[place_of(table.slot)] = -1;
  tables_.clear();
  for (const PlanTable& table : plan.tables) {
    const std::int32_t index = slot_of(table.row);
    SlotState& slot = slots_[place_of(index)];
    std::copy_n(plan.pages.begin() + table.first_page, table.count,
                slot.pages.begin() + table.first);
    std::int32_t first = table.first;
    std::int32_t end = table.first + table.count;
    std::int32_t& known = table_of_slot_[place_of(index)];
    if (known < 0) {
      known = static_cast<std::int32_t>(tables_.size());
      tables_.emplace_back();
    } else {
      const SlotTable& before = tables_[place_of(known)];
      first = std::min(first, before.first);
      end = std::max(end, before.first + static_cast<std::int32_t>(before.pages.size()));
    }
    tables_[place_of(known)] = {
        index, first, std::span(slot.pages).subspan(place_of(first), place_of(end - first))};
  }
}

void PlanReader::read_adapters(const Plan& plan) {
  for (const PlanAdapter& one : plan.adapters) {
    if (one.place < 0 || std::cmp_greater_equal(one.place, adapters_.size())) {
      throw boost::system::system_error(DeviceErrc::kUnfit, "plan: an adapter in place " +
                                                                std::to_string(one.place) + " of " +
                                                                std::to_string(adapters_.size()));
    }
    std::ranges::replace(adapters_, one.adapter->id, AdapterId{});
    adapters_[place_of(one.place)] = one.adapter->id;
  }
}

std::int32_t PlanReader::adapter_place(const PlanEntry& entry, const AdapterId& adapter) const {
  if (!adapter) return -1;
  const auto place = std::ranges::find(adapters_, adapter);
  if (place != adapters_.end()) return static_cast<std::int32_t>(place - adapters_.begin());
  const Error error = unfit(entry, " has an adapter that is in no place");
  throw boost::system::system_error(error.code, error.detail);
}

std::span<const SlotTokens> PlanReader::read_encodes(const Plan& plan) {
  encodes_.clear();
  std::int32_t first = 0;
  std::size_t next_page = 0;
  for (const PlanEncode& one : plan.encodes) {
    SlotState& slot = state_of_row(one.row);
    const auto cross = plan.pages.begin() + one.first_page;
    slot.cross_pages.assign(cross, cross + one.pages);
    slot.cross_context = one.count;
    const std::size_t pages = place_of(limits_.pages_for(one.count));
    encodes_.push_back(
        {.slot = slot_of(one.row),
         .first = first,
         .count = one.count,
         .ids = std::span(plan.ids).subspan(place_of(one.first_id), place_of(one.count)),
         .pages = std::span(encoder_pages_).subspan(next_page, pages)});
    first += one.count;
    next_page += pages;
  }
  return encodes_;
}

std::span<const SlotTokens> PlanReader::read_entries(const Plan& plan) {
  entries_.clear();
  readings_.clear();
  tasks_.clear();
  task_entries_.clear();
  guessed_ = 0;
  guesses_wanted_ = 0;
  for (const PlanEntry& one : plan.entries) {
    check_guesses(one, limits_);
    SlotState& slot = state_of_row(one.row);
    SlotTokens tokens{.slot = slot_of(one.row),
                      .count = one.count - one.guesses,
                      .start = start_of(one, slot.observed),
                      .observed = slot.observed,
                      .adapter_place = adapter_place(one, slot.traits.kv.adapter)};
    if (one.first_id != kLastToken) {
      tokens.ids = std::span(plan.ids).subspan(place_of(one.first_id), place_of(tokens.count));
    }
    slot.observed += tokens.count;
    entries_.push_back(tokens);
    if (drafter_ && slot.may_guess) want_guesses(one, tokens);
  }
  guess();
  lay_entries();
  for (const PlanFork& one : plan.forks) fork(one);
  read_samples(plan);
  return entries_;
}

/// Assigns rows of the step and pages to the entries.
void PlanReader::lay_entries() {
  std::int32_t first = 0;
  std::size_t next_page = 0;
  for (SlotTokens& tokens : entries_) {
    const SlotState& slot = slots_[place_of(tokens.slot)];
    tokens.first = first;
    const std::size_t pages =
        place_of(limits_.pages_for(std::int64_t{tokens.start} + tokens.count));
    tokens.pages = limits_.keeps_kv ? std::span(slot.pages).first(pages)
                                    : std::span(encoder_pages_).subspan(next_page, pages);
    next_page += pages;
    if (slot.reader) note_reading(tokens);
    first += tokens.count;
  }
}

/// Passes an entry's tokens to the drafter, and notes how many guesses it may make after them.
void PlanReader::want_guesses(const PlanEntry& entry, const SlotTokens& tokens) {
  drafter_->observe(tokens.slot, known_ids(tokens));
  if (entry.guesses == 0) return;
  const std::size_t first_guess = guesses_wanted_;
  guesses_wanted_ += place_of(entry.guesses);
  const SlotState& state = slot(tokens.slot);
  const std::int64_t end = std::int64_t{tokens.start} + tokens.count + entry.guesses;
  task_entries_.push_back(entries_.size() - 1);
  tasks_.push_back({.slot = tokens.slot,
                    .room = std::span(guesses_).subspan(first_guess, place_of(entry.guesses)),
                    .drafts = entry.drafts,
                    .pages = std::span(state.pages).first(place_of(limits_.kv_pages_for(end))),
                    .draws = state.draws});
  tasks_.back().draws.draw = place_of(state.observed);
}

/// Appends the drafter's guesses to the entries' tokens.
void PlanReader::guess() {
  if (!drafter_) return;
  drafter_->guess_all(tasks_);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const GuessTask& task = tasks_[i];
    SlotTokens& tokens = entries_[task_entries_[i]];
    tokens.guesses = task.room.first(task.draft.count);
    tokens.source = task.draft.source;
    tokens.count += static_cast<std::int32_t>(task.draft.count);
    guessed_ += task.draft.count;
  }
}

void PlanReader::note_reading(const SlotTokens& tokens) {
  const SlotState& slot = slots_[place_of(tokens.slot)];
  const std::int32_t count = std::min(tokens.count, slot.reader->end_position() - tokens.start);
  if (count <= 0) return;
  readings_.push_back({.slot = tokens.slot,
                       .first = tokens.first,
                       .count = count,
                       .start = tokens.start,
                       .ids = tokens.ids,
                       .last = slot.last_token,
                       .reader = slot.reader.get(),
                       .has_failed = slot.failure != nullptr});
}

void PlanReader::fail(std::int32_t slot, const std::shared_ptr<const ChoiceFailure>& why,
                      StepResult& result) {
  SlotState& state = slots_[place_of(slot)];
  state.failure = why;
  state.last_token = kNoToken;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (choices_[i].slot == slot) result.samples[choices_[i].first_result] = {.failure = why};
  }
}

void PlanReader::fork(const PlanFork& fork) {
  SlotState& to = state_of_row(fork.to);
  const SlotState& from = state_of_row(fork.from);
  to.cross_pages.assign(from.cross_pages.begin(), from.cross_pages.end());
  to.cross_context = from.cross_context;
  to.prompt_tokens = from.prompt_tokens;
  to.observed = from.observed;
  to.traits = from.traits;
  to.needs = from.needs;
  to.draws = from.draws;
  to.draws.seed = fork.seed;
  to.reader = from.reader;
  to.failure = from.failure;
  to.may_guess = from.may_guess;
  if (drafter_ && to.may_guess) drafter_->fork(slot_of(fork.from), slot_of(fork.to));
}

void PlanReader::read_samples(const Plan& plan) {
  outputs_.clear();
  needs_.clear();
  first_choice_.clear();
  choices_.clear();
  results_ = 0;
  output_of_entry_.assign(plan.entries.size(), -1);
  for (const PlanSample& sample : plan.samples) {
    std::int32_t& output = output_of_entry_[place_of(sample.entry)];
    const SlotTokens& tokens = entries_[place_of(sample.entry)];
    const bool shares = output >= 0;
    if (shares) {
      choices_[first_choice_[place_of(output)]].shares_output = true;
    } else {
      output = static_cast<std::int32_t>(outputs_.size());
      add_outputs(tokens);
    }
    for (std::size_t i = 0; i <= tokens.guesses.size(); ++i) {
      LogitNeeds& needs = needs_[place_of(output) + i];
      needs = std::max(needs, state_of_row(sample.row).needs);
    }
    choices_.push_back(
        {slot_of(sample.row), output, shares, tokens.guesses, tokens.source, results_});
    results_ += 1 + tokens.guesses.size();
  }
}

/// Adds outputs for the entry's last token before its guesses, and for each guess.
void PlanReader::add_outputs(const SlotTokens& tokens) {
  const auto guesses = static_cast<std::int32_t>(tokens.guesses.size());
  const std::int32_t end = tokens.first + tokens.count;
  for (std::int32_t row = end - 1 - guesses; row < end; ++row) {
    outputs_.push_back(row);
    needs_.push_back(LogitNeeds::kCandidates);
    first_choice_.push_back(choices_.size());
  }
}

std::span<const TokenId> PlanReader::known_ids(const SlotTokens& tokens) const {
  if (!tokens.ids.empty()) return tokens.ids;
  const TokenId& last = slot(tokens.slot).last_token;
  return {last == kNoToken ? &kAnyToken : &last, 1};
}

std::span<const PlanCopy> PlanReader::forked_pages(const PlanFork& fork) {
  const SlotState& to = state_of_row(fork.to);
  const SlotState& from = state_of_row(fork.from);
  forked_.clear();
  for (std::size_t i = 0; i < place_of(fork.copied_pages); ++i) {
    forked_.push_back({from.pages[i], to.pages[i]});
  }
  return forked_;
}

void PlanReader::begin_results(StepResult& result) const {
  if (drafter_) result.drafting = drafter_->took();
  result.samples.resize(results_);
  result.top.resize(results_ * std::size_t{kMaxTopLogprobs});
}

std::span<TokenLogprob> PlanReader::tell(StepResult& result, std::size_t index,
                                         const SampleResult& chosen) {
  SlotChoice& choice = choices_[index];
  SlotState& slot = slots_[place_of(choice.slot)];
  const std::size_t place = choice.first_result + choice.told++;
  const std::size_t first = place * std::size_t{kMaxTopLogprobs};
  SampleResult& told = result.samples[place];
  told = slot.failure ? SampleResult{.failure = slot.failure} : chosen;
  told.first_top = static_cast<std::int32_t>(first);
  if (choice.told == 1) {
    told.guessed = static_cast<std::int32_t>(choice.guesses.size());
    told.source = choice.source;
  } else {
    result.samples[place - 1].more = true;
    ++slot.observed;
  }
  slot.last_token = told.token;
  return std::span(result.top).subspan(first, place_of(chosen.top_count));
}

void PlanReader::end_results(StepResult& result) {
  if (guessed_ == 0) return;
  std::size_t kept = 0;
  for (SlotChoice& choice : choices_) {
    if (choice.told > 1) drafter_->observe(choice.slot, choice.guesses.first(choice.told - 1));
    const std::size_t first = std::exchange(choice.first_result, kept);
    for (std::size_t i = 0; i < choice.told; ++i, ++kept) {
      if (kept != first + i) result.samples[kept] = std::move(result.samples[first + i]);
    }
  }
  result.samples.resize(kept);
}

void PlanReader::tell(StepResult& result, std::size_t index, const SampleOutcome& outcome,
                      float shift) {
  SampleResult chosen{outcome.token, outcome.logprob, outcome.mirostat_mu};
  chosen.failure = outcome.failure;
  if (chosen.token != kNoToken) chosen.logprob += shift;
  chosen.top_count = static_cast<std::int32_t>(outcome.top.size());
  std::ranges::transform(outcome.top, tell(result, index, chosen).begin(), [&](TokenLogprob one) {
    return TokenLogprob{one.token, one.logprob + shift};
  });
}

}  // namespace weft
