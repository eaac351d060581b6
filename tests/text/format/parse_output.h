#pragma once

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/text/format/output_parser.h"

namespace weft::test {

/// Functions with parameters of these types, as Request::tools has them.
struct TestFunction {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters{};  ///< name, type
};

inline std::shared_ptr<const ToolSchemas> test_tools(const std::vector<TestFunction>& functions) {
  boost::json::array tools;
  for (const TestFunction& one : functions) {
    boost::json::object properties;
    for (const auto& [name, type] : one.parameters) properties[name] = {{"type", type}};
    boost::json::object function{
        {"name", one.name},
        {"parameters", {{"type", "object"}, {"properties", std::move(properties)}}}};
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return std::make_shared<const ToolSchemas>(boost::json::value(std::move(tools)));
}

/// The pieces of a text: "text|...", "think|...", "id|ID", "call|NAME", "args|..." and "end", each
/// run whole.
inline std::vector<std::string> pieces_of(const TypedText& typed) {
  std::vector<std::string> pieces;
  PieceKind last = PieceKind::kCallEnd;
  for_each_piece(typed.text(), typed.marks(), [&](OutputPiece piece) {
    constexpr std::string_view kNames[] = {"text|", "think|", "call|", "args|", "end", "id|"};
    const bool goes_on = !pieces.empty() && piece.kind == last &&
                         piece.kind != PieceKind::kCallName && piece.kind != PieceKind::kCallEnd &&
                         piece.kind != PieceKind::kCallId;
    if (!goes_on) pieces.emplace_back(kNames[static_cast<std::size_t>(piece.kind)]);
    pieces.back().append(piece.text);
    last = piece.kind;
  });
  return pieces;
}

/// Expects that all text and thoughts of an output say where they stand in it, in their order.
inline void expect_sources(const TypedText& typed, std::string_view output) {
  std::size_t prose = 0;
  for_each_piece(typed.text(), typed.marks(), [&](OutputPiece piece) {
    if (piece.kind == PieceKind::kText || piece.kind == PieceKind::kReasoning) {
      prose += piece.text.size();
    }
  });
  std::size_t end = 0;
  std::size_t told = 0;
  for (const SourceRun& run : typed.sources()) {
    EXPECT_GE(run.source, end);
    end = run.source + run.size;
    told += run.size;
    ASSERT_LE(end, output.size());
    EXPECT_EQ(typed.text().substr(run.begin, run.size), output.substr(run.source, run.size));
  }
  EXPECT_EQ(told, prose);
}

/// Feeds an output in these parts; with `cut` the model was stopped there.
inline std::vector<std::string> parse_parts(const OutputFormat& format,
                                            const ParserOptions& options,
                                            const std::vector<std::string_view>& parts,
                                            bool cut = false) {
  OutputParser parser(std::make_shared<const OutputFormat>(format), options);
  TypedText out;
  std::string output;
  std::size_t settled = 0;
  for (const std::string_view part : parts) {
    parser.feed(part, out);
    output.append(part);
    EXPECT_GE(parser.settled(), settled);
    settled = parser.settled();
    EXPECT_LE(settled, output.size());
    const auto sources = out.sources();
    if (!sources.empty()) {
      EXPECT_LE(sources.back().source + sources.back().size, settled);
    }
  }
  if (!parser.done()) parser.finish(out, cut);
  expect_sources(out, output);
  return pieces_of(out);
}

/// Cuts a text between code points, at random.
inline std::vector<std::string_view> random_parts(std::string_view text, std::mt19937& random) {
  std::vector<std::string_view> parts;
  const std::size_t longest = 1 + random() % 12;
  while (!text.empty()) {
    std::size_t bytes = std::min<std::size_t>(text.size(), 1 + random() % longest);
    while (bytes < text.size() && is_continuation_byte(text[bytes])) ++bytes;
    parts.push_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return parts;
}

}  // namespace weft::test
