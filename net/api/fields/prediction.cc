#include "weft/net/api/fields/prediction.h"

#include <cstddef>
#include <string_view>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/field_name.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kPredicted = "content";

std::string predicted_part(const BodyFields& prediction, dom::element part, std::size_t index) {
  const BodyFields fields(part.get_object(), prediction.path_of(indexed(kPredicted, index)),
                          prediction);
  const std::string_view type = fields.needed_text("type");
  if (!fields.error() && type != "text") {
    fields.fail("type", shown(type) + " is not supported, only text", api_code::kUnsupported);
  }
  const std::string_view text = fields.needed_text("text");
  fields.finish();
  return std::string(text);
}

std::string predicted_text(const BodyFields& prediction, dom::element content) {
  std::string_view text;
  if (content.get(text) == simdjson::SUCCESS) return std::string(text);
  dom::array parts;
  if (content.get(parts) != simdjson::SUCCESS) {
    prediction.fail(kPredicted, "must be a string or a list of parts", api_code::kInvalidType);
    return {};
  }
  std::string all;
  if (!has_at_most(prediction, kPredicted, parts, defaults::kMaxContentParts, "parts")) return all;
  std::size_t index = 0;
  for (const dom::element part : parts) {
    all += predicted_part(prediction, part, index++);
    if (prediction.error()) return {};
  }
  return all;
}

}  // namespace

std::string take_prediction(const BodyFields& fields) {
  const auto object = fields.object("prediction");
  if (!object) return {};
  const BodyFields prediction(*object, fields.path_of("prediction"), fields);
  const std::string_view type = prediction.needed_text("type");
  if (!prediction.error() && type != kPredicted) {
    prediction.fail("type", shown(type) + " is not supported, only content",
                    api_code::kUnsupported);
  }
  std::string text;
  if (const auto content = prediction.any(kPredicted)) {
    text = predicted_text(prediction, *content);
  } else {
    prediction.fail(kPredicted, "is missing", api_code::kMissing);
  }
  prediction.finish();
  return text;
}

}  // namespace weft
