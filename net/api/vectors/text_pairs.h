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

/// Pairs of texts that the engine judges: their parts, and their scores afterwards. A first text
/// that all pairs share is embedded once.
class TextPairs {
 public:
  /// Returns how the served model judges pairs; reports a mistake where it cannot.
  [[nodiscard]] static PairJudge judge_of(const BodyFields& fields, const ServedModel& model);

  /// Reports a mistake in field `name` where a cross-encoder's copies of a shared first text would
  /// take more than kMaxPairedBytes.
  static void check_copies(const BodyFields& fields, std::string_view name, PairJudge judge,
                           std::span<const std::string> first, std::size_t second);

  /// `first` and `second` are numbers of texts. There is one first text for all pairs, or one for
  /// each second text.
  TextPairs(PairJudge judge, std::size_t first, std::size_t second)
      : judge_(judge), first_(first), second_(second) {}

  /// Returns a request for each part, with the settings of `shared`.
  [[nodiscard]] std::vector<Request> parts(const Request& shared, std::vector<std::string> first,
                                           std::vector<std::string> second) const;

  /// Returns the embedding of a second text; only for kEmbeddings.
  [[nodiscard]] std::span<const float> second_embedding(std::span<const Finish> parts,
                                                        std::size_t index) const {
    return parts[first_ + index].vector;
  }

  /// Returns the score of each pair, from the parts' results.
  [[nodiscard]] std::vector<float> scores(std::span<const Finish> parts) const;

 private:
  const PairJudge judge_;
  const std::size_t first_;
  const std::size_t second_;
};

}  // namespace weft
