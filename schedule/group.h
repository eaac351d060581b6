#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/core/token.h"
#include "weft/gpu/device_adapter.h"
#include "weft/gpu/plan.h"
#include "weft/gpu/sequence_traits.h"
#include "weft/gpu/step_device.h"
#include "weft/sampling/beam_search.h"
#include "weft/sampling/choice_failure.h"
#include "weft/sampling/drafters/draft_sources.h"
#include "weft/sampling/sampling_params.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/tree/prefix_scope.h"
#include "weft/schedule/sequence/sequence.h"
#include "weft/schedule/waiting/wait_queue.h"

namespace weft {

/// A request as the scheduler needs it, checked and tokenized.
struct GroupSpec {
  std::vector<TokenId> prompt;         ///< the decoder's prompt, at least one token
  std::vector<TokenId> encoder_input;  ///< for an encoder-decoder model
  /// For the device, so including logprobs that ranking needs.
  std::shared_ptr<const SamplingParams> sampling;
  std::shared_ptr<ActivationReader> reader;  ///< reads its only sequence; null: no reader
  std::int32_t sequences = 1;                ///< rows: n, best_of or num_beams
  /// The most tokens of each output; 0: no token is chosen, and the prompt alone is computed.
  std::int32_t max_tokens = 1;
  /// Guesses of a sequence in a step (PlanEntry::guesses); 0: none.
  std::int32_t most_guesses = std::numeric_limits<std::int32_t>::max();
  DraftSources drafts{};  ///< texts in which the device looks for guesses, beside each sequence
  std::uint64_t seed = 0;
  std::vector<TokenId> end_tokens;  ///< that end an output, sorted
  SequenceTraits traits{};          ///< the angles depend on its greatest length
  /// Whose id is traits.kv.adapter; null: none.
  std::shared_ptr<const PreparedAdapter> adapter;
  /// Groups share pages of the same tokens if their domains have the same text. Null is a domain.
  std::shared_ptr<const std::string> cache_domain;

  /// Whether prompt tokens that the KV cache has are skipped. The last token is always computed; a
  /// reader needs all tokens computed, unless it says otherwise.
  [[nodiscard]] bool may_skip_tokens() const noexcept {
    return reader == nullptr ||
           std::cmp_greater_equal(std::int64_t{reader->first_position()} + 1, prompt.size());
  }
  /// Whether tokens are chosen.
  [[nodiscard]] bool generates() const noexcept { return max_tokens > 0; }
  /// The most tokens of a sequence with keys and values kept: the last token needs none.
  [[nodiscard]] std::int64_t most_kept_tokens() const noexcept {
    return static_cast<std::int64_t>(prompt.size()) + std::max(max_tokens, 1) - 1;
  }
  /// Whether a device with these limits may guess its tokens (PlanEntry::guesses). Not with a logit
  /// processor, which must see each choice once, in order.
  [[nodiscard]] bool may_guess(const DeviceLimits& limits) const noexcept {
    return most_guesses > 0 && generates() && !beams() && !reader && !sampling->logit_processor &&
           !(limits.chooses_at_once && depends_on_guesses());
  }
  /// Whether a choice depends on the tokens before it by more than its logits and its position
  /// (DeviceLimits::chooses_at_once).
  [[nodiscard]] bool depends_on_guesses() const noexcept {
    const PenaltyParams& penalties = sampling->penalties;
    return sampling->constraint != nullptr || penalties.repetition != 1 ||
           penalties.frequency != 0 || penalties.presence != 0;
  }
  [[nodiscard]] bool beams() const noexcept { return sampling->beams.num_beams > 1; }
};

enum class GroupPhase : std::uint8_t {
  kWaiting,
  kPrompt,  ///< the first sequence computes the prompt, which the others will share
  kForked,  ///< every sequence continues separately
};

class Group;

/// How many of a device's guesses were right and wrong (PlanEntry::guesses).
struct GuessCounts {
  std::int64_t made = 0;      ///< were computed; also of sequences that have ended meanwhile
  std::int64_t accepted = 0;  ///< became output, each saving a step
  std::int64_t rejected = 0;  ///< were computed in vain

  GuessCounts& operator+=(const GuessCounts& other) noexcept {
    made += other.made;
    accepted += other.accepted;
    rejected += other.rejected;
    return *this;
  }
};

/// The same by where the drafter found the guesses.
class GuessTallies {
 public:
  [[nodiscard]] GuessCounts& of(GuessSource source) noexcept {
    return counts_[static_cast<std::size_t>(source)];
  }
  [[nodiscard]] const GuessCounts& of(GuessSource source) const noexcept {
    return counts_[static_cast<std::size_t>(source)];
  }
  [[nodiscard]] GuessCounts total() const noexcept {
    GuessCounts sum;
    for (const GuessCounts& one : counts_) sum += one;
    return sum;
  }

