#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/defaults.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/vectors/vector_fields.h"
#include "weft/net/api/vectors/vector_writer.h"
#include "weft/net/api/vectors/vectors_api.h"

namespace weft {
namespace {

void append_fill(const MaskFill& fill, std::string& out) {
  out.append("{\"score\":");
  append_float(fill.score, out);
  out.append(",\"token\":");
  append_number(out, static_cast<std::int64_t>(fill.token));
  out.append(",\"token_str\":");
  append_json_string(out, fill.text);
  out.append(",\"sequence\":");
  append_json_string(out, fill.sequence);
  out.push_back('}');
}

void append_masks(const std::vector<std::vector<MaskFill>>& masks, std::string& out) {
  out.push_back('[');
  for (std::size_t i = 0; i < masks.size(); ++i) {
    out.append(i > 0 ? ",[" : "[");
    for (std::size_t j = 0; j < masks[i].size(); ++j) {
      if (j > 0) out.push_back(',');
      append_fill(masks[i][j], out);
    }
    out.push_back(']');
  }
  out.push_back(']');
}

class FillMaskWriter final : public VectorWriter {
 public:
  explicit FillMaskWriter(VectorHead head) : head_(std::move(head)) {}

 private:
  void write(std::span<const Finish> parts, std::string& out) override {
    begin_vector_list(head_, out);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) out.push_back(',');
      out.append("{\"index\":");
      append_number(out, static_cast<std::int64_t>(i));
      out.append(",\"masks\":");
      append_masks(parts[i].masks, out);
      out.push_back('}');
    }
    out.append("],\"usage\":");
    append_vector_usage(parts, out);
    out.push_back('}');
  }

  const VectorHead head_;
};

std::size_t count_of(std::string_view word, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + word.size())) {
    ++count;
  }
  return count;
}

/// Reports texts without the mask token, and answers that would be too large.
void check_masks(const BodyFields& fields, const ServedModel& model,
                 const std::vector<std::string>& texts, std::int32_t top_k) {
  const auto mask = model.tokenizer.token(model.tokenizer.mask());
  if (!mask || mask->empty()) return;  // need_mask_fills() has reported it
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t masks = count_of(*mask, texts[i]);
    const std::string name = texts.size() == 1 ? "input" : indexed("input", i);
    if (masks == 0) fields.fail(name, "does not have the mask token, " + std::string(*mask));
    if (std::cmp_greater(masks, defaults::kMaxMasks)) {
      fields.fail(name, "has " + std::to_string(masks) + " mask tokens, more than " +
                            std::to_string(defaults::kMaxMasks));
    }
    const std::size_t copies = masks * static_cast<std::size_t>(top_k);
    const std::size_t each = texts[i].size() + defaults::kMaskFillBytes;
    if (copies > (defaults::kMaxFilledBytes - bytes) / each) {
      fields.fail(name,
                  "has too many mask tokens for its length and top_k: the sequences of an "
                  "answer, and " +
                      std::to_string(defaults::kMaskFillBytes) + " bytes for each, are at most " +
                      std::to_string(defaults::kMaxFilledBytes) + " bytes");
    }
    if (fields.error()) return;
    bytes += copies * each;
  }
}

}  // namespace

ApiResult<ApiCall> decode_fill_mask(simdjson::dom::object body, const ApiContext& context) {
  const ServedModel& model = *context.card.model;
  BodyFields fields(body);
  VectorHead head;
  Request request = take_vector_request(fields, context, "fill-mask-", head);
  need_mask_fills(fields, model);
  VectorWish& wish = *request.vector;
  wish.kind = VectorWish::Kind::kMaskFills;
  const auto top_k = fields.integer("top_k", 1, defaults::kMaxMaskFills);
  wish.top_k = static_cast<std::int32_t>(top_k.value_or(wish.top_k));
  std::vector<std::string> texts = take_texts(fields, "input", defaults::kMaxVectorInputs);
  check_masks(fields, model, texts, wish.top_k);
  if (auto error = fields.finish()) return *std::move(error);
  ApiCall call;
  for (std::string& text : texts) {
    call.parts.push_back(request);
    call.parts.back().prompt = std::move(text);
  }
  call.object_id = head.id;
  call.writer = std::make_unique<FillMaskWriter>(std::move(head));
  return call;
}

}  // namespace weft
