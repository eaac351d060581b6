#include <limits>
#include <utility>

#include "weft/text/tokenizer/json/tokenizer_json.h"
#include "weft/text/tokenizer/split/gpt2_pattern.h"
#include "weft/text/tokenizer/split/script_pattern.h"

namespace weft {
namespace {

SplitBehavior read_behavior(const TokenizerFields& fields, std::string_view name) {
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  fail_unknown(fields, "behavior", name);
  return SplitBehavior::kIsolated;
}

SplitStep regex_split(const TokenizerFields& fields, std::string_view pattern) {
  SplitStep step;
  if (const auto scanner = SplitScanner::find(pattern)) {
    step.pattern = *scanner;
    return step;
  }
  Result<Regex> regex = Regex::compile(pattern);
  if (regex) {
    step.pattern = *regex;
  } else {
    fields.fail(regex.error());
  }
  return step;
}

SplitStep read_split(const TokenizerFields& fields) {
  const TokenizerFields pattern = fields.needed_child("pattern");
  SplitStep step;
  if (pattern.has("Regex")) {
    step = regex_split(fields, pattern.needed_text("Regex"));
  } else {
    const std::string_view text = pattern.needed_text("String");
    if (text.empty()) pattern.fail("String", "is empty");
    step.pattern = SplitStep::Literal{std::string(text)};
  }
  step.behavior = read_behavior(fields, fields.needed_text("behavior"));
  step.invert = fields.flag("invert").value_or(false);
  return step;
}

MetaspaceStep read_metaspace(const TokenizerFields& fields) {
  using Prepend = MetaspaceStep::Prepend;
  MetaspaceStep step;
  step.replacement = fields.needed_text("replacement");
  step.split = fields.flag("split").value_or(true);
  const std::string_view scheme = fields.text("prepend_scheme").value_or("always");
  if (scheme == "first") {
    step.prepend = Prepend::kFirst;
  } else if (scheme == "never" || !fields.flag("add_prefix_space").value_or(true)) {
    step.prepend = Prepend::kNever;
  } else if (scheme != "always") {
    fail_unknown(fields, "prepend_scheme", scheme);
  }
  if (step.replacement.empty()) fields.fail("replacement", "is empty");
  return step;
}

void read_byte_level(const TokenizerFields& fields, std::vector<PreTokenizerStep>& steps) {
  if (fields.flag("add_prefix_space").value_or(true)) steps.emplace_back(PrefixSpaceStep{});
  if (fields.flag("use_regex").value_or(true)) {
    steps.emplace_back(SplitStep{*SplitScanner::find(kGpt2Pattern)});
  }
  steps.emplace_back(ByteAlphabetStep{});
}

void read_pre_tokenizer_into(const TokenizerFields& fields, std::vector<PreTokenizerStep>& steps) {
  const std::string_view type = fields.needed_text("type");
  const auto add_class = [&](SplitClass wanted, SplitBehavior behavior) {
    steps.emplace_back(SplitStep{wanted, behavior});
  };
  if (type == "Sequence") {
    std::size_t index = 0;
    for (const simdjson::dom::element item : fields.needed_items("pretokenizers")) {
      read_pre_tokenizer_into({item.get_object(), indexed(fields.path(), index++), fields}, steps);
    }
  } else if (type == "ByteLevel") {
    read_byte_level(fields, steps);
  } else if (type == "Split") {
    steps.emplace_back(read_split(fields));
  } else if (type == "Whitespace") {
    steps.emplace_back(SplitStep{SplitStep::WordRuns{}, SplitBehavior::kRemoved, true});
  } else if (type == "WhitespaceSplit") {
    add_class(SplitClass::kWhiteSpace, SplitBehavior::kRemoved);
  } else if (type == "Punctuation") {
    add_class(SplitClass::kPunctuation,
              read_behavior(fields, fields.text("behavior").value_or("Isolated")));
  } else if (type == "Digits") {
    const bool individual = fields.flag("individual_digits").value_or(false);
    add_class(SplitClass::kNumber,
              individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  } else if (type == "Metaspace") {
    steps.emplace_back(read_metaspace(fields));
  } else if (type == "BertPreTokenizer") {
    add_class(SplitClass::kWhiteSpace, SplitBehavior::kRemoved);
    add_class(SplitClass::kPunctuation, SplitBehavior::kIsolated);
  } else if (type == "CharDelimiterSplit") {
    const std::string_view delimiter = fields.needed_text("delimiter");
    if (delimiter.empty()) fields.fail("delimiter", "is empty");
    steps.emplace_back(
        SplitStep{SplitStep::Literal{std::string(delimiter)}, SplitBehavior::kRemoved});
  } else if (type == "FixedLength") {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    const std::int64_t length = fields.integer("length", 1, kMost).value_or(5);
    steps.emplace_back(FixedLengthStep{static_cast<std::size_t>(length)});
  } else if (type == "UnicodeScripts") {
    SplitStep step = regex_split(fields, script_run_pattern());
    step.behavior = SplitBehavior::kRemoved;
    step.invert = true;
    steps.emplace_back(std::move(step));
  } else {
    fail_unknown(fields, "type", type);
  }
}

}  // namespace

std::vector<PreTokenizerStep> read_pre_tokenizer(const TokenizerFields& fields) {
  std::vector<PreTokenizerStep> steps;
  read_pre_tokenizer_into(fields, steps);
  return steps;
}

}  // namespace weft
