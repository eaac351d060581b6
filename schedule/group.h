#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/token.h"
#include "weft/gpu/plan.h"
#include "weft/gpu/sequence_traits.h"
#include "weft/sampling/beam_search.h"
#include "weft/sampling/choice_failure.h"
#include "weft/sampling/sampling_params.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/tree/prefix_scope.h"
#include "weft/schedule/sequence/sequence.h"
#include "weft/schedule/waiting/wait_queue.h"

namespace weft {

/// What a request wants of the scheduler, checked and tokenized.
struct GroupSpec {
  std::vector<TokenId> prompt;         ///< of the decoder, at least one token
  std::vector<TokenId> encoder_input;  ///< of an encoder-decoder model
  /// As the device gets them, with the logprobs that ranking needs.
  std::shared_ptr<const SamplingParams> sampling;
  std::shared_ptr<ActivationReader> reader;  ///< of its one sequence; null: nobody
  std::int32_t sequences = 1;                ///< rows: n, best_of or num_beams
  /// Of each output; 0: nothing is chosen, and it is done when its prompt is computed.
  std::int32_t max_tokens = 1;
  /// Guesses of a sequence in a step (PlanEntry::guesses); 0: none.
  std::int32_t most_guesses = std::numeric_limits<std::int32_t>::max();
  std::uint64_t seed = 0;
  std::vector<TokenId> end_tokens;  ///< that end an output, sorted
  SequenceTraits traits{};          ///< the angles by its greatest length
  /// With whom it shares pages of the same tokens: those of the same text; null is one of its own.
  std::shared_ptr<const std::string> cache_domain;

  /// Whether tokens of the prompt that are in the KV cache need not be computed. The last one is
  /// always computed; a reader wants to see them all, unless it says that it does not.
  [[nodiscard]] bool may_skip_tokens() const noexcept {
    return reader == nullptr ||
           std::cmp_greater_equal(std::int64_t{reader->first_position()} + 1, prompt.size());
  }
  /// Whether tokens are chosen.
  [[nodiscard]] bool generates() const noexcept { return max_tokens > 0; }
  /// The most tokens of a sequence whose keys and values are kept: the last one's are not needed.
  [[nodiscard]] std::int64_t most_kept_tokens() const noexcept {
    return static_cast<std::int64_t>(prompt.size()) + std::max(max_tokens, 1) - 1;
  }
  /// Whether a device may guess its tokens (PlanEntry::guesses). A logit processor sees each choice
  /// once, in turn.
  [[nodiscard]] bool may_guess() const noexcept {
    return most_guesses > 0 && generates() && !beams() && !reader && !sampling->logit_processor;
  }
  [[nodiscard]] bool beams() const noexcept { return sampling->beams.num_beams > 1; }
};

enum class GroupPhase : std::uint8_t {
  kWaiting,
  kPrompt,  ///< the first sequence computes the prompt, which the others will share
  kForked,  ///< every sequence goes on by itself
};

class Group;

/// What became of guesses that a device made (PlanEntry::guesses).
struct GuessCounts {
  std::int64_t accepted = 0;  ///< became output, each without a step of its own
  std::int64_t rejected = 0;  ///< were computed for nothing
};

/// A running group whose prompt begins like that of one that waits for its pages.
struct PrefixLeader {
  const Group* group = nullptr;  ///< null: it waits for nobody. It may have ended
  std::uint64_t order = 0;       ///< its WaitItem::order, by which it is known
  std::int32_t pages = 0;        ///< that both have alike
};

/// A request's sequences: they wait, run, give way and end together. Whoever submits derives its
/// own data from it.
class Group : public WaitItem {
 public:
  explicit Group(GroupSpec what)
      : spec(std::move(what)), prefix_scope{spec.cache_domain, spec.traits.kv} {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  const GroupSpec spec;
  const PrefixScope prefix_scope;

  // The scheduler's own.
  GroupPhase phase = GroupPhase::kWaiting;
  std::vector<Sequence> sequences;
  std::vector<PageId> cross_pages;  ///< of its encoder's output, which others may have as well
  /// Of its encoder's input, in its scope: none until KvMemory has looked for the output.
  mutable std::optional<std::uint32_t> encoder_hash;
  bool encoded = false;        ///< a plan before has its encoder's input read, or it has none
  std::int32_t alive = 0;      ///< sequences that have not ended
  std::int32_t in_flight = 0;  ///< results under way that name this group
  std::int32_t overtaken = 0;  ///< groups that were admitted before it though they came later
  std::int64_t reserved = 0;   ///< pages set aside for its longest output (reserve mode)
  /// Tokens of its input that it found when it first began: of the encoder's, if it has one, else
  /// of the prompt; -1 before.
  std::int32_t cached = -1;
  bool looked_in_files = false;  ///< since it began to wait: whether some of its pages are there
  PrefixLeader leads;            ///< for whose pages it waits, though it could begin
  GuessCounts guesses;           ///< of its sequences
  bool charged = false;          ///< its prompt is on its client's account
  bool done = false;             ///< has ended; kept while results are under way
  std::optional<BeamSearch> beams;
  std::vector<std::vector<TokenLogprob>> candidates;  ///< of each beam, in the step under way
  std::int32_t beams_ready = 0;                       ///< how many beams have theirs
  /// Why nothing was chosen for one of its sequences, where more is known than its masks.
  std::shared_ptr<const ChoiceFailure> failure;

  /// Makes the sequences, which know the prompt. It allocates, which the constructor must not: the
  /// data that a derived class is given would be lost if the constructor threw.
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
  /// Whether known tokens of a sequence, the first of them at position `start`, are its newest
  /// output with what was put in behind it, which it computes as others do one token.
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
  kDone,       ///< each sequence by itself
  kStopped,    ///< asked to stop: what there is counts
  kCancelled,  ///< taken back
  kFailed,     ///< the error says why
};

}  // namespace weft
