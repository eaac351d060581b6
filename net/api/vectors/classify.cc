#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/vectors/input_fields.h"
#include "weft/net/api/vectors/vector_fields.h"
#include "weft/net/api/vectors/vector_writer.h"
#include "weft/net/api/vectors/vectors_api.h"

namespace weft {
namespace {

class ClassifyWriter final : public VectorWriter {
 public:
  ClassifyWriter(VectorHead head, std::shared_ptr<const ServedModel> model)
      : head_(std::move(head)), model_(std::move(model)) {}

 private:
  void write(std::span<const Finish> parts, std::string& out) override {
    begin_vector_list(head_, out);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::vector<float>& scores = parts[i].vector;
      const auto best = std::ranges::max_element(scores) - scores.begin();
      if (i > 0) out.push_back(',');
      out.append("{\"index\":");
      append_number(out, static_cast<std::int64_t>(i));
      out.append(",\"label\":");
      append_json_string(out, model_->vector_facts.labels[static_cast<std::size_t>(best)]);
      out.append(",\"probs\":");
      append_floats(scores, out);
      out.append(",\"num_classes\":");
      append_number(out, static_cast<std::int64_t>(scores.size()));
      out.push_back('}');
    }
    out.append("],\"usage\":");
    append_vector_usage(parts, out);
    out.push_back('}');
  }

  const VectorHead head_;
  const std::shared_ptr<const ServedModel> model_;
};

}  // namespace

ApiResult<ApiCall> decode_classify(simdjson::dom::object body, const ApiContext& context) {
  BodyFields fields(body);
  VectorHead head;
  Request request = take_vector_request(fields, context, "classify-", head);
  take_truncation(fields, /*cuts=*/false, *request.vector);
  need_labels(fields, *context.card.model);
  request.vector->kind = VectorWish::Kind::kScores;
  request.vector->raw_scores = !fields.flag("use_activation").value_or(true);
  auto call = take_vector_inputs(fields, context, request, head);
  if (call) call->writer = std::make_unique<ClassifyWriter>(std::move(head), context.card.model);
  return call;
}

}  // namespace weft
