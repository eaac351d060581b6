#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/token.h"
#include "weft/sampling/sampler.h"
#include "weft/sampling/sampling_params.h"

namespace weft {

/// How many of its most probable tokens each beam has to offer: enough to go on with num_beams
/// beams even if `ends` of them end the output. 2 * num_beams as in Hugging Face's generate() when
/// there are no more ends than beams; at most kMaxTopLogprobs.
[[nodiscard]] std::int32_t beam_candidates(std::int32_t num_beams, std::size_t ends);

/// A beam after a step.
struct Beam {
  std::int32_t parent = 0;   ///< which beam it goes on from, as they were before the step
  TokenId token = kNoToken;  ///< the token that it adds
  double score = 0;          ///< the sum of its logprobs
};

/// A finished output.
struct BeamHypothesis {
  std::vector<TokenId> tokens;    ///< the output, the token that ended it included
  double score = 0;               ///< the sum of logprobs / length ^ length_penalty
  bool ended = false;             ///< by a token; otherwise by its length
  std::vector<float> logprobs{};  ///< one for each token
};

/// The bookkeeping of one request's beam search (the algorithm of Hugging Face's generate(), which
/// is that of Wu et al., arXiv 1609.08144, section 7, with another length penalty): the caller
/// computes logits and moves caches. Begins with one beam, the prompt. Takes its memory when it is
/// made; start() and advance() allocate nothing. Owner only.
///
/// A step adds to each beam's score its candidates' logprobs and orders them: the greater score
/// first, of equal ones the lower beam, then the candidate's index in its list. In this order the
/// first num_beams that do not end the output become the beams; a candidate that ends it becomes
/// finished when it is among the first num_beams of all. Of finished ones the num_beams best are
/// kept; of equal ones those that finished first.
class BeamSearch {
 public:
  /// For searches of at most so many beams and tokens of output.
  BeamSearch(std::int32_t max_beams, std::size_t max_tokens);

  /// Begins a search. 1 <= params.num_beams <= max_beams, 1 <= max_tokens <= those it was made for.
  /// Tokens of `ends` (borrowed until the next start()) end an output.
  void start(const BeamParams& params, std::size_t max_tokens, std::span<const TokenId> ends);

  /// One step: for each running beam its candidates with their logprobs, best first. Returns the
  /// beams that go on, best first; none when the search is done: by early stopping, by max_tokens
  /// (what runs then is finished by its length), or because no candidate is a number above -inf.
  /// Valid until the next call. There must be as many lists as beams().
  std::span<const Beam> advance(std::span<const std::span<const TokenLogprob>> candidates);

  /// Ends the search now: what runs is finished by its length.
  void finish();

  [[nodiscard]] bool done() const { return done_; }
  /// How many beams run.
  [[nodiscard]] std::size_t beams() const { return beams_.size(); }
  /// Tokens of output that each running beam has.
  [[nodiscard]] std::size_t length() const { return length_; }

  /// The best `count` of the finished outputs, or as many as there are; best first. Allocates what
  /// it returns.
  [[nodiscard]] std::vector<BeamHypothesis> best(std::size_t count) const;

 private:
  static constexpr std::int32_t kRoot = -1;

  /// A token of an output and the one before it: outputs that begin alike share their nodes.
  struct Node {
    TokenId token;
    std::int32_t before;
    float logprob;
  };
  struct Extension {
    double score;
    std::int32_t beam;
    std::int32_t rank;  ///< in its beam's list
    TokenId token;
    float logprob;
  };
  struct Finished {
    double score;
    std::int32_t last;  ///< node
    bool ended;
  };

  void rank_extensions(std::span<const std::span<const TokenLogprob>> candidates);
  void take_beams();
  void add_finished(double score, std::int32_t last, std::size_t length, bool ended);
  [[nodiscard]] std::int32_t add_node(const Extension& extension, std::int32_t before);
  [[nodiscard]] bool is_end(TokenId token) const;
  [[nodiscard]] bool can_stop() const;
  [[nodiscard]] double normalized(double score, std::size_t length) const;

  BeamParams params_;
  std::size_t max_beams_;
  std::size_t capacity_;  ///< in tokens of output
  std::size_t max_tokens_ = 0;
  std::size_t length_ = 0;
  bool done_ = true;
  std::span<const TokenId> ends_;
  std::vector<Node> nodes_;
  std::vector<Extension> extensions_;
  std::vector<Beam> beams_;         ///< those that run, best first
  std::vector<std::int32_t> last_;  ///< of each beam its last node
  std::vector<std::int32_t> new_last_;
  std::vector<Finished> finished_;  ///< best first
};

}  // namespace weft
