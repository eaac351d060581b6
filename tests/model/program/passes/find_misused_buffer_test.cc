#include "weft/model/program/passes/find_misused_buffer.h"

#include <gtest/gtest.h>

#include "weft/tests/fixture/value_program.h"

namespace weft {
namespace {

TEST(FindMisusedBufferTest, FindsNothingWhereEachBufferIsWrittenBeforeItIsRead) {
  test::ValueProgram values;
  const BufferId x = values.embed("x");
  const BufferId part = values.linear(values.norm(x, "h"), "x", x);
  values.program.decode.result = values.all_reduce(part, "x");
  EXPECT_EQ(find_misused_buffer(values.program), "");
}

TEST(FindMisusedBufferTest, FindsABufferThatTwoOpsWrite) {
  test::ValueProgram values;
  const BufferId x = values.embed("x");
  values.norm(x, "h");
  std::get<NormOp>(values.program.decode.ops[1]).out = x;
  EXPECT_EQ(find_misused_buffer(values.program),
            "decode, op 1 (norm): writes x (0), which an op has written");
}

TEST(FindMisusedBufferTest, FindsABufferThatIsReadBeforeItIsWritten) {
  test::ValueProgram values;
  const BufferId late = values.value("late");
  const BufferId x = values.embed("x");
  values.linear(x, "x", late);
  EXPECT_EQ(find_misused_buffer(values.program),
            "decode, op 1 (linear): reads late (0), which no op has written");
}

TEST(FindMisusedBufferTest, FindsAnOpThatReadsWhatItWrites) {
  test::ValueProgram values;
  const BufferId h = values.norm(values.embed("x"), "h");
  std::get<NormOp>(values.program.decode.ops[1]).in = h;
  EXPECT_EQ(find_misused_buffer(values.program),
            "decode, op 1 (norm): reads h (1), which no op has written");
}

TEST(FindMisusedBufferTest, FindsAReaderOfWhatAnOpHasChangedInPlace) {
  test::ValueProgram values;
  const BufferId part = values.embed("x");
  values.all_reduce(part, "x");
  values.norm(part, "h");
  EXPECT_EQ(find_misused_buffer(values.program),
            "decode, op 2 (norm): reads x (0), which an op has changed");
}

TEST(FindMisusedBufferTest, FindsAChangeInPlaceIntoAnotherShape) {
  test::ValueProgram values;
  const BufferId sum = values.all_reduce(values.embed("x"), "x");
  values.program.buffers[static_cast<std::size_t>(sum)].width = 8;
  EXPECT_EQ(find_misused_buffer(values.program),
            "decode, op 1 (all_reduce): changes x (0) into a buffer of another shape");
}

TEST(FindMisusedBufferTest, FindsAResultThatNoOpWrites) {
  test::ValueProgram values;
  values.embed("x");
  values.program.decode.result = values.value("logits");
  EXPECT_EQ(find_misused_buffer(values.program),
            "decode, result: reads logits (1), which no op has written");
  values.program.decode.result = kAbsent;
  values.program.hidden_states = 1;
  EXPECT_EQ(find_misused_buffer(values.program),
            "hidden states: reads logits (1), which no op has written");
}

}  // namespace
}  // namespace weft