 private:
  std::array<GuessCounts, kGuessSources> counts_{};
};

/// A running group whose prompt begins like a waiting group's, which waits for its pages.
struct PrefixLeader {
  const Group* group = nullptr;  ///< null: no leader. The leader may have ended
  std::uint64_t order = 0;       ///< the leader's WaitItem::order, which identifies it
  std::int32_t pages = 0;        ///< pages that both prompts have in common
};

/// A request's sequences, which wait, run, give way and end together. The submitter derives a class
/// from it for its own data.
class Group : public WaitItem {
 public:
  explicit Group(GroupSpec what)
      : spec(std::move(what)), prefix_scope{spec.cache_domain, spec.traits.kv} {
    adapter = spec.traits.kv.adapter;
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  const GroupSpec spec;
  const PrefixScope prefix_scope;

  // The scheduler's own fields.
  GroupPhase phase = GroupPhase::kWaiting;
  std::vector<Sequence> sequences;
  std::vector<PageId> cross_pages;  ///< its encoder's output, which other groups may share
  /// Hash of its encoder's input in its scope; none until KvMemory has looked for the output.
  mutable std::optional<std::uint32_t> encoder_hash;
  bool encoded = false;        ///< an earlier plan reads its encoder's input, or it has none
  std::int32_t alive = 0;      ///< sequences that have not ended
  std::int32_t in_flight = 0;  ///< pending results that name this group
  std::int32_t overtaken = 0;  ///< later groups that were admitted before it
  std::int64_t reserved = 0;   ///< pages set aside for its longest output (reserve mode)
  /// Input tokens found in the cache when it first began: of the encoder's input if it has one,
  /// otherwise of the prompt; -1 before.
  std::int32_t cached = -1;
  std::shared_ptr<const DraftTexts> recent;  ///< recent outputs of its scope, as it began
  bool looked_in_files = false;       ///< files were searched for its pages since it began to wait
  std::int32_t adapter_place = -1;    ///< where the adapter is that it uses while it runs; -1: none
  PrefixLeader leads;                 ///< the group whose pages it waits for, though it could begin
  GuessCounts guesses;                ///< the sum over its sequences
  bool charged = false;               ///< its client has been charged for its prompt: it has begun
  TimePoint waits_since{};            ///< when it was submitted
  Group* submitted_before = nullptr;  ///< among groups that wait and have not begun
  Group* submitted_after = nullptr;   ///< the same
  bool done = false;                  ///< has ended; kept while results are pending
  std::optional<BeamSearch> beams;
  std::vector<std::vector<TokenLogprob>> candidates;  ///< each beam's, in the current step
  std::int32_t beams_ready = 0;                       ///< how many beams have candidates
  /// Why no token was chosen for one of its sequences, if not because of its masks.
  std::shared_ptr<const ChoiceFailure> failure;

  /// Makes the sequences, which know the prompt. Allocates, which the constructor must not: if that
  /// threw, the data given to a derived class would be lost.
  void make_sequences() {
    const auto count = static_cast<std::size_t>(spec.sequences);
    sequences.reserve(count);
    while (sequences.size() < count) sequences.emplace_back(prompt_tokens());
    alive = spec.sequences;
  }
  /// The sequence that computes the prompt for all that share it: the first that has not ended.
  /// There is one while the group is not done.
  [[nodiscard]] Sequence& leader() noexcept {
    return *std::ranges::find_if_not(sequences, &Sequence::ended);
  }
  [[nodiscard]] const Sequence& leader() const noexcept {
    return *std::ranges::find_if_not(sequences, &Sequence::ended);
  }
  [[nodiscard]] std::int32_t prompt_tokens() const noexcept {
    return static_cast<std::int32_t>(spec.prompt.size());
  }
  /// Whether a sequence's known tokens from position `start` on are a jump: its newest output and
  /// the forced tokens behind it, which are computed together like one decoded token.
  [[nodiscard]] bool is_jump(const Sequence& sequence, std::int32_t start,
                             std::int32_t count) const noexcept {
    return sequence.forced != nullptr && count > 1 && start >= prompt_tokens() &&
           std::cmp_less_equal(count, kMaxForcedTokens + 1);
  }
  [[nodiscard]] TokenId token(const Sequence& sequence, std::int32_t position) const {
    const auto place = static_cast<std::size_t>(position);
    return place < spec.prompt.size() ? spec.prompt[place]
                                      : sequence.outputs[place - spec.prompt.size()];
  }
};

/// How a group ended.
enum class GroupEnd : std::uint8_t {
  kDone,       ///< each sequence ended by itself
  kStopped,    ///< asked to stop: the output so far counts
  kCancelled,  ///< the request was withdrawn
  kFailed,     ///< the error says why
};

}  // namespace weft
