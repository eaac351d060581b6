#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/vectors/vector_fields.h"
#include "weft/net/api/vectors/vector_writer.h"
#include "weft/net/api/vectors/vectors_api.h"

namespace weft {
namespace {

class EmbeddingWriter final : public VectorWriter {
 public:
  EmbeddingWriter(VectorHead head, bool base64) : head_(std::move(head)), base64_(base64) {}

 private:
  void write(std::span<const Finish> parts, std::string& out) override {
    out.append("{\"object\":\"list\",\"data\":[");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) out.push_back(',');
      out.append("{\"object\":\"embedding\",\"index\":");
      append_number(out, static_cast<std::int64_t>(i));
      out.append(",\"embedding\":");
      if (base64_) {
        append_base64(parts[i].vector, out);
      } else {
        append_floats(parts[i].vector, out);
      }
      out.push_back('}');
    }
    out.append("],\"model\":");
    append_json_string(out, head_.model);
    out.append(",\"usage\":");
    append_vector_usage(parts, out);
    out.push_back('}');
  }

  const VectorHead head_;
  const bool base64_;
};

/// Takes `encoding_format`; absent means floats.
bool take_base64(const BodyFields& fields) {
  const std::string_view format = fields.text("encoding_format").value_or("float");
  if (format == "base64") return true;
  if (format != "float") {
    fields.fail("encoding_format", shown(format) + " is neither float nor base64");
  }
  return false;
}

void take_embedding_wish(const BodyFields& fields, const ServedModel& model, VectorWish& wish) {
  const std::int64_t size = model.vector_facts.size;
  const auto dimensions = fields.integer("dimensions", 1, size);
  wish.dimensions = static_cast<std::int32_t>(dimensions.value_or(0));
  wish.unit = fields.flag("normalize");
}

}  // namespace

ApiResult<ApiCall> decode_embeddings(simdjson::dom::object body, const ApiContext& context) {
  const ServedModel& model = *context.card.model;
  BodyFields fields(body);
  VectorHead head;
  Request request = take_vector_request(fields, context, "embd-", head);
  need_embeddings(fields, model);
  take_embedding_wish(fields, model, *request.vector);
  const bool base64 = take_base64(fields);
  auto call = take_vector_inputs(fields, context, request, head);
  if (call) call->writer = std::make_unique<EmbeddingWriter>(std::move(head), base64);
  return call;
}

}  // namespace weft
