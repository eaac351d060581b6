#include "weft/cli/chat/input_error.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "weft/core/text/utf8.h"

namespace weft::cli {
namespace {

/// Returns one string for each character, which takes one column; characters that move the cursor
/// become spaces.
std::vector<std::string> characters_of(std::string_view line) {
  std::vector<std::string> characters;
  for (const char byte : line) {
    if (!is_continuation_byte(byte) || characters.empty()) characters.emplace_back();
    const bool control = static_cast<unsigned char>(byte) < ' ' || byte == '\x7f';
    characters.back() += control ? ' ' : byte;
  }
  return characters;
}

}  // namespace

void throw_exception_from_error(const InputError& error, const boost::source_location& /*where*/) {
  throw std::invalid_argument(error.what);
}

std::string explain(std::string_view line, const InputError& error, std::size_t width) {
  const std::vector<std::string> characters = characters_of(line);
  const std::string_view before = line.substr(0, error.offset);
  const std::size_t column = count_code_points(before);
  // When the line is longer than the width, the mistake is in the middle of the shown part.
  const std::size_t most = characters.size() - std::min(characters.size(), width - 1);
  const std::size_t first = std::min(column - std::min(column, width / 2), most);
  const std::size_t last = std::min(first + width, characters.size());
  std::string text;
  for (std::size_t i = first; i < last; ++i) text += characters[i];
  text += '\n' + std::string(column - first, ' ') + "^\n";
  return text + "column " + std::to_string(column + 1) + ": " + error.what;
}

}  // namespace weft::cli
