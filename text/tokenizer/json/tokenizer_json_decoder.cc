#include <limits>
#include <utility>

#include "weft/text/tokenizer/json/tokenizer_json.h"

namespace weft {
namespace {

ReplaceStep read_replace_decoder(const TokenizerFields& fields) {
  // The fields are those of the normalizer.
  std::vector<NormalizerStep> steps = read_normalizer(fields);
  if (steps.empty() || !std::holds_alternative<ReplaceStep>(steps.front())) return {};
  return std::get<ReplaceStep>(std::move(steps.front()));
}

StripDecoderStep read_strip(const TokenizerFields& fields) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  StripDecoderStep step;
  step.content = fields.needed_text("content");
  if (step.content.empty()) fields.fail("content", "is empty");
  step.start = static_cast<std::size_t>(fields.needed_integer("start", 0, kMost));
  step.stop = static_cast<std::size_t>(fields.needed_integer("stop", 0, kMost));
  return step;
}

MetaspaceDecoderStep read_metaspace_decoder(const TokenizerFields& fields) {
  const bool never = fields.text("prepend_scheme").value_or("always") == "never" ||
                     !fields.flag("add_prefix_space").value_or(true);
  MetaspaceDecoderStep step{std::string(fields.needed_text("replacement")), !never};
  if (step.replacement.empty()) fields.fail("replacement", "is empty");
  return step;
}

void read_decoder_into(const TokenizerFields& fields, std::vector<DecoderStep>& steps) {
  const std::string_view type = fields.needed_text("type");
  if (type == "Sequence") {
    std::size_t index = 0;
    for (const simdjson::dom::element item : fields.needed_items("decoders")) {
      read_decoder_into({item.get_object(), indexed(fields.path(), index++), fields}, steps);
    }
  } else if (type == "ByteLevel") {
    steps.emplace_back(ByteLevelDecoderStep{});
  } else if (type == "ByteFallback") {
    steps.emplace_back(ByteFallbackStep{});
  } else if (type == "Fuse") {
    steps.emplace_back(FuseStep{});
  } else if (type == "Strip") {
    steps.emplace_back(read_strip(fields));
  } else if (type == "Replace") {
    steps.emplace_back(read_replace_decoder(fields));
  } else if (type == "Metaspace") {
    steps.emplace_back(read_metaspace_decoder(fields));
  } else if (type == "WordPiece") {
    steps.emplace_back(WordPieceDecoderStep{std::string(fields.text("prefix").value_or("##")),
                                            fields.flag("cleanup").value_or(true)});
  } else if (type == "BPEDecoder") {
    steps.emplace_back(BpeDecoderStep{std::string(fields.text("suffix").value_or("</w>"))});
  } else if (type == "CTC") {
    steps.emplace_back(CtcStep{std::string(fields.text("pad_token").value_or("<pad>")),
                               std::string(fields.text("word_delimiter_token").value_or("|")),
                               fields.flag("cleanup").value_or(true)});
  } else {
    fail_unknown(fields, "type", type);
  }
}

}  // namespace

std::vector<DecoderStep> read_decoder(const TokenizerFields& fields) {
  std::vector<DecoderStep> steps;
  read_decoder_into(fields, steps);
  return steps;
}

}  // namespace weft
