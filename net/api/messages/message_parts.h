#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/messages/message_request.h"
#include "weft/net/api/reply_writer.h"

/// The parts that a message and its events share.
namespace weft {

/// How a message ended.
struct MessageEnd {
  std::string_view reason;
  std::string_view stop{};  ///< the stop sequence that was hit; empty = null
};
[[nodiscard]] MessageEnd message_end_of(const Finish& part, const MessageOptions& options,
                                        const ServedModel& model);

/// Appends {"input_tokens":...}, with the tier where that is not empty.
void append_message_usage(const Usage& usage, std::string_view tier, std::string& out);
/// Appends "stop_reason":...,"stop_sequence":...
void append_message_end(const MessageEnd& end, std::string& out);
/// Appends ,"context_management":{...} where the request asks for edits of the context: the list of
/// applied edits is empty.
void append_message_edits(const MessageOptions& options, std::string& out);
/// Appends the beginning of a message, up to its content.
void append_message_head(const MessageOptions& options, std::string& out);

[[nodiscard]] std::unique_ptr<ReplyWriter> make_message_stream_writer(
    MessageOptions options, std::shared_ptr<const ServedModel> model);
[[nodiscard]] std::unique_ptr<ReplyWriter> make_message_body_writer(
    MessageOptions options, std::shared_ptr<const ServedModel> model);

}  // namespace weft
