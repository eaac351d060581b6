#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// How a model judges pairs of texts.
enum class PairJudge : std::uint8_t {
  kCrossEncoder,  ///< reads both texts at once and gives one score
  kEmbeddings,    ///< gives each text an embedding; the score is their cosine
};

/// Pairs of texts on their way through the engine: their parts, and their scores afterwards. A
/// first text that all pairs have is embedded once.
class TextPairs {
 public:
  /// How the served model does it; a mistake where it cannot.
  [[nodiscard]] static PairJudge judge_of(const BodyFields& fields, const ServedModel& model);

  /// A mistake of the field `name` where copies of one first text, a cross-encoder's, would take
  /// more than kMaxPairedBytes.
  static void check_copies(const BodyFields& fields, std::string_view name, PairJudge judge,
                           std::span<const std::string> first, std::size_t second);

  /// `first` has one text, which is paired with each of `second`, or as many as that.
  TextPairs(PairJudge judge, std::size_t first, std::size_t second)
      : judge_(judge), first_(first), second_(second) {}

  /// A request for each part, from what all have in common.
  [[nodiscard]] std::vector<Request> parts(const Request& shared, std::vector<std::string> first,
                                           std::vector<std::string> second) const;

  /// The embedding of a second text; only for kEmbeddings.
  [[nodiscard]] std::span<const float> second_embedding(std::span<const Finish> parts,
                                                        std::size_t index) const {
    return parts[first_ + index].vector;
  }

  /// A score for each pair, from what the parts gave.
  [[nodiscard]] std::vector<float> scores(std::span<const Finish> parts) const;

 private:
  const PairJudge judge_;
  const std::size_t first_;
  const std::size_t second_;
};

}  // namespace weft
