#include "weft/net/api/ollama/ollama_embed.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/ollama/ollama_models.h"
#include "weft/net/api/vectors/vector_fields.h"
#include "weft/net/api/vectors/vector_writer.h"

namespace weft {
namespace {

/// Returns the time from the first part's arrival to the last part's end.
std::chrono::nanoseconds time_of(std::span<const Finish> parts) {
  TimePoint arrived = TimePoint::max();
  TimePoint ended{};
  for (const Finish& part : parts) {
    arrived = std::min(arrived, part.times.arrived);
    ended = std::max(ended, part.times.ended);
  }
  return std::max<std::chrono::nanoseconds>(ended - std::min(arrived, ended), {});
}

class OllamaEmbedWriter final : public VectorWriter {
 public:
  OllamaEmbedWriter(std::string model, bool older) : model_(std::move(model)), older_(older) {}

 private:
  void write(std::span<const Finish> parts, std::string& out) override {
    if (older_) {
      out.append("{\"embedding\":");
      append_floats(parts.empty() ? std::span<const float>() : parts.front().vector, out);
      out.push_back('}');
      return;
    }
    std::int64_t tokens = 0;
    out.append("{\"model\":");
    append_json_string(out, model_);
    out.append(",\"embeddings\":[");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) out.push_back(',');
      append_floats(parts[i].vector, out);
      tokens += parts[i].usage.prompt_tokens;
    }
    out.append("],\"total_duration\":");
    append_number(out, time_of(parts).count());
    out.append(",\"load_duration\":0,\"prompt_eval_count\":");
    append_number(out, tokens);
    out.push_back('}');
  }

  const std::string model_;
  const bool older_;
};

/// Takes the fields that both endpoints share; returns each part's settings besides its input.
Request take_shared_embed(BodyFields& fields, const ApiContext& context, std::string& model) {
  model = take_ollama_model(fields, context.card);
  need_embeddings(fields, *context.card.model);
  Request request;
  request.request_class = std::max(RequestClass::kChat, context.class_ceiling);
  request.client = context.client;
  request.timeout = context.timeout;
  const bool cuts = fields.flag("truncate").value_or(true);
  request.vector.emplace().cut_at = cuts ? VectorWish::kAsLong : 0;
  if (const auto object = fields.object("options")) {
    BodyFields options(*object, "options", fields);
    take_harmless_fields(options, FieldPlace::kOllamaOptions);
    options.finish();
  }
  fields.ignore({"keep_alive"});
  return request;
}

/// Takes a text or a list of texts, which may be empty.
std::vector<std::string> take_inputs(const BodyFields& fields, std::string_view name) {
  const auto value = fields.any(name);
  if (!value || is_harmless(*value, Harmless::kEmptyText) ||
      is_harmless(*value, Harmless::kEmptyList)) {
    return {};
  }
  return take_texts(fields, name, defaults::kMaxVectorInputs);
}

ApiCall embed_call(const Request& shared, std::vector<std::string> texts, const ApiContext& context,
                   std::unique_ptr<ReplyWriter> writer) {
  ApiCall call;
  for (std::string& text : texts) {
    call.parts.emplace_back(shared).prompt = std::move(text);
  }
  call.object_id = "ollama-" + context.id;
  call.writer = std::move(writer);
  return call;
}

}  // namespace

ApiResult<ApiCall> decode_ollama_embed(simdjson::dom::object body, const ApiContext& context) {
  const ServedModel& model = *context.card.model;
  BodyFields fields(body);
  std::string name;
  Request request = take_shared_embed(fields, context, name);
  request.vector->unit = true;
  const auto dimensions = fields.integer("dimensions", 0, model.vector_facts.size);
  request.vector->dimensions = static_cast<std::int32_t>(dimensions.value_or(0));
  std::vector<std::string> texts = take_inputs(fields, "input");
  check_vector_numbers(fields, "input", texts.size(), *request.vector, model);
  if (auto error = fields.finish()) return *std::move(error);
  return embed_call(request, std::move(texts), context,
                    std::make_unique<OllamaEmbedWriter>(std::move(name), false));
}

ApiResult<ApiCall> decode_ollama_embeddings(simdjson::dom::object body, const ApiContext& context) {
  BodyFields fields(body);
  std::string name;
  const Request request = take_shared_embed(fields, context, name);
  std::vector<std::string> texts;
  if (const auto prompt = fields.text("prompt"); prompt && !prompt->empty()) {
    texts.emplace_back(*prompt);
  }
  if (auto error = fields.finish()) return *std::move(error);
  return embed_call(request, std::move(texts), context,
                    std::make_unique<OllamaEmbedWriter>(std::move(name), true));
}

}  // namespace weft
