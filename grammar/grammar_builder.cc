#include "weft/grammar/grammar_builder.h"

#include <algorithm>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/grammar/check_grammar.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/grammar_error.h"
#include "weft/grammar/schema/json_parts.h"

namespace weft {

using grammar::Node;
using grammar::NodeKind;

namespace {

/// Returns an automaton's size, as defaults::kMaxGrammarBytes counts it.
std::size_t dfa_size(const grammar::ByteDfa& automaton) {
  return automaton.states.size() * 16 + automaton.edges.size() * 8;
}

}  // namespace

GrammarBuilder::GrammarBuilder() {
  data_.nodes.push_back({});  // the empty text, which a builder that is too large makes, too
}

GrammarBuilder::GrammarBuilder(GrammarBuilder&&) noexcept = default;
GrammarBuilder& GrammarBuilder::operator=(GrammarBuilder&&) noexcept = default;
GrammarBuilder::~GrammarBuilder() = default;

const grammar::JsonParts& GrammarBuilder::json() {
  auto& parts = json_[static_cast<std::size_t>(form_)];
  if (!parts) parts = std::make_unique<grammar::JsonParts>(*this);
  return *parts;
}

grammar::JsonSpacing GrammarBuilder::write_spacing(grammar::JsonSpacing spacing) {
  if (spacing != spacing_) json_ = {};
  return std::exchange(spacing_, std::move(spacing));
}

bool GrammarBuilder::spend(std::size_t work) noexcept {
  spent_ += work;
  return spent_ <= defaults::kMaxSchemaWork && !too_large_;
}

void GrammarBuilder::let_pass(std::string_view place) {
  std::string shown(place);
  if (place.size() > defaults::kMaxPlaceBytes) {
    std::size_t begin = place.size() - defaults::kMaxPlaceBytes;
    while (begin < place.size() && is_continuation_byte(place[begin])) ++begin;
    shown = "..." + shown.substr(begin);
  }
  if (std::ranges::find(not_enforced_, shown) != not_enforced_.end()) return;
  if (not_enforced_.size() < defaults::kMaxNotEnforced) {
    not_enforced_.push_back(std::move(shown));
  } else if (not_enforced_.size() == defaults::kMaxNotEnforced) {
    not_enforced_.emplace_back("...");
  }
}

bool GrammarBuilder::affords(std::size_t work, std::size_t states) const noexcept {
  constexpr std::size_t kBytesOfState = 16 + 10 * 8;  // a state with an edge for each digit
  return spent_ + work <= defaults::kMaxSchemaWork / 2 &&
         dfa_states_ + data_.bytes.size() + states * kBytesOfState <=
             defaults::kMaxGrammarBytes / 2;
}

GrammarBuilder::Part GrammarBuilder::json_value() { return json().value; }
GrammarBuilder::Part GrammarBuilder::json_object() { return json().object; }

GrammarBuilder::Part GrammarBuilder::add(Node node) {
  if (data_.nodes.size() >= defaults::kMaxGrammarNodes) {
    too_large_ = true;
    return {};
  }
  data_.nodes.push_back(node);
  return {static_cast<std::uint32_t>(data_.nodes.size() - 1)};
}

GrammarBuilder::Part GrammarBuilder::literal(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > defaults::kMaxGrammarBytes -
                        std::min(defaults::kMaxGrammarBytes, data_.bytes.size() + dfa_states_)) {
    too_large_ = true;
    return {};
  }
  const auto first = static_cast<std::uint32_t>(data_.bytes.size());
  data_.bytes.append(text);
  return add({NodeKind::kLiteral, first, static_cast<std::uint32_t>(text.size())});
}

GrammarBuilder::Part GrammarBuilder::special(std::string_view text) {
  const Part part = literal(text);
  if (part.node != 0) data_.nodes[part.node].kind = NodeKind::kSpecial;
  return part;
}

GrammarBuilder::Part GrammarBuilder::add_list(NodeKind kind, std::span<const Part> parts) {
  if (data_.children.size() + parts.size() > 4 * defaults::kMaxGrammarNodes) {
    too_large_ = true;
    return {};
  }
  const auto first = static_cast<std::uint32_t>(data_.children.size());
  for (const Part& part : parts) data_.children.push_back(part.node);
  return add({kind, first, static_cast<std::uint32_t>(parts.size())});
}

