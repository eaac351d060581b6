#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/messages/message_parts.h"
#include "weft/net/api/tools/call_id.h"
#include "weft/net/api/tools/typed_answer.h"

namespace weft {
namespace {

/// Writes one message.
class MessageBodyWriter final : public ReplyWriter {
 public:
  MessageBodyWriter(MessageOptions options, std::shared_ptr<const ServedModel> model)
      : options_(std::move(options)), model_(std::move(model)) {}

  void begin(EventBatch& /*out*/) override {}

  void delta(std::size_t /*part*/, const Delta& delta, EventBatch& /*out*/) override {
    answer_.add(delta);
  }

  void end(std::span<const Finish> parts, EventBatch& out) override {
    out.begin();
    std::string& text = out.text();
    append_message_head(options_, text);
    append_content(text);
    text.append("],");
    append_message_end(message_end_of(parts.front(), options_, *model_), text);
    text.append(",\"usage\":");
    append_message_usage(parts.front().usage, options_.service_tier, text);
    append_message_edits(options_, text);
    text.push_back('}');
    out.end();
  }

  void fail(const ApiError& /*error*/, std::span<const Finish> /*parts*/,
            EventBatch& /*out*/) override {}

 private:
  void append_content(std::string& text) const {
    bool first = true;
    const auto begin = [&](std::string_view head) -> std::string& {
      return text.append(std::exchange(first, false) ? "" : ",").append(head);
    };
    if (!answer_.reasoning.empty() && options_.show_thinking) {
      append_json_string(begin(R"({"type":"thinking","thinking":)"), answer_.reasoning);
      text.append(R"(,"signature":""})");
    }
    if (!answer_.text.empty()) {
      append_json_string(begin(R"({"type":"text","text":)"), answer_.text);
      text.push_back('}');
    }
    for (std::size_t i = 0; i < answer_.calls.size(); ++i) {
      append_json_string(begin(R"({"type":"tool_use","id":)"),
                         call_id(answer_.calls[i].id, options_.id, 0, i));
      append_json_string(text.append(",\"name\":"), answer_.calls[i].name);
      text.append(",\"input\":").append(arguments_object(answer_.calls[i].arguments));
      text.push_back('}');
    }
  }

  const MessageOptions options_;
  const std::shared_ptr<const ServedModel> model_;
  TypedAnswer answer_;
};

}  // namespace

std::unique_ptr<ReplyWriter> make_message_body_writer(MessageOptions options,
                                                      std::shared_ptr<const ServedModel> model) {
  return std::make_unique<MessageBodyWriter>(std::move(options), std::move(model));
}

}  // namespace weft
