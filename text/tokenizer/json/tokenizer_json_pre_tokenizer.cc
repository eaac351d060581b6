#include <utility>

#include "weft/text/tokenizer/json/tokenizer_json.h"
#include "weft/text/tokenizer/split/gpt2_pattern.h"
#include "weft/text/tokenizer/split/script_pattern.h"

namespace weft {
namespace {

SplitBehavior read_behavior(const JsonFields& fields, std::optional<std::string_view> fallback) {
  const std::string_view name = fields.text("behavior", fallback);
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  fields.fail_unknown("behavior", name);
  return SplitBehavior::kIsolated;
}

SplitStep regex_split(const JsonFields& fields, std::string_view pattern) {
  SplitStep step;
  if (const auto scanner = SplitScanner::find(pattern)) {
    step.pattern = *scanner;
    return step;
  }
  Result<Regex> regex = Regex::compile(pattern);
  if (regex) {
    step.pattern = *regex;
  } else if (!fields.error()) {
    fields.error() = regex.error();
  }
  return step;
}

SplitStep read_split(const JsonFields& fields) {
  const JsonFields pattern = fields.child("pattern");
  SplitStep step;
  if (pattern.has("Regex")) {
    step = regex_split(fields, pattern.text("Regex"));
  } else {
    const std::string_view text = pattern.text("String");
    if (text.empty()) pattern.fail("String", "is empty");
    step.pattern = SplitStep::Literal{std::string(text)};
  }
  step.behavior = read_behavior(fields, {});
  step.invert = fields.flag("invert", false);
  return step;
}

MetaspaceStep read_metaspace(const JsonFields& fields) {
  using Prepend = MetaspaceStep::Prepend;
  MetaspaceStep step;
  step.replacement = fields.text("replacement");
  step.split = fields.flag("split", true);
  const std::string_view scheme = fields.text("prepend_scheme", "always");
  if (scheme == "first") {
    step.prepend = Prepend::kFirst;
  } else if (scheme == "never" || !fields.flag("add_prefix_space", true)) {
    step.prepend = Prepend::kNever;
  } else if (scheme != "always") {
    fields.fail_unknown("prepend_scheme", scheme);
  }
  if (step.replacement.empty()) fields.fail("replacement", "is empty");
  return step;
}

void read_byte_level(const JsonFields& fields, std::vector<PreTokenizerStep>& steps) {
  if (fields.flag("add_prefix_space", true)) steps.emplace_back(PrefixSpaceStep{});
  if (fields.flag("use_regex", true)) {
    steps.emplace_back(SplitStep{*SplitScanner::find(kGpt2Pattern)});
  }
  steps.emplace_back(ByteAlphabetStep{});
}

void read_pre_tokenizer_into(const JsonFields& fields, std::vector<PreTokenizerStep>& steps) {
  const std::string_view type = fields.text("type");
  const auto add_class = [&](SplitClass wanted, SplitBehavior behavior) {
    steps.emplace_back(SplitStep{wanted, behavior});
  };
  if (type == "Sequence") {
    std::size_t index = 0;
    for (const simdjson::dom::element item : fields.array("pretokenizers")) {
      read_pre_tokenizer_into(
          {item, fields.path() + "[" + std::to_string(index++) + "]", fields.error()}, steps);
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
    add_class(SplitClass::kPunctuation, read_behavior(fields, "Isolated"));
  } else if (type == "Digits") {
    const bool individual = fields.flag("individual_digits", false);
    add_class(SplitClass::kNumber,
              individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  } else if (type == "Metaspace") {
    steps.emplace_back(read_metaspace(fields));
  } else if (type == "BertPreTokenizer") {
    add_class(SplitClass::kWhiteSpace, SplitBehavior::kRemoved);
    add_class(SplitClass::kPunctuation, SplitBehavior::kIsolated);
  } else if (type == "CharDelimiterSplit") {
    const std::string_view delimiter = fields.text("delimiter");
    if (delimiter.empty()) fields.fail("delimiter", "is empty");
    steps.emplace_back(
        SplitStep{SplitStep::Literal{std::string(delimiter)}, SplitBehavior::kRemoved});
  } else if (type == "FixedLength") {
    const std::int64_t length = fields.number("length", 5);
    if (length < 1) fields.fail("length", "is below 1");
    steps.emplace_back(FixedLengthStep{static_cast<std::size_t>(length)});
  } else if (type == "UnicodeScripts") {
    SplitStep step = regex_split(fields, script_run_pattern());
    step.behavior = SplitBehavior::kRemoved;
    step.invert = true;
    steps.emplace_back(std::move(step));
  } else {
    fields.fail_unknown("type", type);
  }
}

}  // namespace

std::vector<PreTokenizerStep> read_pre_tokenizer(const JsonFields& fields) {
  std::vector<PreTokenizerStep> steps;
  read_pre_tokenizer_into(fields, steps);
  return steps;
}

}  // namespace weft
