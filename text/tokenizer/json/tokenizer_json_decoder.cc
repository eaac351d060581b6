#include <utility>

#include "weft/text/tokenizer/json/tokenizer_json.h"

namespace weft {
namespace {

ReplaceStep read_replace_decoder(const JsonFields& fields) {
  // The same fields as the normalizer's.
  std::vector<NormalizerStep> steps = read_normalizer(fields);
  if (steps.empty() || !std::holds_alternative<ReplaceStep>(steps.front())) return {};
  return std::get<ReplaceStep>(std::move(steps.front()));
}

StripDecoderStep read_strip(const JsonFields& fields) {
  const std::int64_t start = fields.number("start");
  const std::int64_t stop = fields.number("stop");
  StripDecoderStep step{std::string(fields.text("content")), 0, 0};
  if (step.content.empty()) fields.fail("content", "is empty");
  if (start < 0 || stop < 0) {
    fields.fail("", "has negative counts");
  } else {
    step.start = static_cast<std::size_t>(start);
    step.stop = static_cast<std::size_t>(stop);
  }
  return step;
}

MetaspaceDecoderStep read_metaspace_decoder(const JsonFields& fields) {
  const bool never =
      fields.text("prepend_scheme", "always") == "never" || !fields.flag("add_prefix_space", true);
  MetaspaceDecoderStep step{std::string(fields.text("replacement")), !never};
  if (step.replacement.empty()) fields.fail("replacement", "is empty");
  return step;
}

void read_decoder_into(const JsonFields& fields, std::vector<DecoderStep>& steps) {
  const std::string_view type = fields.text("type");
  if (type == "Sequence") {
    std::size_t index = 0;
    for (const simdjson::dom::element item : fields.array("decoders")) {
      read_decoder_into({item, fields.path() + "[" + std::to_string(index++) + "]", fields.error()},
                        steps);
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
    steps.emplace_back(WordPieceDecoderStep{std::string(fields.text("prefix", "##")),
                                            fields.flag("cleanup", true)});
  } else if (type == "BPEDecoder") {
    steps.emplace_back(BpeDecoderStep{std::string(fields.text("suffix", "</w>"))});
  } else if (type == "CTC") {
    steps.emplace_back(CtcStep{std::string(fields.text("pad_token", "<pad>")),
                               std::string(fields.text("word_delimiter_token", "|")),
                               fields.flag("cleanup", true)});
  } else {
    fields.fail_unknown("type", type);
  }
}

}  // namespace

std::vector<DecoderStep> read_decoder(const JsonFields& fields) {
  std::vector<DecoderStep> steps;
  read_decoder_into(fields, steps);
  return steps;
}

}  // namespace weft
