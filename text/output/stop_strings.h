#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/error/error.h"

namespace weft {

/// The strings that end an output, compiled to the automaton of Aho and Corasick (Efficient string
/// matching: an aid to bibliographic search, CACM 18(6), 1975, algorithms 1 to 3). Immutable,
/// thread-safe and cheap to copy: copies share the automaton, which takes at most 12 bytes for each
/// byte of the strings and 1 KiB, so 49 KiB for the largest set.
class StopStrings {
 public:
  /// Bounds of a request's stop strings. No known request needs more, and an automaton of this size
  /// stays in a core's cache.
  static constexpr std::size_t kMaxStrings = 16;
  static constexpr std::size_t kMaxStringBytes = 256;

  /// Without stop strings nothing ever matches.
  StopStrings() = default;

  /// Compiles the strings. kBadStopString names a string ("stop[3]") that is empty, too long or not
  /// UTF-8; it also reports that there are too many.
  [[nodiscard]] static Result<StopStrings> compile(std::span<const std::string> strings);

  [[nodiscard]] bool empty() const noexcept { return automaton_ == nullptr; }
  /// Returns the number of stop strings.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Returns the stop string as compile() got it; index < size().
  [[nodiscard]] const std::string& text(std::size_t index) const noexcept;

 private:
  friend class StopScanner;
  struct Automaton;
  using State = std::uint16_t;

  std::shared_ptr<const Automaton> automaton_;
};

/// Looks for stop strings in one output while it is written. The text that feed() and flush()
/// append does not depend on how the output is cut into parts. It equals the result of a search in
/// the whole output: all text before the earliest position where a stop string begins. Of several
/// strings that begin there the shortest counts, of equal ones the first. So a string inside
/// another, as "Answer" in "The Answer:", matches once the longer one can no longer come.
///
/// Only a possible beginning of a stop string is held back, which is less than the longest string.
/// It is not stored, because the automaton's state spells it. So nothing is scanned twice and
/// nothing is allocated here; n bytes take at most 2 n steps, however much is held back. Owner
/// only.
class StopScanner {
 public:
  explicit StopScanner(StopStrings stops) noexcept : stops_(std::move(stops)) {}

  /// Appends to `out` the text that `text`, the next part of the output, settles: all bytes that
  /// can no longer belong to a stop string. Where the parts are whole characters of UTF-8, so is
  /// the appended text. Returns the index of the stop string that matched, once one has. `out` then
  /// has all text before it, and later calls append nothing and return the same index.
  std::optional<std::size_t> feed(std::string_view text, std::string& out);

  /// Ends the output: appends the held-back text, or returns the match that waited for a longer
  /// string. Called once.
  std::optional<std::size_t> flush(std::string& out);

 private:
  /// A stop string that was found. It counts unless another one is found that begins before it.
  struct Candidate {
    std::size_t index;
    std::size_t span;  ///< bytes from its beginning to the present position
  };

  void advance(char byte, std::string& out);
  void note_stop();

  StopStrings stops_;
  StopStrings::State state_ = 0;
  std::optional<Candidate> candidate_;
  std::optional<std::size_t> hit_;
};

}  // namespace weft
