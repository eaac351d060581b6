#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace weft {

class DraftText;

/// Where a drafter has found what it guesses.
enum class GuessSource : std::uint8_t {
  kOwn,         ///< in the sequence itself, its prompt or output
  kPrediction,  ///< in the output that the request predicts
};
inline constexpr std::size_t kGuessSources = 2;
/// Returns the name of a source in metrics: "suffix" or "prediction".
[[nodiscard]] constexpr std::string_view to_string(GuessSource source) noexcept {
  return source == GuessSource::kOwn ? "suffix" : "prediction";
}

/// The texts beside a sequence. The request owns them; a drafter that follows the sequence only
/// refers to them, so that a long text goes with its request.
struct DraftSources {
  std::shared_ptr<const DraftText> prediction{};  ///< null: the request predicts nothing
};

}  // namespace weft
