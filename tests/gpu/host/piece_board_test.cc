#include "weft/gpu/host/piece_board.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

std::string text_of(const PieceBoard::Piece& piece) {
  return std::to_string(piece.op) + ": " + std::to_string(piece.index) + " of " +
         std::to_string(piece.count);
}

class PieceBoardTest : public testing::Test {
 protected:
  PieceBoard board_{std::chrono::nanoseconds(0)};
};

TEST_F(PieceBoardTest, OneThreadAloneDoesAllThereIsInOrder) {
  const std::int32_t pieces[] = {2, 1, 3};
  for (int round = 0; round < 3; ++round) {
    const std::uint32_t run = board_.start(pieces);
    std::vector<std::string> done;
    while (const auto piece = board_.take(run)) {
      done.push_back(text_of(*piece));
      board_.finish_piece();
    }
    EXPECT_EQ(done, (std::vector<std::string>{"0: 0 of 2", "0: 1 of 2", "1: 0 of 1", "2: 0 of 3",
                                              "2: 1 of 3", "2: 2 of 3"}));
  }
}

TEST_F(PieceBoardTest, NothingIsToBeHadOfARunThatIsOver) {
  const std::int32_t pieces[] = {1};
  const std::uint32_t first = board_.start(pieces);
  EXPECT_TRUE(board_.take(first));
  board_.finish_piece();
  EXPECT_FALSE(board_.take(first));
  const std::uint32_t second = board_.start(pieces);
  EXPECT_FALSE(board_.take(first)) << "who comes late finds nothing of the next run";
  EXPECT_TRUE(board_.take(second));
}

TEST_F(PieceBoardTest, ARunWithoutOpsIsOverAtOnce) {
  const std::uint32_t run = board_.start({});
  EXPECT_FALSE(board_.take(run));
}

TEST_F(PieceBoardTest, AnOpIsNotBegunWhileAPieceOfTheLastIsHeld) {
  const std::int32_t pieces[] = {2, 2};  // who waits is not told of an op of one piece
  const std::uint32_t run = board_.start(pieces);
  ASSERT_TRUE(board_.take(run));
  ASSERT_TRUE(board_.take(run));
  board_.finish_piece();
  bool held = true;  // plain: the other thread may only read it once the piece is done
  std::optional<PieceBoard::Piece> taken;
  std::thread other([&] {
    taken = board_.take(run);
    EXPECT_FALSE(held);
    board_.finish_piece();
  });
  held = false;
  board_.finish_piece();
  other.join();
  ASSERT_TRUE(taken);
  EXPECT_EQ(text_of(*taken), "1: 0 of 2");
  ASSERT_TRUE(board_.take(run));
  board_.finish_piece();
  EXPECT_FALSE(board_.take(run));
}

TEST_F(PieceBoardTest, ABrokenRunEndsWithItsOp) {
  const std::int32_t pieces[] = {2, 5};
  const std::uint32_t run = board_.start(pieces);
  ASSERT_TRUE(board_.take(run));
  board_.break_off();
  board_.finish_piece();
  ASSERT_TRUE(board_.take(run)) << "the op that is open is done whole";
  board_.finish_piece();
  EXPECT_FALSE(board_.take(run));
  const std::uint32_t next = board_.start(pieces);
  EXPECT_TRUE(board_.take(next)) << "the next run is a whole one";
}

}  // namespace
}  // namespace weft
