#include "weft/core/io/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
  FileDescriptor out;
  FileDescriptor in;
};

TEST(FileDescriptorTest, ClosesWhatItHasOnce) {
  Pipe pipe;
  const int number = pipe.out.get();
  {
    const FileDescriptor moved(std::move(pipe.out));
    EXPECT_EQ(moved.get(), number);
    EXPECT_FALSE(pipe.out.is_open());
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
  const int other = pipe.in.get();
  pipe.in.reset();
  EXPECT_FALSE(is_open(other));
  EXPECT_FALSE(FileDescriptor().is_open());
}

TEST(FileDescriptorTest, ReadsAndWritesAllHoweverManyPiecesItComesIn) {
  const Pipe pipe;
  std::vector<std::byte> sent(1 << 20);  // more than a pipe holds
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 31 % 251);
  std::vector<std::byte> got(sent.size());
  std::thread reader([&] { EXPECT_TRUE(pipe.out.read(got)); });
  EXPECT_TRUE(pipe.in.write(sent));
  reader.join();
  EXPECT_EQ(got, sent);
}

TEST(FileDescriptorTest, SaysThatAFileEndsBefore) {
  Pipe pipe;
  const std::array<std::byte, 3> sent{};
  EXPECT_TRUE(pipe.in.write(sent));
  pipe.in.reset();
  std::array<std::byte, 4> got{};
  EXPECT_FALSE(pipe.out.read(got));
  EXPECT_EQ(errno, ENODATA);
  EXPECT_FALSE(FileDescriptor().write(sent));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace weft
