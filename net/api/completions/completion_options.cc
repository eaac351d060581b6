#include "weft/net/api/completions/completion_options.h"

#include <string>
#include <utility>

#include "weft/net/api/fields/request_fields.h"

namespace weft {
namespace {

bool take_include_usage(BodyFields& fields) {
  const auto object = fields.object("stream_options");
  if (!object) return false;
  BodyFields options(*object, "stream_options", fields);
  const bool usage = options.flag("include_usage").value_or(false);
  options.ignore({"include_obfuscation"});
  options.finish();
  return usage;
}

}  // namespace

CompletionOptions take_options(BodyFields& fields, const ApiContext& context,
                               std::string_view id_prefix) {
  CompletionOptions options;
  options.id = std::string(id_prefix) + context.id;
  options.created = context.created;
  options.model = take_model(fields, context.card);
  options.stream = fields.flag("stream").value_or(false);
  options.include_usage = take_include_usage(fields) && options.stream;
  return options;
}

}  // namespace weft
