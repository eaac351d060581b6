#include "weft/cli/chat/thoughts.h"

namespace weft::cli {

void Thoughts::clear() { *this = {}; }

void Thoughts::begin_answer() noexcept {
  under_way_ = false;
  begin_ = text_.size();
  words_ = 0;
}

void Thoughts::add(std::string_view text, Time now) {
  if (!under_way_) {
    if (!text_.empty()) text_ += "\n\n";
    begin_ = text_.size();
    words_ = 0;
    in_word_ = false;
    since_ = now;
    under_way_ = true;
  }
  text_ += text;
  for (const char byte : text) {
    const bool in_word = std::string_view(" \t\r\n").find(byte) == std::string_view::npos;
    if (in_word && !in_word_) ++words_;
    in_word_ = in_word;
  }
}

std::string Thoughts::size(Time now) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - since_).count();
  return std::to_string(words_) + (words_ == 1 ? " word, " : " words, ") + std::to_string(seconds) +
         " s";
}

}  // namespace weft::cli
