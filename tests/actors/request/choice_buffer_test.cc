#include "weft/actors/request/choice_buffer.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "weft/actors/request/generation_result.h"

namespace weft {
namespace {

using enum PieceKind;

/// The pieces of a text, with names of their kinds.
void append_pieces(const Delta& delta, std::vector<std::string>& pieces) {
  for_each_piece(delta.text, delta.marks, [&](const OutputPiece& piece) {
    constexpr const char* kNames[] = {"text ", "think ", "call ", "args ", "end"};
    pieces.push_back(kNames[static_cast<std::size_t>(piece.kind)] + std::string(piece.text));
  });
}

Request typed_request() {
  Request request;
  request.typed_output = true;
  return request;
}

void append(ChoiceBuffer& buffer, const TypedText& text) {
  ASSERT_TRUE(buffer.append({.text = text.text(), .marks = text.marks()}));
}

TEST(ChoiceBufferTest, ARunThatGoesOnBeginsEachDeltaWithItsKind) {
  ChoiceBuffer buffer(typed_request());
  TypedText text;
  text.add(kReasoning, "a");
  append(buffer, text);
  append(buffer, text);
  Delta first;
  buffer.take(first);
  EXPECT_EQ(first.text, "aa");
  EXPECT_EQ(first.marks, (std::vector<PieceMark>{{0, kReasoning}}));
  append(buffer, text);
  text.clear();
  text.add(kCallName, "f");
  text.add(kArguments, "{}");
  append(buffer, text);
  Delta second;
  buffer.take(second);
  std::vector<std::string> pieces;
  append_pieces(second, pieces);
  EXPECT_EQ(pieces, (std::vector<std::string>{"think a", "call f", "args {}"}));
}

TEST(ChoiceBufferTest, TheEndOfACallIsNewsOfItsOwn) {
  ChoiceBuffer buffer(typed_request());
  TypedText text;
  text.add(kCallName, "f");
  append(buffer, text);
  Delta delta;
  buffer.take(delta);
  EXPECT_FALSE(buffer.unread());
  text.clear();
  text.add(kCallEnd, {});
  append(buffer, text);
  EXPECT_TRUE(buffer.unread());
  Delta end;
  buffer.take(end);
  EXPECT_FALSE(buffer.unread());
  EXPECT_EQ(end.marks, (std::vector<PieceMark>{{0, kCallEnd}}));
  GeneratedChoice all;
  buffer.copy_all(all);
  EXPECT_EQ(all.marks, (std::vector<PieceMark>{{0, kCallName}, {1, kCallEnd}}));
}

TEST(ChoiceBufferTest, TheTextsOfTokensAreOffsetsInWhatIsTaken) {
  Request request;
  request.sampling.logprobs = true;
  ChoiceBuffer buffer(request);
  const std::vector<TokenId> tokens = {1, 2};
  const std::vector<float> logprobs = {-1, -2};
  const std::vector<TokenText> texts = {{0, 2}, {2, 1}};
  const DeltaView view{.text = "abc", .tokens = tokens, .logprobs = logprobs, .token_texts = texts};
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(buffer.append(view));
  Delta both;
  buffer.take(both);
  EXPECT_EQ(both.token_texts, (std::vector<TokenText>{{0, 2}, {2, 1}, {3, 2}, {5, 1}}));
  ASSERT_TRUE(buffer.append(view));
  Delta last;
  buffer.take(last);
  EXPECT_EQ(last.token_texts, texts);
  GeneratedChoice all;
  buffer.copy_all(all);
  EXPECT_EQ(all.token_texts.back(), (TokenText{8, 1}));
}

TEST(ChoiceBufferTest, AReaderOnAnotherThreadFindsEachPieceWhole) {
  constexpr int kCalls = 2000;
  ChoiceBuffer buffer(typed_request());
  std::thread writer([&] {
    TypedText text;
    for (int i = 0; i < kCalls; ++i) {
      text.clear();
      text.add(kText, "say");
      text.add(kCallName, "name");
      text.add(kArguments, "{");
      append(buffer, text);
      text.clear();
      text.add(kArguments, "}");
      append(buffer, text);
      text.clear();
      text.add(kCallEnd, {});
      append(buffer, text);
    }
  });
  TypedText all;
  int ends = 0;
  while (ends < kCalls) {
    if (!buffer.unread()) {
      std::this_thread::yield();
      continue;
    }
    Delta delta;
    buffer.take(delta);
    for_each_piece(delta.text, delta.marks, [&](const OutputPiece& piece) {
      all.add(piece.kind, piece.text);
      ends += piece.kind == kCallEnd ? 1 : 0;
    });
  }
  writer.join();
  int calls = 0;
  for_each_piece(all.text(), all.marks(), [&](const OutputPiece& piece) {
    constexpr const char* kWhole[] = {"say", "", "name", "{}", ""};
    ASSERT_EQ(piece.text, kWhole[static_cast<std::size_t>(piece.kind)]) << "call " << calls;
    calls += piece.kind == kCallEnd ? 1 : 0;
  });
  EXPECT_EQ(calls, kCalls);
}

}  // namespace
}  // namespace weft
