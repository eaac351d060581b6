#include "weft/gpu/drafting/model_drafter.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weft {
namespace {

/// Unread tokens before the newest one that the draft model reads in the same step as the newest.
/// There is one if all guesses were right: the draft model has not read its last guess.
constexpr std::size_t kFewBehind = 1;

/// Returns the hash of all tokens so far, with one more (a step of FNV-1a over 64 bits). Two texts
/// with the same hash would only cost wrong guesses.
std::uint64_t draft_chain(std::uint64_t chain, TokenId token) {
  constexpr std::uint64_t kPrime = 0x100000001B3;
  return (chain ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(token))) * kPrime;
}

/// The hash of no tokens.
constexpr std::uint64_t kFirstDraftChain = 0xCBF29CE484222325;

std::size_t draft_size(std::int64_t count) { return static_cast<std::size_t>(count); }

}  // namespace

std::int32_t ModelDrafter::context_for(const Program& draft, const DeviceLimits& limits) {
  return static_cast<std::int32_t>(std::min(limits.context, draft.context));
}

DeviceOptions ModelDrafter::options_for(const Program& draft, const DeviceLimits& limits,
                                        DType kv_dtype, int threads) {
  DeviceOptions options;
  options.threads = threads;
  options.max_tokens =
      std::max(limits.rows * (1 + static_cast<std::int32_t>(kFewBehind)), kReadTokens);
  options.max_outputs = limits.rows;
  options.max_sequences = limits.rows;
  options.max_context = context_for(draft, limits);
  options.page_tokens = limits.page_tokens;
  options.pages = limits.pages;
  options.kv_dtype = kv_dtype;
  return options;
}

std::int64_t ModelDrafter::bytes(const DeviceLimits& limits) {
  constexpr std::int64_t kPerToken = 2 * sizeof(TokenId);
  constexpr std::int64_t kPerPage = sizeof(std::int32_t) + sizeof(std::uint64_t);
  return limits.rows * (kPerToken * limits.context + kPerPage * limits.pages_per_row()) +
         (kPerPage + std::int64_t{sizeof(std::int32_t)}) * limits.pages +
         2 * std::int64_t{sizeof(std::uint64_t)} * limits.vocabulary;
}

ModelDrafter::ModelDrafter(std::unique_ptr<ModelDevice> draft, const DeviceLimits& limits,
                           std::unique_ptr<Drafter> look_ups)
    : draft_(std::move(draft)),
      look_ups_(std::move(look_ups)),
      page_tokens_(draft_size(limits.page_tokens)),
      context_(draft_size(draft_->options().max_context)),
      capacity_(draft_size(limits.context) + 1),
      shared_vocabulary_(std::min(draft_->program().vocabulary, limits.vocabulary)),
      slots_(draft_size(limits.rows)),
      chain_of_page_(draft_size(limits.pages)),
      claimed_by_(draft_size(limits.pages), -1),
      draw_scratch_(2 * draft_size(shared_vocabulary_)) {
  const std::size_t rows = slots_.size();
  const std::size_t written = draft_size(draft_->options().max_tokens) + draft_size(limits.guesses);
  claims_.reserve(
      std::min(claimed_by_.size(), 2 * (rows * (2 + draft_size(limits.guesses)) + written)));
  drafted_.reserve(rows);
  readers_.reserve(rows);
  ids_.reserve(draft_size(draft_->options().max_tokens));
  sequences_.reserve(rows);
  fed_.reserve(rows);
  outputs_.reserve(rows);
}

/// Empties a slot, which has its memory afterwards.
void ModelDrafter::begin(Slot& slot) const {
  slot.tokens.reserve(capacity_);
  slot.read.reserve(capacity_);
  slot.pages.reserve(capacity_ / page_tokens_ + 1);
  slot.chains.reserve(capacity_ / page_tokens_ + 1);
  slot.tokens.clear();
  slot.read.clear();
  slot.pages.clear();
  slot.chains.clear();
  slot.noted = 0;
  slot.is_readable = true;
}

void ModelDrafter::start(std::int32_t slot, std::span<const TokenId> tokens,
                         std::size_t prompt_tokens, const DraftSources& sources) {
  if (look_ups_) look_ups_->start(slot, {}, prompt_tokens, sources);
  begin(at(slot));
  observe(slot, tokens);
}