GrammarBuilder::Part GrammarBuilder::sequence(std::span<const Part> parts) {
  if (parts.empty()) return {};
  return parts.size() == 1 ? parts[0] : add_list(NodeKind::kSequence, parts);
}

GrammarBuilder::Part GrammarBuilder::any_of(std::span<const Part> parts) {
  return parts.size() == 1 ? parts[0] : add_list(NodeKind::kChoice, parts);
}

GrammarBuilder::Part GrammarBuilder::repeat(Part part, std::uint32_t least, std::uint32_t most) {
  if (most == 0) return {};
  if (least == 1 && most == 1) return part;
  return add({NodeKind::kRepeat, part.node, 0, least, most});
}

GrammarBuilder::Part GrammarBuilder::dfa(grammar::ByteDfa automaton) {
  dfa_states_ += dfa_size(automaton);
  if (dfa_states_ + data_.bytes.size() > defaults::kMaxGrammarBytes) {
    too_large_ = true;
    return {};
  }
  data_.dfas.push_back(std::move(automaton));
  return add({NodeKind::kDfa, static_cast<std::uint32_t>(data_.dfas.size() - 1)});
}

GrammarBuilder::Part GrammarBuilder::choice(std::span<const std::string> texts) {
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  if (bytes > defaults::kMaxGrammarText) {
    too_large_ = true;
    return {};
  }
  if (texts.empty()) return any_of(std::span<const Part>());
  return texts.size() == 1 ? literal(texts[0]) : dfa(grammar::choice_dfa(texts));
}

GrammarBuilder::Part GrammarBuilder::text_without(std::span<const std::string> texts) {
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  if (bytes > 4096) {  // each byte needs a table of 1 KiB while the automaton is made
    too_large_ = true;
    return {};
  }
  return dfa(grammar::text_without(texts));
}

GrammarBuilder::Part GrammarBuilder::grammar(const Grammar& other) {
  const grammar::GrammarData& from = other.data();
  std::size_t dfa_states = dfa_states_;
  for (const grammar::ByteDfa& one : from.dfas) dfa_states += dfa_size(one);
  const bool fits =
      data_.nodes.size() + from.nodes.size() <= defaults::kMaxGrammarNodes &&
      data_.children.size() + from.children.size() <= 4 * defaults::kMaxGrammarNodes &&
      data_.bytes.size() + from.bytes.size() + dfa_states <= defaults::kMaxGrammarBytes;
  if (!fits) {
    too_large_ = true;
    return {};
  }
  dfa_states_ = dfa_states;
  const auto at = [](const auto& list) { return static_cast<std::uint32_t>(list.size()); };
  const std::uint32_t nodes = at(data_.nodes);
  // By NodeKind: the offset to add to `first`.
  const std::array<std::uint32_t, 7> begins = {
      at(data_.bytes), at(data_.dfas),  at(data_.children), at(data_.children),
      nodes,           at(data_.rules), at(data_.bytes)};
  for (Node node : from.nodes) {
    node.first += begins[static_cast<std::size_t>(node.kind)];
    data_.nodes.push_back(node);
  }
  for (const std::uint32_t child : from.children) data_.children.push_back(nodes + child);
  for (const std::uint32_t rule : from.rules) data_.rules.push_back(nodes + rule);
  for (const std::string& place : other.not_enforced()) let_pass(place);
  data_.bytes.append(from.bytes);
  data_.dfas.insert(data_.dfas.end(), from.dfas.begin(), from.dfas.end());
  return {nodes + from.start};
}

GrammarBuilder::Part GrammarBuilder::reserve_rule() {
  data_.rules.push_back(grammar::kNoBound);
  return add({NodeKind::kRule, static_cast<std::uint32_t>(data_.rules.size() - 1)});
}

void GrammarBuilder::define(Part rule, Part body) {
  const Node& node = data_.nodes[rule.node];
  if (node.kind == NodeKind::kRule) data_.rules[node.first] = body.node;
}

Result<std::shared_ptr<const Grammar>> GrammarBuilder::finish(Part start) && {
  if (too_large_) return Error{GrammarErrc::kTooComplex, "it is too large"};
  data_.start = start.node;
  if (auto checked = grammar::check_and_prune(data_); !checked) return checked.error();
  return std::make_shared<const Grammar>(std::move(data_), std::move(not_enforced_));
}

}  // namespace weft
