#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace weft {

class DraftText;

/// Where a drafter has found what it guesses.
enum class GuessSource : std::uint8_t {
  kOwn,         ///< in the sequence itself, its prompt or output
  kPrediction,  ///< in the output that the request predicts
  kRecent,      ///< in recent outputs of the same client (RecentOutputs)
  kModel,       ///< nowhere: a draft model computed it
};
inline constexpr std::size_t kGuessSources = 4;
/// Returns the name of a source in metrics: "suffix", "prediction", "recent" or "model".
[[nodiscard]] constexpr std::string_view to_string(GuessSource source) noexcept {
  constexpr std::array<std::string_view, kGuessSources> kNames = {"suffix", "prediction", "recent",
                                                                  "model"};
  return kNames.at(static_cast<std::size_t>(source));
}

/// Texts beside a sequence, the newest first; none is null.
using DraftTexts = std::vector<std::shared_ptr<const DraftText>>;

/// The texts beside a sequence. The request owns them; a drafter that follows the sequence only
/// refers to them, so that a long text goes with its request.
struct DraftSources {
  std::shared_ptr<const DraftText> prediction{};  ///< null: the request predicts nothing
  std::shared_ptr<const DraftTexts> recent{};     ///< recent outputs; null: none
};

}  // namespace weft
