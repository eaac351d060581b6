#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::grammar {

/// A deterministic automaton over bytes. Every state can reach an accepting state.
struct ByteDfa {
  struct Edge {
    std::uint8_t low = 0;
    std::uint8_t high = 0;  ///< the last byte of the range
    std::uint32_t to = 0;

    friend bool operator==(const Edge&, const Edge&) = default;
  };
  struct State {
    std::uint32_t first_edge = 0;
    std::uint32_t edges = 0;  ///< number of edges, ascending, disjoint
    bool accepts = false;
  };

  std::vector<Edge> edges{};
  std::vector<State> states{};  ///< state 0 is the start
  /// The automaton accepts each single code point of plain text: all except controls below U+0020,
  /// the quotation mark and the backslash.
  bool covers_text = false;

  [[nodiscard]] std::span<const Edge> edges_of(std::uint32_t state) const {
    return std::span(edges).subspan(states[state].first_edge, states[state].edges);
  }
};

/// Makes an automaton from states with edges in any order. Some edges may lead nowhere.
class DfaDraft {
 public:
  using ByteRange = std::pair<std::uint8_t, std::uint8_t>;

  std::uint32_t add_state(bool accepts);
  void add_edge(std::uint32_t from, ByteRange bytes, std::uint32_t to);
  void accept(std::uint32_t state) { states_[state].accepts = true; }
  /// Follows the edge for exactly these bytes; makes the edge where there is none.
  std::uint32_t follow(std::uint32_t from, ByteRange bytes);
  /// Adds a path of at least one byte whose last edge leads to `end`.
  void add_path(std::uint32_t from, std::span<const ByteRange> path, std::uint32_t end);
  [[nodiscard]] std::size_t states() const noexcept { return states_.size(); }
  [[nodiscard]] ByteDfa finish() const;

 private:
  struct State {
    std::vector<ByteDfa::Edge> edges;
    bool accepts = false;
  };
  [[nodiscard]] std::vector<bool> alive() const;

  std::vector<State> states_;
};

/// A range of code points, both ends included.
using CodeRange = std::pair<char32_t, char32_t>;

/// A set of code points: ascending, disjoint ranges that do not adjoin. It has no surrogates.
class CodeSet {
 public:
  CodeSet() = default;
  explicit CodeSet(std::vector<CodeRange> ranges);

  [[nodiscard]] static CodeSet all();
  [[nodiscard]] std::span<const CodeRange> ranges() const noexcept { return ranges_; }
  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  [[nodiscard]] bool has(char32_t code) const noexcept;
  [[nodiscard]] CodeSet complement() const;
  [[nodiscard]] CodeSet united(const CodeSet& other) const;
  [[nodiscard]] CodeSet without(const CodeSet& other) const;

 private:
  std::vector<CodeRange> ranges_;
};

/// Returns the automaton of the UTF-8 forms of one code point of a set, which is not empty.
[[nodiscard]] ByteDfa utf8_dfa(const CodeSet& set);

/// Returns the automaton of one character inside a JSON string. Quotation mark, backslash and
/// controls are written as their shortest escapes.
[[nodiscard]] ByteDfa json_character_dfa(const CodeSet& set);

/// Returns the automaton of a character of a JSON string in any form of RFC 8259; escapes of
/// surrogates come in pairs. Characters that are not in `plain` are written as escapes.
[[nodiscard]] ByteDfa any_json_character_dfa(const CodeSet& plain);

/// Returns a text as it stands inside a JSON string, in the form of json_character_dfa().
[[nodiscard]] std::string json_escaped(std::string_view text);

/// Returns the automaton that accepts exactly these texts, at least one.
[[nodiscard]] ByteDfa choice_dfa(std::span<const std::string> texts);

/// Returns the automaton of the contents of JSON strings made of characters of a set, except the
/// strings in `texts` (contents, as written), in the form that json_character_dfa() has.
[[nodiscard]] ByteDfa json_text_except(std::span<const std::string> texts,
                                       const CodeSet& characters = CodeSet::all());

/// Returns the automaton of the JSON string contents that `automaton` accepts and that have a
/// number of characters in the given range; nothing where it needs more than 12,000 states.
[[nodiscard]] std::optional<ByteDfa> with_length(const ByteDfa& contents, std::uint64_t least,
                                                 std::uint64_t most);

/// Returns the automaton of valid UTF-8 in which none of `texts` (each of at least one byte)
/// occurs.
[[nodiscard]] ByteDfa text_without(std::span<const std::string> texts);

}  // namespace weft::grammar
