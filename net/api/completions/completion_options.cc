#include "weft/net/api/completions/completion_options.h"

#include <string>
#include <utility>

#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/request_fields.h"

namespace weft {
namespace {

void take_stream_options(BodyFields& fields, CompletionOptions& to) {
  const auto object = fields.object("stream_options");
  if (!object) return;
  BodyFields options(*object, "stream_options", fields);
  to.include_usage = options.flag("include_usage").value_or(false) && to.stream;
  to.usage_in_chunks = options.flag("continuous_usage_stats").value_or(false) && to.stream;
  take_harmless_fields(options, FieldPlace::kStreamOptions);
  options.finish();
}

}  // namespace

CompletionOptions take_options(BodyFields& fields, const ApiContext& context,
                               std::string_view id_prefix) {
  CompletionOptions options;
  options.id = std::string(id_prefix) + context.id;
  options.created = context.created;
  options.model = take_model(fields, context.card);
  options.stream = fields.flag("stream").value_or(false);
  take_stream_options(fields, options);
  options.token_ids = fields.flag("return_token_ids").value_or(false);
  options.tokens_as_ids = fields.flag("return_tokens_as_token_ids").value_or(false) ||
                          !context.card.model->tokenizer.exists();
  return options;
}

void ask_for_prompt_ids(CompletionOptions& options, std::vector<Request>& parts) {
  if (!options.token_ids) return;
  for (Request& part : parts) {
    part.prompt_ids = std::make_shared<PromptTokens>();
    options.prompt_ids.push_back(part.prompt_ids);
  }
}

}  // namespace weft
