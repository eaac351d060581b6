#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/token.h"
#include "weft/sampling/sampler.h"
#include "weft/sampling/sampling_params.h"

namespace weft {

/// How many of its most probable tokens each beam offers as candidates: enough to continue with
/// num_beams beams even if `ends` candidates end the output. With no more ends than beams it is
/// 2 * num_beams, as in Hugging Face's generate(); at most kMaxTopLogprobs.
[[nodiscard]] std::int32_t beam_candidates(std::int32_t num_beams, std::size_t ends);

/// A beam after a step.
struct Beam {
  std::int32_t parent = 0;   ///< index before the step of the beam that it continues
  TokenId token = kNoToken;  ///< the token that it adds
  double score = 0;          ///< the sum of its logprobs
};

/// A finished output.
struct BeamHypothesis {
  std::vector<TokenId> tokens;    ///< the output, the token that ended it included
  double score = 0;               ///< the sum of logprobs / length ^ length_penalty
  bool ended = false;             ///< a token ended it; otherwise its length did
  std::vector<float> logprobs{};  ///< one for each token
};

/// The bookkeeping of one request's beam search; the caller computes logits and moves caches. The
/// algorithm is Hugging Face's generate(): Wu et al., arXiv 1609.08144, section 7, with another
/// length penalty. The search begins with one beam, the prompt. The constructor allocates all
/// memory; start() and advance() allocate nothing. Owner only.
///
/// A step scores each candidate with its beam's score plus its logprob. It orders candidates by the
/// greater score, then the lower beam, then the index in the beam's list. In this order, the first
/// num_beams candidates that do not end the output become the new beams. A candidate that ends the
/// output becomes a finished output if it is among the first num_beams of all. The num_beams best
/// finished outputs are kept; of equal ones, the first to finish.
class BeamSearch {
 public:
  /// For searches of at most `max_beams` beams and `max_tokens` tokens of output.
  BeamSearch(std::int32_t max_beams, std::size_t max_tokens);

  /// Begins a search. 1 <= params.num_beams <= max_beams, 1 <= max_tokens <= the constructor's. The
  /// tokens of `ends` (borrowed until the next start()) end an output.
  void start(const BeamParams& params, std::size_t max_tokens, std::span<const TokenId> ends);

  /// Advances by one step. `candidates` has a list for each of the beams(): its candidates with
  /// their logprobs, best first. Returns the new beams, best first, valid until the next call; none
  /// when the search is done, by early stopping, by max_tokens (which finishes running beams), or
  /// because no candidate's logprob is a number above -inf.
  std::span<const Beam> advance(std::span<const std::span<const TokenLogprob>> candidates);

  /// Ends the search now; running beams become finished outputs by their length.
  void finish();

  [[nodiscard]] bool done() const { return done_; }
  /// The number of running beams.
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
    std::int32_t rank;  ///< index in its beam's list
    TokenId token;
    float logprob;
  };
  struct Finished {
    double score;
    std::int32_t last;  ///< index of the node
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
  std::size_t capacity_;  ///< most tokens of an output
  std::size_t max_tokens_ = 0;
  std::size_t length_ = 0;
  bool done_ = true;
  std::span<const TokenId> ends_;
  std::vector<Node> nodes_;
  std::vector<Extension> extensions_;
  std::vector<Beam> beams_;         ///< running beams, best first
  std::vector<std::int32_t> last_;  ///< each beam's last node
  std::vector<std::int32_t> new_last_;
  std::vector<Finished> finished_;  ///< best first
};

}  // namespace weft
