#include "weft/net/api/vectors/vector_fields.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/fields/prompt_list.h"
#include "weft/net/api/fields/request_fields.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

/// Returns the text of a list's entry.
std::string_view text_of(const BodyFields& fields, const std::string& path, dom::element entry) {
  std::string_view text;
  if (entry.get(text) != simdjson::SUCCESS && entry["text"].get(text) != simdjson::SUCCESS) {
    fields.fail(path, "must be a string, or an object with a \"text\"", api_code::kInvalidType);
  } else if (text.empty()) {
    fields.fail(path, "is empty");
  }
  return text;
}

void take_salt(const BodyFields& fields, Request& request) {
  const auto salt = fields.text("cache_salt");
  if (salt && (salt->empty() || salt->size() > Request::kMaxCacheSaltBytes)) {
    fields.fail("cache_salt",
                "must be a text of 1 .. " + std::to_string(Request::kMaxCacheSaltBytes) + " bytes");
  }
  request.cache_salt = salt.value_or(std::string_view());
}

/// Copies the shared settings to each part; each part keeps its prompt.
void share_request(const Request& shared, std::vector<Request>& parts) {
  for (Request& part : parts) {
    std::string prompt = std::move(part.prompt);
    std::vector<TokenId> tokens = std::move(part.prompt_tokens);
    part = shared;
    part.prompt = std::move(prompt);
    part.prompt_tokens = std::move(tokens);
  }
}

}  // namespace

Request take_vector_request(BodyFields& fields, const ApiContext& context,
                            std::string_view id_prefix, VectorHead& head) {
  head.id = std::string(id_prefix) + context.id;
  head.created = context.created;
  head.model = take_model(fields, context.card);
  Request request;
  request.adapter = context.card.adapter;
  request.vector.emplace();
  constexpr auto kInteger = std::numeric_limits<std::int32_t>();
  const auto priority = fields.integer("priority", kInteger.min(), kInteger.max());
  request.priority = static_cast<std::int32_t>(priority.value_or(0));
  static_cast<void>(take_service_tier(fields, context, request.request_class));
  take_salt(fields, request);
  request.client = context.client;
  request.timeout = context.timeout;
  take_harmless_fields(fields, FieldPlace::kRequest);
  allow_only(fields, {{"add_special_tokens", true}});
  return request;
}

std::vector<std::string> take_texts(const BodyFields& fields, std::string_view name,
                                    std::size_t most) {
  const auto value = fields.any(name);
  std::vector<std::string> texts;
  dom::array list;
  if (!value) {
    fields.fail(name, "is missing", api_code::kMissing);
  } else if (value->get(list) != simdjson::SUCCESS) {
    texts.emplace_back(text_of(fields, std::string(name), *value));
  } else if (has_at_most(fields, name, list, most, "texts")) {
    for (const dom::element entry : list) {
      if (fields.error()) break;
      texts.emplace_back(text_of(fields, indexed(name, texts.size()), entry));
    }
    if (texts.empty()) fields.fail(name, "is empty");
  }
  if (fields.error()) return {};
  return texts;
}

void need_embeddings(const BodyFields& fields, const ServedModel& model) {
  if (model.vector_facts.embeddings) return;
  fields.fail("model",
              model.vector_facts.scores ? "is a classifier, which gives no embeddings"
                                        : "gives no vectors, as it has an encoder and a decoder",
              api_code::kUnsupported);
}

void need_labels(const BodyFields& fields, const ServedModel& model) {
  if (model.vector_facts.scores) return;
  fields.fail("model", "is no classifier: it has no labels", api_code::kUnsupported);
}

void need_mask_fills(const BodyFields& fields, const ServedModel& model) {
  if (model.vector_facts.mask_fills) return;
  fields.fail("model", "is no masked language model, or its tokenizer names no mask token",
              api_code::kUnsupported);
}

void check_vector_numbers(const BodyFields& fields, std::string_view name, std::size_t inputs,
                          const VectorWish& wish, const ServedModel& model) {
  const auto each =
      static_cast<std::size_t>(wish.dimensions > 0 ? wish.dimensions : model.vector_facts.size);
  if (inputs * each <= defaults::kMaxVectorNumbers) return;
  fields.fail(name, std::to_string(inputs) + " vectors of " + std::to_string(each) +
                        " numbers are more than " + std::to_string(defaults::kMaxVectorNumbers));
}

ApiResult<ApiCall> take_vector_inputs(BodyFields& fields, const ApiContext& context,
                                      const Request& shared, const VectorHead& head) {
  const ServedModel& model = *context.card.model;
  const bool cut = shared.vector->cut_at != 0;
  ApiCall call;
  call.parts = take_prompts(fields, model, {"input", defaults::kMaxVectorInputs, cut});
  check_vector_numbers(fields, "input", call.parts.size(), *shared.vector, model);
  if (auto error = fields.finish()) return *std::move(error);
  share_request(shared, call.parts);
  call.object_id = head.id;
  return call;
}

void begin_vector_list(const VectorHead& head, std::string& out) {
  out.append("{\"id\":");
  append_json_string(out, head.id);
  out.append(",\"object\":\"list\",\"created\":");
  append_number(out, head.created);
  out.append(",\"model\":");
  append_json_string(out, head.model);
  out.append(",\"data\":[");
}

void append_vector_usage(std::span<const Finish> parts, std::string& out) {
  std::int64_t tokens = 0;
  for (const Finish& part : parts) tokens += part.usage.prompt_tokens;
  out.append("{\"prompt_tokens\":");
  append_number(out, tokens);
  out.append(",\"total_tokens\":");
  append_number(out, tokens);
  out.push_back('}');
}

void append_float(float number, std::string& out) {
  if (!std::isfinite(number)) {
    out.append("null");
    return;
  }
  std::array<char, 24> text{};  // a number has at most 15
  const auto written = std::to_chars(text.data(), text.data() + text.size(), number);
  out.append(text.data(), written.ptr);
}

void append_floats(std::span<const float> numbers, std::string& out) {
  out.push_back('[');
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_float(numbers[i], out);
  }
  out.push_back(']');
}

void append_base64(std::span<const std::uint8_t> bytes, std::string& out) {
  out.push_back('"');
  const std::size_t begin = out.size();
  out.resize(begin + (bytes.size() + 2) / 3 * 4 + 1);  // OpenSSL writes a zero byte behind the text
  const int written = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data() + begin),
                                      bytes.data(), static_cast<int>(bytes.size()));
  out.resize(begin + static_cast<std::size_t>(std::max(written, 0)));
  out.push_back('"');
}

void append_base64(std::span<const float> numbers, std::string& out) {
  static_assert(std::endian::native == std::endian::little);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(numbers.data());
  append_base64(std::span(bytes, numbers.size_bytes()), out);
}

}  // namespace weft
