#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/fields/request_fields.h"
#include "weft/net/api/vectors/input_fields.h"
#include "weft/net/api/vectors/vector_fields.h"
#include "weft/net/api/vectors/vector_writer.h"
#include "weft/net/api/vectors/vectors_api.h"

namespace weft {
namespace {

class EmbeddingWriter final : public VectorWriter {
 public:
  EmbeddingWriter(VectorHead head, EmbeddingForm form) : head_(std::move(head)), form_(form) {}

 private:
  void write(std::span<const Finish> parts, std::string& out) override {
    out.append("{\"object\":\"list\",\"data\":[");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) out.push_back(',');
      out.append("{\"object\":\"embedding\",\"index\":");
      append_number(out, static_cast<std::int64_t>(i));
      out.append(",\"embedding\":");
      append_embedding(parts[i].vector, form_, out);
      out.push_back('}');
    }
    out.append("],\"model\":");
    append_json_string(out, head_.model);
    out.append(",\"usage\":");
    append_vector_usage(parts, out);
    out.push_back('}');
  }

  const VectorHead head_;
  const EmbeddingForm form_;
};

void take_embedding_wish(BodyFields& fields, const ServedModel& model, VectorWish& wish) {
  const std::int64_t size = model.vector_facts.size;
  const auto dimensions = fields.integer("dimensions", 1, size);
  const auto other_name = fields.integer("output_dimension", 1, size);
  if (dimensions && other_name && *dimensions != *other_name) {
    fields.fail("output_dimension", "contradicts dimensions");
  }
  wish.dimensions = static_cast<std::int32_t>((dimensions ? dimensions : other_name).value_or(0));
  const auto normalize = fields.flag("normalize");
  const auto normalized = fields.flag("normalized");
  wish.unit = normalize ? normalize : normalized;
  take_truncation(fields, /*cuts=*/false, wish);
  allow_only(fields, {{"late_chunking", false}, {"return_multivector", false}});
}

/// Puts a prompt of the model's files in front of inputs that are texts.
void begin_texts(std::string_view prompt, std::vector<Request>& parts) {
  if (prompt.empty()) return;
  for (Request& part : parts) {
    if (!part.prompt.empty()) part.prompt.insert(0, prompt);
  }
}

}  // namespace

ApiResult<ApiCall> decode_embeddings(simdjson::dom::object body, const ApiContext& context) {
  const ServedModel& model = *context.card.model;
  BodyFields fields(body);
  VectorHead head;
  Request request = take_vector_request(fields, context, "embd-", head);
  need_embeddings(fields, model);
  take_embedding_wish(fields, model, *request.vector);
  const EmbeddingForm form = take_embedding_form(fields);
  const std::string prompt = take_text_prompt(fields, model);
  auto call = take_vector_inputs(fields, context, request, head);
  if (!call) return call;
  begin_texts(prompt, call->parts);
  call->writer = std::make_unique<EmbeddingWriter>(std::move(head), form);
  return call;
}

}  // namespace weft
