#include "weft/text/jinja/builtins/wordwrap.h"

#include <algorithm>
#include <memory_resource>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/python_characters.h"
#include "weft/text/unicode/unicode.h"

namespace weft::jinja {
namespace {

bool is_ascii_space(char32_t c) { return (c >= 9 && c <= 13) || c == ' '; }

bool is_word(char32_t c) { return is_alnum(c) || c == '_'; }

bool is_letter_of_word(char32_t c) { return is_word(c) && !is_decimal_digit(c); }

bool is_word_or_punctuation(char32_t c) {
  return is_word(c) || (c < 0x80 && std::string_view("!\"'&.,?").find(static_cast<char>(c)) !=
                                        std::string_view::npos);
}

/// One line cut into the pieces between which it may be broken: runs of white space, dashes, and
/// words, which hyphens cut too. The rules are those of textwrap's wordsep_re.
class Chunker {
 public:
  Chunker(std::string_view line, bool hyphens, std::pmr::memory_resource* scratch)
      : text_(scratch), hyphens_(hyphens) {
    while (!line.empty()) {
      const Utf8Char next = utf8_at(line);
      text_.push_back(next.code);
      line.remove_prefix(next.length);
    }
  }

  /// The lengths of the pieces, in code points.
  std::pmr::vector<std::size_t> lengths() const {
    std::pmr::vector<std::size_t> lengths(text_.get_allocator().resource());
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
    return index < text_.size() && is_letter_of_word(text_[index]);
  }

  /// Returns the end of two or more dashes that a word follows; `from` when there are none.
  [[nodiscard]] std::size_t dashes_end(std::size_t from) const {
    std::size_t end = from;
    while (at(end) == '-') ++end;
    return end - from >= 2 && end < text_.size() && is_word(text_[end]) ? end : from;
  }

  /// Whether a hyphen at `index` - 1 allows a break after it.
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

  std::pmr::u32string text_;
  bool hyphens_;
};

bool is_blank(std::string_view chunk) { return trim_left(chunk).empty(); }

/// Fills lines with pieces, as textwrap's _wrap_chunks does. A piece that is too long for any line
/// is cut where the line ends.
class Wrapper {
 public:
  Wrapper(TextBuilder& out, const WrapOptions& options, std::string_view separator)
      : out_(out), options_(options), separator_(separator), line_(out.run().scratch()) {}

  void wrap(std::string_view line) {
    // Each character is classified several times.
    constexpr std::size_t kCost = 4;
    Run& run = out_.run();
    if (!run.step_read(kCost * line.size())) return;
    const auto lengths = Chunker(line, options_.break_on_hyphens, run.scratch()).lengths();
    for (next_ = lengths.begin(), end_ = lengths.end(), rest_ = line; load();) {
      if (any_line_ && is_blank(chunk_)) drop();
      fill_line();
      if (load() && size_ > options_.width) put_long();
      end_line();
      if (!out_.run().step()) return;
    }
  }

 private:
  /// Loads the next piece if there is no current one; returns whether there is one.
  bool load() {
    if (size_ == 0 && next_ != end_) {
      size_ = *next_++;
      const std::size_t bytes = code_point_offset(rest_, size_);
      chunk_ = rest_.substr(0, bytes);
      rest_.remove_prefix(bytes);
    }
    return size_ != 0;
  }

  void drop() { size_ = 0; }

  void fill_line() {
    while (load() && length_ + size_ <= options_.width) put(size_);
  }

  /// Moves the first `count` characters of the current piece to the line.
  void put(std::size_t count) {
    const std::size_t bytes = code_point_offset(chunk_, count);
    line_.push_back(chunk_.substr(0, bytes));
    chunk_.remove_prefix(bytes);
    size_ -= count;
    length_ += count;
  }

  void put_long() {
    const std::size_t space = options_.width - length_;
    if (options_.break_long_words) {
      put(options_.break_on_hyphens ? hyphen_end(space) : space);
    } else if (line_.empty()) {
      put(size_);
    }
  }

  /// Returns the position after the last hyphen among the first `space` characters that has other
  /// characters than hyphens before it.
  [[nodiscard]] std::size_t hyphen_end(std::size_t space) const {
    const std::string_view head = chunk_.substr(0, code_point_offset(chunk_, space));
    const std::size_t hyphen = head.rfind('-');
    const bool useful = hyphen != std::string_view::npos && hyphen > 0 &&
                        head.substr(0, hyphen).find_first_not_of('-') != std::string_view::npos;
    return useful ? count_code_points(head.substr(0, hyphen)) + 1 : space;
  }

  void end_line() {
    if (!line_.empty() && is_blank(line_.back())) line_.pop_back();
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
  std::pmr::vector<std::size_t>::const_iterator next_;
  std::pmr::vector<std::size_t>::const_iterator end_;
  std::string_view rest_;   ///< the text after the current piece
  std::string_view chunk_;  ///< The rest of the current piece, and the lengths of its characters.
  std::size_t size_ = 0;
  std::pmr::vector<std::string_view> line_;
  std::size_t length_ = 0;
  bool any_line_ = false;
};

}  // namespace

void append_wrapped(TextBuilder& out, std::string_view line, const WrapOptions& options,
                    std::string_view separator) {
  Wrapper(out, options, separator).wrap(line);
}

}  // namespace weft::jinja
