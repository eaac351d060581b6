#pragma once

#include <boost/system/result.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/cli/batch/batch_lines.h"

namespace weft::cli {

/// What a batch file asks, what its results say is done, and so what is left. Knows texts, no
/// files. Owner only.
class BatchJournal {
 public:
  struct Left {
    std::size_t number = 0;  ///< of the line, from 1
    std::string_view text{};
  };

  /// The lines of a batch file; empty ones count for nothing. `requests` outlives the journal.
  /// Returns what is wrong, a line each: no JSON, no custom_id, a custom_id twice. Then nothing is
  /// to be asked: results could not be told apart.
  [[nodiscard]] std::vector<std::string> read_requests(std::string_view requests);

  /// The results that are there. Returns how many bytes of them are whole lines: what follows is
  /// one of ours that was cut off while it was written. An error names the line that is no result,
  /// or is one that is there twice.
  [[nodiscard]] boost::system::result<std::size_t, LineError> read_results(
      std::string_view results);

  /// In the order of the file; each once.
  [[nodiscard]] std::optional<Left> next();
  [[nodiscard]] std::size_t total() const noexcept { return lines_.size(); }
  /// Without results, as read_results() has found them.
  [[nodiscard]] std::size_t left() const noexcept { return total() - done_; }
  /// Results of requests that the file does not have (any more).
  [[nodiscard]] std::size_t strangers() const noexcept { return strangers_; }

 private:
  struct Line {
    std::size_t number;
    std::string_view text;
    bool done = false;
  };
  std::vector<Line> lines_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::size_t done_ = 0;
  std::size_t strangers_ = 0;
  std::size_t next_ = 0;
};

}  // namespace weft::cli
