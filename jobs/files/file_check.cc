#include "weft/jobs/files/file_check.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "weft/jobs/jobs_error.h"
#include "weft/train/data/examples.h"

namespace weft {

Result<std::int64_t> check_training_data(std::string_view text) {
  std::int64_t examples = 0;
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (const auto checked = check_training_line(line); !checked) {
      return Error{JobsErrc::kBadFile,
                   "line " + std::to_string(number) + ": " + checked.error().detail};
    }
    ++examples;
  }
  if (examples == 0) return Error{JobsErrc::kBadFile, "the file has no example"};
  return examples;
}

}  // namespace weft
