#include "weft/sampling/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/kernels/require.h"
#include "weft/sampling/portable_math.h"

namespace weft {

std::int32_t beam_candidates(std::int32_t num_beams, std::size_t ends) {
  const auto beams = static_cast<std::size_t>(num_beams);
  const auto most = static_cast<std::size_t>(kMaxTopLogprobs);
  return static_cast<std::int32_t>(std::min(beams + std::max(beams, std::min(ends, most)), most));
}

BeamSearch::BeamSearch(std::int32_t max_beams, std::size_t max_tokens)
    : max_beams_(static_cast<std::size_t>(max_beams)), capacity_(max_tokens) {
  require(max_beams >= 1 && max_tokens <= INT32_MAX / (2 * max_beams_),
          "beam_search: sizes out of range");
  // A step adds a node for each beam that goes on, and at most as many for outputs that end.
  nodes_.reserve(2 * max_beams_ * max_tokens);
  extensions_.reserve(max_beams_ * static_cast<std::size_t>(kMaxTopLogprobs));
  beams_.reserve(max_beams_);
  last_.reserve(max_beams_);
  new_last_.reserve(max_beams_);
  finished_.reserve(max_beams_ + 1);
}

void BeamSearch::start(const BeamParams& params, std::size_t max_tokens,
                       std::span<const TokenId> ends) {
  require(params.num_beams >= 1 && static_cast<std::size_t>(params.num_beams) <= max_beams_ &&
              max_tokens >= 1 && max_tokens <= capacity_,
          "beam_search: larger than it was made for");
  params_ = params;
  max_tokens_ = max_tokens;
  ends_ = ends;
  length_ = 0;
  done_ = false;
  nodes_.clear();
  finished_.clear();
  beams_.assign(1, Beam{});
  last_.assign(1, kRoot);
}

std::span<const Beam> BeamSearch::advance(
    std::span<const std::span<const TokenLogprob>> candidates) {
  require(!done_ && candidates.size() == beams_.size(),
          "beam_search: candidates of other beams than those that run");
  rank_extensions(candidates);
  ++length_;
  take_beams();
  if (beams_.empty() || can_stop()) {
    beams_.clear();
    done_ = true;
  } else if (length_ == max_tokens_) {
    finish();
  }
  return beams_;
}

void BeamSearch::rank_extensions(std::span<const std::span<const TokenLogprob>> candidates) {
  extensions_.clear();
  for (std::size_t beam = 0; beam < candidates.size(); ++beam) {
    require(candidates[beam].size() <= static_cast<std::size_t>(kMaxTopLogprobs),
            "beam_search: more candidates than kMaxTopLogprobs");
    std::int32_t rank = 0;
    for (const TokenLogprob& candidate : candidates[beam]) {
      const double score = beams_[beam].score + static_cast<double>(candidate.logprob);
      if (!std::isfinite(score)) continue;
      extensions_.push_back(
          {score, static_cast<std::int32_t>(beam), rank++, candidate.token, candidate.logprob});
    }
  }
  std::ranges::sort(extensions_, [](const Extension& a, const Extension& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.beam != b.beam ? a.beam < b.beam : a.rank < b.rank;
  });
}

void BeamSearch::take_beams() {
  const auto wanted = static_cast<std::size_t>(params_.num_beams);
  beams_.clear();
  new_last_.clear();
  for (std::size_t i = 0; i < extensions_.size() && beams_.size() < wanted; ++i) {
    const Extension& extension = extensions_[i];
    const std::int32_t before = last_[static_cast<std::size_t>(extension.beam)];
    if (!is_end(extension.token)) {
      beams_.push_back({extension.beam, extension.token, extension.score});
      new_last_.push_back(add_node(extension, before));
    } else if (i < wanted) {
      add_finished(extension.score, add_node(extension, before), length_, true);
    }
  }
  last_.swap(new_last_);
}

void BeamSearch::finish() {
  for (std::size_t beam = 0; beam < beams_.size() && length_ > 0; ++beam) {
    add_finished(beams_[beam].score, last_[beam], length_, false);
  }
  beams_.clear();
  done_ = true;
}

void BeamSearch::add_finished(double score, std::int32_t last, std::size_t length, bool ended) {
  const Finished entry{normalized(score, length), last, ended};
  const auto worse = std::ranges::find_if(
      finished_, [&](const Finished& other) { return other.score < entry.score; });
  finished_.insert(worse, entry);
  if (finished_.size() > static_cast<std::size_t>(params_.num_beams)) finished_.pop_back();
}

std::int32_t BeamSearch::add_node(const Extension& extension, std::int32_t before) {
  nodes_.push_back({extension.token, before, extension.logprob});
  return static_cast<std::int32_t>(nodes_.size() - 1);
}

bool BeamSearch::is_end(TokenId token) const {
  return std::ranges::find(ends_, token) != ends_.end();
}

bool BeamSearch::can_stop() const {
  if (finished_.size() < static_cast<std::size_t>(params_.num_beams)) return false;
  if (params_.early_stopping == EarlyStopping::kYes) return true;
  // With a penalty above 0 a sum of logprobs counts the least at the greatest length.
  const bool may_grow =
      params_.early_stopping == EarlyStopping::kNever && params_.length_penalty > 0;
  const double reachable = normalized(beams_[0].score, may_grow ? max_tokens_ : length_);
  return finished_.back().score >= reachable;
}

double BeamSearch::normalized(double score, std::size_t length) const {
  return score / sampling::portable_pow(static_cast<double>(length),
                                        static_cast<double>(params_.length_penalty));
}

std::vector<BeamHypothesis> BeamSearch::best(std::size_t count) const {
  std::vector<BeamHypothesis> result;
  for (std::size_t i = 0; i < std::min(count, finished_.size()); ++i) {
    BeamHypothesis hypothesis{
        .tokens = {}, .score = finished_[i].score, .ended = finished_[i].ended};
    for (std::int32_t at = finished_[i].last; at != kRoot;) {
      const Node& node = nodes_[static_cast<std::size_t>(at)];
      hypothesis.tokens.push_back(node.token);
      hypothesis.logprobs.push_back(node.logprob);
      at = node.before;
    }
    std::ranges::reverse(hypothesis.tokens);
    std::ranges::reverse(hypothesis.logprobs);
    result.push_back(std::move(hypothesis));
  }
  return result;
}

}  // namespace weft
