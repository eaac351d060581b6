#include "weft/measure/perplexity/perplexity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "weft/gpu/sequence_runner.h"
#include "weft/measure/measure_error.h"
#include "weft/measure/perplexity/logit_scores.h"

namespace weft::measure {
namespace {

std::span<const float> logits_at(ConstRows rows, std::size_t row) {
  return {rows.row(static_cast<std::int64_t>(row)), static_cast<std::size_t>(rows.width)};
}

/// Runs the windows. The reference computes a chunk after the model, whose logits of that chunk
/// stay in its device's buffers meanwhile.
class WindowScorer {
 public:
  explicit WindowScorer(const PerplexityRun& run) : run_(run), model_(*run.model) {
    chunk_ = run.model->options().max_outputs;
    if (run.reference == nullptr) return;
    reference_.emplace(*run.reference);
    report_.difference.emplace();
    chunk_ = std::min(chunk_, run.reference->options().max_outputs);
  }

  Result<PerplexityReport> score() {
    for (const TokenWindow& window : run_.windows) {
      if (auto read = begin(window); !read) return read.error();
      for (std::size_t at = window.first_scored; at < window.end && !stopped_;) {
        const std::size_t end = std::min(at + static_cast<std::size_t>(chunk_), window.end);
        if (auto scored = score_chunk(window, at, end); !scored) return scored.error();
        at = end;
      }
      if (stopped_) break;
    }
    return std::move(report_);
  }

 private:
  [[nodiscard]] std::span<const TokenId> tokens(std::size_t begin, std::size_t end) const {
    return run_.tokens.subspan(begin, end - begin);
  }

  /// Computes the tokens before the token that predicts the first scored one.
  Result<void> begin(const TokenWindow& window) {
    const auto context = tokens(window.begin, window.first_scored - 1);
    const auto whole = static_cast<std::int64_t>(window.end - window.begin);
    model_.reset();
    if (auto read = model_.feed(context, {}, true, whole); !read) return read;
    if (!reference_) return {};
    reference_->reset();
    return reference_->feed(context, {}, true, whole);
  }

  /// Scores tokens [from, to); the logits at the token before each predict it.
  Result<void> score_chunk(const TokenWindow& window, std::size_t from, std::size_t to) {
    const auto read = tokens(from - 1, to - 1);
    const auto whole = static_cast<std::int64_t>(window.end - window.begin);
    Result<void> inner;
    const auto add = [&](ConstRows logits) {
      if (!reference_) {
        add_rows(from, logits, {});
        return;
      }
      const auto compare = [&](ConstRows of_reference) { add_rows(from, logits, of_reference); };
      inner = reference_->feed(read, compare, false, whole);
    };
    if (auto fed = model_.feed(read, add, false, whole); !fed) return fed;
    if (!inner) return inner;
    if (bad_token_) {
      return Error{MeasureErrc::kBadSteps,
                   "the logits for token " + std::to_string(*bad_token_) + " are not numbers"};
    }
    stopped_ = run_.progress && !run_.progress(report_.loss.count());
    return {};
  }

  void add_rows(std::size_t first, ConstRows logits, ConstRows reference) {
    for (std::size_t row = 0; row < static_cast<std::size_t>(logits.count); ++row) {
      add_token(first + row, logits_at(logits, row),
                reference_ ? logits_at(reference, row) : std::span<const float>{});
    }
  }

  void add_token(std::size_t at, std::span<const float> logits, std::span<const float> reference) {
    const auto token = static_cast<std::size_t>(run_.tokens[at]);
    const double loss = negative_log_likelihood(logits, token);
    if (std::isnan(loss)) return note_bad(at);
    report_.loss.add(loss);
    if (!reference_) return;
    const double reference_loss = negative_log_likelihood(reference, token);
    const double nats = divergence(reference, logits);
    if (std::isnan(reference_loss) || std::isnan(nats)) return note_bad(at);
    PredictionDifference& difference = *report_.difference;
    difference.reference_loss.add(reference_loss);
    difference.loss_difference.add(loss - reference_loss);
    difference.divergence.add(nats);
    difference.divergences.push_back(static_cast<float>(nats));
    difference.same_top.add(top_token(logits) == top_token(reference) ? 1 : 0);
  }

  void note_bad(std::size_t at) {
    if (!bad_token_) bad_token_ = at;
  }

  const PerplexityRun& run_;
  SequenceRunner model_;
  std::optional<SequenceRunner> reference_;
  PerplexityReport report_;
  std::optional<std::size_t> bad_token_;
  std::int32_t chunk_ = 1;
  bool stopped_ = false;
};

}  // namespace

Result<PerplexityReport> measure_perplexity(const PerplexityRun& run) {
  return WindowScorer(run).score();
}

}  // namespace weft::measure
