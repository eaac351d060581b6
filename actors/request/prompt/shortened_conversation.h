#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/text/chat/chat_encoder.h"

namespace weft {

/// Returns the tokens of a conversation of which as many of the oldest messages are left out as
/// have to be for it to have at most `most` tokens. System messages at its beginning stay, and so
/// does its last message. What is left begins with a user's message where that is enough, and else
/// behind the last of those, but never with a tool's result, whose call would be missing.
///
/// The whole conversation is encoded once; encoding ends where there are too many tokens. Then some
/// three or four beginnings are tried that fit by their bytes. Where bytes say nothing about
/// tokens, the tries are five more than the number of messages has binary digits, at most.
///
/// Errors: those of ChatEncoder::encode(); kTooManyTokens where the last message alone is too long.
[[nodiscard]] Result<std::vector<TokenId>> shortened_tokens(const ChatEncoder& chat,
                                                            Conversation conversation,
                                                            std::chrono::local_seconds now,
                                                            std::size_t most);

/// Returns the tokens of a conversation; kTooManyTokens where it does not fit.
using EncodeConversation = std::function<Result<std::vector<TokenId>>(Conversation)>;
/// The same with any way of encoding, for at most `most` tokens.
[[nodiscard]] Result<std::vector<TokenId>> shortened_tokens(const EncodeConversation& encode,
                                                            Conversation conversation,
                                                            std::size_t most);

/// How many tokens the prompt of a request may have whose conversation may be shortened
/// (Request::drop_oldest_messages): as many as leave room for its output. 0: there is no room.
[[nodiscard]] std::size_t shortened_prompt(const Request& request, const ServedModel& model);

}  // namespace weft
