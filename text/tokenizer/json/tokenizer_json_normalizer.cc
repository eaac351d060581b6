#include <memory>
#include <utility>

#include "weft/text/json/base64.h"
#include "weft/text/tokenizer/json/tokenizer_json.h"
#include "weft/text/tokenizer/normalize/precompiled_charsmap.h"

namespace weft {
namespace {

ReplaceStep read_replace(const TokenizerFields& fields) {
  ReplaceStep step;
  step.content = fields.needed_text("content");
  const TokenizerFields pattern = fields.needed_child("pattern");
  if (pattern.has("Regex")) {
    Result<Regex> regex = Regex::compile(pattern.needed_text("Regex"));
    if (regex) {
      step.pattern = *regex;
    } else {
      fields.fail(regex.error());
    }
    return step;
  }
  const std::string_view text = pattern.needed_text("String");
  if (text.empty()) pattern.fail("String", "is empty");
  step.pattern = std::string(text);
  return step;
}

PrecompiledStep read_precompiled(const TokenizerFields& fields) {
  const auto blob = decode_base64(fields.needed_text("precompiled_charsmap"));
  if (!blob) {
    fields.fail("precompiled_charsmap", "is not base64");
    return {};
  }
  Result<PrecompiledCharsmap> charsmap = PrecompiledCharsmap::parse(*blob);
  if (!charsmap) {
    fields.fail("precompiled_charsmap", charsmap.error().detail);
    return {};
  }
  return {std::make_shared<const PrecompiledCharsmap>(std::move(*charsmap))};
}

BertStep read_bert(const TokenizerFields& fields) {
  BertStep step;
  step.clean_text = fields.flag("clean_text").value_or(true);
  step.space_around_chinese = fields.flag("handle_chinese_chars").value_or(true);
  step.lowercase = fields.flag("lowercase").value_or(true);
  step.strip_accents = fields.flag("strip_accents").value_or(step.lowercase);
  return step;
}

void read_normalizer_into(const TokenizerFields& fields, std::vector<NormalizerStep>& steps) {
  const std::string_view type = fields.needed_text("type");
  if (type == "Sequence") {
    std::size_t index = 0;
    for (const simdjson::dom::element item : fields.needed_items("normalizers")) {
      read_normalizer_into({item.get_object(), indexed(fields.path(), index++), fields}, steps);
    }
  } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    steps.emplace_back(NormalizationForm{.compose = type.ends_with('C'),
                                         .compatibility = type.starts_with("NFK")});
  } else if (type == "Lowercase") {
    steps.emplace_back(LowercaseStep{});
  } else if (type == "StripAccents") {
    steps.emplace_back(StripAccentsStep{});
  } else if (type == "Strip") {
    steps.emplace_back(StripStep{fields.flag("strip_left").value_or(true),
                                 fields.flag("strip_right").value_or(true)});
  } else if (type == "Replace") {
    steps.emplace_back(read_replace(fields));
  } else if (type == "Prepend") {
    steps.emplace_back(PrependStep{std::string(fields.needed_text("prepend"))});
  } else if (type == "BertNormalizer") {
    steps.emplace_back(read_bert(fields));
  } else if (type == "ByteLevel") {
    steps.emplace_back(ByteLevelNormalizerStep{});
  } else if (type == "Nmt") {
    steps.emplace_back(NmtStep{});
  } else if (type == "Precompiled") {
    steps.emplace_back(read_precompiled(fields));
  } else {
    fail_unknown(fields, "type", type);
  }
}

}  // namespace

std::vector<NormalizerStep> read_normalizer(const TokenizerFields& fields) {
  std::vector<NormalizerStep> steps;
  read_normalizer_into(fields, steps);
  return steps;
}

}  // namespace weft
