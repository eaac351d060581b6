#include "weft/cli/batch/batch_journal.h"

#include "weft/cli/text_lines.h"

namespace weft::cli {
namespace {

// The most mistakes that are shown: they fill a screen, and more do not help.
constexpr std::size_t kShownMistakes = 20;

}  // namespace

std::vector<std::string> BatchJournal::read_requests(std::string_view requests) {
  std::vector<std::string> mistakes;
  for (std::size_t number = 1; !requests.empty(); ++number) {
    const std::string_view line = take_line(requests);
    if (is_blank(line)) continue;
    const auto id = custom_id_of(line);
    std::string mistake;
    if (!id) {
      mistake = id.error().message;
    } else if (const auto [twin, added] = by_id_.emplace(*id, lines_.size()); !added) {
      mistake = "has the custom_id of line " + std::to_string(lines_[twin->second].number);
    } else {
      lines_.push_back({number, line});
    }
    if (mistake.empty()) continue;
    if (mistakes.size() == kShownMistakes) {
      mistakes.emplace_back("and so on");
      break;
    }
    mistakes.push_back("line " + std::to_string(number) + " " + mistake);
  }
  return mistakes;
}

boost::system::result<std::size_t, LineError> BatchJournal::read_results(std::string_view results) {
  const std::size_t whole = results.rfind('\n') + 1;  // npos + 1 is 0
  const std::string_view tail = results.substr(whole);
  results = results.substr(0, whole);
  std::size_t number = 1;
  for (; !results.empty(); ++number) {
    const auto id = result_id_of(take_line(results));
    const std::string place = "line " + std::to_string(number) + " ";
    if (!id) return LineError{id.error().code, place + id.error().message};
    const auto found = by_id_.find(*id);
    if (found == by_id_.end()) {
      ++strangers_;
      continue;
    }
    Line& line = lines_[found->second];
    if (line.done) {
      return LineError{"doubled", place + "is a second result of " + *id};
    }
    line.done = true;
    ++done_;
  }
  if (!may_be_cut_result(tail)) {
    return LineError{"no_result", "line " + std::to_string(number) +
                                      " has no end, and is no result that was being written"};
  }
  return whole;
}

std::optional<BatchJournal::Left> BatchJournal::next() {
  while (next_ < lines_.size() && lines_[next_].done) ++next_;
  if (next_ == lines_.size()) return std::nullopt;
  const Line& line = lines_[next_++];
  return Left{line.number, line.text};
}

}  // namespace weft::cli
