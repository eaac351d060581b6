#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "weft/text/format/output_parser.h"

namespace weft {

/// The implementation of an OutputParser, whose functions call the functions of the same names
/// here.
class OutputParser::Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual ~Reader() = default;

  virtual void feed(std::string_view text, TypedText& out) = 0;
  virtual void finish(TypedText& out, bool cut) = 0;
  [[nodiscard]] virtual bool done() const noexcept = 0;
  [[nodiscard]] virtual bool thinks() const noexcept = 0;
  [[nodiscard]] virtual std::int32_t calls() const noexcept = 0;
  [[nodiscard]] virtual bool in_call() const noexcept = 0;
  /// Returns an offset up to which the output is settled; it never decreases.
  [[nodiscard]] virtual std::size_t settled() const noexcept = 0;

  /// Called before feed(), with the size of its text.
  void note_text(std::size_t bytes) noexcept { fed_ += bytes; }
  /// Returns how many bytes of the output have been fed.
  [[nodiscard]] std::size_t fed() const noexcept { return fed_; }

 private:
  std::size_t fed_ = 0;
};

/// Makes the reader of formats with tags around thoughts and calls.
[[nodiscard]] std::unique_ptr<OutputParser::Reader> make_tag_reader(
    std::shared_ptr<const OutputFormat> format, ParserOptions options);
/// Makes the reader of harmony.
[[nodiscard]] std::unique_ptr<OutputParser::Reader> make_harmony_reader(ParserOptions options);

}  // namespace weft
