#include "weft/net/service/text_worker.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "weft/core/background.h"
#include "weft/core/thread.h"
#include "weft/net/defaults.h"

namespace weft {
namespace {

struct WaitingText {
  std::string body;
  BodyMemory::Share memory;
};

HttpReply too_many_texts() {
  return error_reply({.status = 429,
                      .type = "rate_limit_error",
                      .code = "overloaded",
                      .message = "too many texts wait for the tokenizer",
                      .retry_after = std::chrono::milliseconds(1000)});
}

HttpReply reply_of(const TextWorker::Work& work, const std::string& text) {
  return reply_or_500([&]() -> HttpReply {
    const ParsedBody body(text);
    if (!body.object()) return error_reply(body.object().error());
    auto result = work(*body.object());
    if (!result) return error_reply(result.error());
    return {.body = *std::move(result)};
  });
}

}  // namespace

TextWorker::TextWorker() {
  boost::asio::post(thread_, [] {
    let_others_go_first();
    name_this_thread("text-worker");
  });
}

RouteResult TextWorker::start(const HttpCall& call, Work work) {
  if (waiting_.fetch_add(1) >= net_defaults::kTextWork) {
    waiting_.fetch_sub(1);
    return too_many_texts();
  }
  auto text =
      std::make_shared<WaitingText>(WaitingText{std::string(call.body), std::move(call.memory)});
  return LaterReply([this, work = std::move(work), text = std::move(text)](auto done) mutable {
    boost::asio::post(thread_, [this, work = std::move(work), text = std::move(text),
                                done = std::move(done)]() mutable {
      HttpReply reply = reply_of(work, text->body);
      text = nullptr;
      waiting_.fetch_sub(1);
      done(std::move(reply));
    });
  });
}

void TextWorker::stop() noexcept {
  thread_.stop();
  thread_.join();
}

}  // namespace weft
