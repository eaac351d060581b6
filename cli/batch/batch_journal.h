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

/// The requests of a batch file, the results that exist, and so the requests that are left. Knows
/// texts, not files. Owner only.
class BatchJournal {
 public:
  struct Left {
    std::size_t number = 0;  ///< the line's number, from 1
    std::string_view text{};
  };

  /// Reads the lines of a batch file, except empty ones. `requests` must outlive the journal.
  /// Returns the mistakes, a line each: no JSON, no custom_id, or a custom_id that occurs twice.
  /// With a mistake no request may be asked, since results could not be told apart.
  [[nodiscard]] std::vector<std::string> read_requests(std::string_view requests);

  /// Reads the results that exist. Returns how many of their bytes are whole lines. The rest is a
  /// line that an earlier run began to write and did not finish. The error names a line that is no
  /// result, or a line whose result occurs twice.
  [[nodiscard]] boost::system::result<std::size_t, LineError> read_results(
      std::string_view results);

  /// The next request to ask, in the order of the file; each is returned once.
  [[nodiscard]] std::optional<Left> next();
  [[nodiscard]] std::size_t total() const noexcept { return lines_.size(); }
  /// The number of requests that had no result when read_results() was called.
  [[nodiscard]] std::size_t left() const noexcept { return total() - done_; }
  /// The number of results whose requests are not in the batch file.
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
