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
  return options;
}

}  // namespace weft