void ModelDrafter::observe(std::int32_t slot, std::span<const TokenId> tokens) {
  if (look_ups_) look_ups_->observe(slot, tokens);
  Slot& one = at(slot);
  for (const TokenId token : tokens) {
    const std::size_t position = one.tokens.size();
    // A wrong guess: what the draft model has read from here on is of another text.
    if (position < one.read.size() && one.read[position] != token) one.read.resize(position);
    if (token < 0 || token >= draft_->program().vocabulary) one.is_readable = false;
    one.tokens.push_back(token);
    if (one.tokens.size() % page_tokens_ != 0) continue;
    std::uint64_t chain = one.chains.empty() ? kFirstDraftChain : one.chains.back();
    for (const TokenId part : std::span(one.tokens).last(page_tokens_))
      chain = draft_chain(chain, part);
    one.chains.push_back(chain);
  }
}

void ModelDrafter::fork(std::int32_t from, std::int32_t to) {
  if (from == to) return;
  if (look_ups_) look_ups_->fork(from, to);
  const Slot& source = at(from);
  Slot& one = at(to);
  begin(one);
  one.tokens = source.tokens;
  one.chains = source.chains;
  one.is_readable = source.is_readable;
}

Draft ModelDrafter::guess(std::int32_t slot, std::span<TokenId> guesses) {
  return look_ups_ ? look_ups_->guess(slot, guesses) : Draft();
}

void ModelDrafter::guess_all(std::span<GuessTask> tasks) {
  took_ = {};
  begin_step();
  for (GuessTask& task : tasks) {
    task.draft = guess(task.slot, task.room);
    const bool speaks = task.draft.count > 0 && task.draft.matched >= kLongMatch;
    if (!speaks && task.drafts > 0 && can_draft(task)) drafted_.push_back(&task);
  }
  if (drafted_.empty()) return;
  const auto began = std::chrono::steady_clock::now();
  read();
  const auto has_read = std::chrono::steady_clock::now();
  draft();
  took_ = {.drafting = std::chrono::steady_clock::now() - has_read, .reading = has_read - began};
}

/// Returns whether the draft model can continue the sequence. If so, takes its page table.
bool ModelDrafter::can_draft(const GuessTask& task) {
  Slot& slot = at(task.slot);
  if (!slot.is_readable || slot.tokens.empty() || slot.tokens.size() > context_) return false;
  find_pages(slot, task.pages);
  return true;
}

