#include "weft/text/jinja_wordwrap.h"

#include <algorithm>
#include <string>

#include "weft/text/jinja_unicode.h"

namespace weft::jinja {
namespace {

bool is_ascii_space(char32_t c) { return (c >= 9 && c <= 13) || c == ' '; }

bool is_word(char32_t c) { return is_alnum(c) || c == '_'; }

bool is_letter(char32_t c) { return is_word(c) && !is_decimal(c); }

bool is_word_or_punctuation(char32_t c) {
  return is_word(c) || (c < 0x80 && std::string_view("!\"'&.,?").find(static_cast<char>(c)) !=
                                        std::string_view::npos);
}

/// One line cut into the pieces between which it may be broken: runs of white space, dashes, and
/// words, which hyphens cut too. The rules are those of textwrap's wordsep_re.
class Chunker {
 public:
  Chunker(std::string_view line, bool hyphens) : hyphens_(hyphens) {
    while (!line.empty()) {
      const CodePoint next = decode(line);
      text_.push_back(next.value);
      line.remove_prefix(next.bytes);
    }
  }

  /// The lengths of the pieces, in code points.
  std::vector<std::size_t> lengths() const {
    std::vector<std::size_t> lengths;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = chunk_end(at);
      lengths.push_back(end - at);
      at = end;
    }
    return lengths;
  }

 private:
  [[nodiscard]] char32_t at(std::size_t index) const {
    return index < text_.size() ? text_[index] : U'\0';
  }
  [[nodiscard]] bool space(std::size_t index) const {
    return index < text_.size() && is_ascii_space(text_[index]);
  }
  [[nodiscard]] bool letter(std::size_t index) const {
    return index < text_.size() && is_letter(text_[index]);
  }

  /// Where two or more dashes with a word after them end; `from` when there are none.
  [[nodiscard]] std::size_t dashes_end(std::size_t from) const {
    std::size_t end = from;
    while (at(end) == '-') ++end;
    return end - from >= 2 && end < text_.size() && is_word(text_[end]) ? end : from;
  }

  /// A hyphen at `index` - 1 after which a word may be broken.
  [[nodiscard]] bool hyphen_break(std::size_t start, std::size_t index) const {
    if (index < start + 2 || at(index - 1) != '-') return false;
    const bool two_letters = index >= 3 && letter(index - 3) && letter(index - 2);
    const bool initials = index >= 4 && letter(index - 4) && at(index - 3) == '-' &&
                          is_word_or_punctuation(at(index - 2));
    if (!two_letters && !initials) return false;
    return letter(index) && (letter(index + 1) || (at(index + 1) == '-' && letter(index + 2)));
  }

  [[nodiscard]] std::size_t chunk_end(std::size_t start) const {
    std::size_t end = start;
    if (space(start)) {
      while (space(end)) ++end;
      return end;
    }
    if (!hyphens_) {
      while (end < text_.size() && !space(end)) ++end;
      return end;
    }
    if (start > 0 && is_word_or_punctuation(at(start - 1)) && dashes_end(start) != start) {
      return dashes_end(start);
    }
    for (end = start + 1; end < text_.size() && !space(end); ++end) {
      if (hyphen_break(start, end)) return end;
      if (is_word_or_punctuation(at(end - 1)) && dashes_end(end) != end) return end;
    }
    return end;
  }

  std::u32string text_;
  bool hyphens_;
};

class Wrapper {
 public:
  Wrapper(TextBuilder& out, const WrapOptions& options, std::string_view separator)
      : out_(out), options_(options), separator_(separator) {}

  void wrap(std::string_view line) {
    for (const std::size_t size : Chunker(line, options_.break_on_hyphens).lengths()) {
      const std::size_t bytes = byte_offset(line, size);
      add(line.substr(0, bytes), size);
      line.remove_prefix(bytes);
      if (!out_.run().step()) return;
    }
    end_line();
  }

 private:
  static bool blank(std::string_view chunk) { return trim_left(chunk).empty(); }

  void add(std::string_view chunk, std::size_t size) {
    // White space is dropped at the start of every line but the first.
    if (line_.empty() && blank(chunk) && any_line_) return;
    if (length_ + size <= options_.width) return put(chunk, size);
    if (size > options_.width) {
      chunk = break_word(chunk, size);
      size = length(chunk);
      if (chunk.empty()) return;
      if (line_.empty() && size <= options_.width) return put(chunk, size);
    }
    end_line();
    if (size > options_.width) return add_long(chunk, size);
    if (!blank(chunk) || !any_line_) put(chunk, size);
  }

  void add_long(std::string_view chunk, std::size_t size) {
    if (!options_.break_long_words) {
      put(chunk, size);
      return end_line();
    }
    add(chunk, size);
  }

  /// Fills up the line with the beginning of a word that is longer than any line.
  std::string_view break_word(std::string_view chunk, std::size_t size) {
    if (!options_.break_long_words) {
      if (!line_.empty()) return chunk;
      put(chunk, size);
      end_line();
      return {};
    }
    while (size > 0 && length_ + size > options_.width) {
      const std::size_t space = std::max<std::size_t>(options_.width - length_, 1);
      std::size_t end = std::min(space, size);
      if (options_.break_on_hyphens && size > space) end = hyphen_end(chunk, space);
      const std::size_t bytes = byte_offset(chunk, end);
      put(chunk.substr(0, bytes), end);
      chunk.remove_prefix(bytes);
      size -= end;
      end_line();
      if (!out_.run().step()) return {};
    }
    return chunk;
  }

  /// Behind the last hyphen of the first `space` characters that has more than hyphens before it.
  static std::size_t hyphen_end(std::string_view chunk, std::size_t space) {
    const std::string_view head = chunk.substr(0, byte_offset(chunk, space));
    const std::size_t hyphen = head.rfind('-');
    const bool useful = hyphen != std::string_view::npos && hyphen > 0 &&
                        head.substr(0, hyphen).find_first_not_of('-') != std::string_view::npos;
    return useful ? length(head.substr(0, hyphen)) + 1 : space;
  }

  void put(std::string_view chunk, std::size_t size) {
    line_.push_back(chunk);
    length_ += size;
  }

  void end_line() {
    if (!line_.empty() && blank(line_.back())) line_.pop_back();
    if (!line_.empty()) {
      if (any_line_) out_.append(separator_);
      for (const std::string_view chunk : line_) out_.append(chunk);
      any_line_ = true;
    }
    line_.clear();
    length_ = 0;
  }

  TextBuilder& out_;
  const WrapOptions& options_;
  std::string_view separator_;
  std::vector<std::string_view> line_;
  std::size_t length_ = 0;
  bool any_line_ = false;
};

}  // namespace

void append_wrapped(TextBuilder& out, std::string_view line, const WrapOptions& options,
                    std::string_view separator) {
  Wrapper(out, options, separator).wrap(line);
}

}  // namespace weft::jinja