/// Takes a sequence's page table. Forgets the tokens that the draft model has read into other
/// pages, and finds the tokens that earlier sequences have left in the new pages.
void ModelDrafter::find_pages(Slot& slot, std::span<const std::int32_t> pages) {
  const auto changed = std::ranges::mismatch(slot.pages, pages).in2;
  const auto same = static_cast<std::size_t>(changed - pages.begin());
  if (same * page_tokens_ < slot.read.size()) slot.read.resize(same * page_tokens_);
  slot.pages.assign(pages.begin(), pages.end());
  slot.noted = std::min(slot.noted, same);
  for (std::size_t page = slot.read.size() / page_tokens_;; ++page) {
    const std::size_t end = (page + 1) * page_tokens_;
    // The newest token is read again for what follows it.
    if (end >= slot.tokens.size() || end > context_) return;
    if (chain_of_page_[draft_size(pages[page])] != slot.chains[page]) return;
    slot.read.assign(slot.tokens.begin(), slot.tokens.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

/// Notes which full pages of the sequence the draft model has.
void ModelDrafter::note_pages(Slot& slot) {
  const std::size_t has = std::min(slot.read.size(), slot.tokens.size());
  for (; (slot.noted + 1) * page_tokens_ <= has; ++slot.noted) {
    chain_of_page_[draft_size(slot.pages[slot.noted])] = slot.chains[slot.noted];
  }
}

/// Claims the pages of the next `tokens` tokens that the draft model reads of the slot's sequence.
/// Returns false if another sequence with the same prompt writes one of these pages in this step.
/// Then the slot's sequence need not write it.
bool ModelDrafter::claim(std::int32_t slot, std::size_t tokens) {
  const Slot& one = at(slot);
  const std::size_t first = one.read.size() / page_tokens_;
  const std::size_t end = (one.read.size() + tokens + page_tokens_ - 1) / page_tokens_;
  const std::span<const std::int32_t> pages = std::span(one.pages).subspan(first, end - first);
  const auto is_free = [&](std::int32_t page) {
    return claimed_by_[draft_size(page)] < 0 || claimed_by_[draft_size(page)] == slot;
  };
  if (!std::ranges::all_of(pages, is_free)) return false;
  for (const std::int32_t page : pages) {
    if (std::exchange(claimed_by_[draft_size(page)], slot) < 0) claims_.push_back(page);
    chain_of_page_[draft_size(page)] = 0;
  }
  return true;
}

/// Forgets the step before, also one that has failed.
void ModelDrafter::begin_step() {
  for (const std::int32_t page : claims_) claimed_by_[draft_size(page)] = -1;
  claims_.clear();
  drafted_.clear();
  begin_model_step();
}

void ModelDrafter::begin_model_step() {
  ids_.clear();
  sequences_.clear();
  fed_.clear();
}

/// Puts the next tokens of a slot's sequence into the draft model's step.
void ModelDrafter::feed(std::int32_t slot, std::span<const TokenId> ids) {
  const Slot& one = at(slot);
  const std::size_t end = one.read.size() + ids.size();
  StepSequence sequence;
  sequence.first = static_cast<std::int32_t>(ids_.size());
  sequence.count = static_cast<std::int32_t>(ids.size());
  sequence.start = static_cast<std::int32_t>(one.read.size());
  sequence.pages = std::span(one.pages).first((end + page_tokens_ - 1) / page_tokens_);
  sequences_.push_back(sequence);
  fed_.push_back(slot);
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

/// Runs the draft model's step. Its tokens are read only once it has ended: a step that throws has
/// computed nothing that may be used.
void ModelDrafter::run(std::span<const std::int32_t> outputs) {
  if (!ids_.empty()) draft_->decode({ids_, sequences_, outputs, {}});
  for (std::size_t i = 0; i < fed_.size(); ++i) {
    const auto ids = std::span<const TokenId>(ids_).subspan(draft_size(sequences_[i].first),
                                                            draft_size(sequences_[i].count));
    std::vector<TokenId>& read = at(fed_[i]).read;
    read.insert(read.end(), ids.begin(), ids.end());
  }
  begin_model_step();
}

/// Lets the draft model read tokens that it has not seen, and leaves the sequences that are ready
/// in `drafted_`.
void ModelDrafter::read() {
  readers_.clear();
  std::size_t room = draft_size(kReadTokens);
  std::size_t ready = 0;
  for (GuessTask* const task : drafted_) {
    Slot& slot = at(task->slot);
    const std::size_t older = slot.tokens.size() - 1;
    const std::size_t behind = older - std::min(older, slot.read.size());
    if (behind > kFewBehind) {
      const std::size_t count = std::min(behind, room);
      if (count == 0 || !claim(task->slot, count)) continue;
      feed(task->slot, std::span<const TokenId>(slot.tokens).subspan(slot.read.size(), count));
      readers_.push_back(task->slot);
      room -= count;
      if (count < behind) continue;
    }
    drafted_[ready++] = task;
  }
  drafted_.resize(ready);
  run({});
  // Noted at once: a sequence that shares a page finds it, and does not write it while another
  // sequence reads it.
  for (const std::int32_t slot : readers_) note_pages(at(slot));
}

/// Lets the draft model guess, a token of each sequence in each of its steps.
void ModelDrafter::draft() {
  std::erase_if(drafted_, [this](GuessTask* task) {
    Slot& slot = at(task->slot);
    // The newest token is fed again if the draft model has read it, or guessed it, before.
    if (slot.read.size() >= slot.tokens.size()) {
      slot.read.resize(slot.tokens.size() - 1);
      slot.noted = std::min(slot.noted, slot.read.size() / page_tokens_);
    }
    const std::size_t most = std::min(draft_size(task->drafts), context_ - slot.tokens.size() + 1);
    const std::span<TokenId> room = task->room.first(std::min(task->room.size(), most));
    const std::size_t reads = slot.tokens.size() - slot.read.size() + room.size() - 1;
    if (room.empty() || !claim(task->slot, reads)) return true;
    task->room = room;
    feed(task->slot, std::span<const TokenId>(slot.tokens).subspan(slot.read.size()));
    task->draft = {.count = 0, .source = GuessSource::kModel};
    return false;
  });
  while (!sequences_.empty()) {
    outputs_.clear();
    for (const StepSequence& sequence : sequences_) {
      outputs_.push_back(sequence.first + sequence.count - 1);
    }
    run(outputs_);
    std::int64_t row = 0;
    std::size_t going_on = 0;
    for (GuessTask* const task : drafted_) {
      const TokenId guess = drawn(row++, *task);
      if (guess == kNoToken) continue;
      task->room[task->draft.count++] = guess;
      note_pages(at(task->slot));
      if (task->draft.count == task->room.size()) continue;
      drafted_[going_on++] = task;
    }
    drafted_.resize(going_on);
    for (GuessTask* const task : drafted_) {
      feed(task->slot, std::span<const TokenId>(task->room).subspan(task->draft.count - 1, 1));
    }
  }
}

/// Returns what a task's next guess is by an output of the draft model's last step; kNoToken if no
/// logit is a number.
TokenId ModelDrafter::drawn(std::int64_t row, const GuessTask& task) {
  const Rows logits = draft_->results();
  SampleParams draws = task.draws;
  draws.draw += task.draft.count;
  return sample({logits.row(row), draft_size(shared_vocabulary_)}, draws, draw_scratch_);
}

}  // namespace weft
