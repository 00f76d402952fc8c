// A terminal that a test made, in place of standard output or standard error.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace heed::cli {

// While it lives, the stream is a terminal of so many columns.
class Terminal {
 public:
  Terminal(std::FILE* stream, unsigned short columns) : stream_(stream), descriptor_(::fileno(stream)) {
    termios raw{};
    cfmakeraw(&raw);  // what is written is what is read
    winsize size{};
    size.ws_row = 24, size.ws_col = columns;
    EXPECT_EQ(::openpty(&screen_, &keyboard_, nullptr, &raw, &size), 0);
    ::fcntl(screen_, F_SETFL, O_NONBLOCK);
    std::fflush(stream_);
    before_ = ::dup(descriptor_);
    ::dup2(keyboard_, descriptor_);
  }
  ~Terminal() {
    std::fflush(stream_);
    ::dup2(before_, descriptor_);
    for (const int descriptor : {before_, screen_, keyboard_}) ::close(descriptor);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  // What was written since the last call. A terminal hands on what it gets when it finds the time: a byte that nobody else
  // writes tells that all is there.
  std::string seen() {
    std::fflush(stream_);
    EXPECT_EQ(::write(descriptor_, "", 1), 1);
    std::string text;
    for (pollfd ready{screen_, POLLIN, 0}; !text.ends_with('\0') && ::poll(&ready, 1, 60'000) == 1;) {
      char buffer[4096];
      const ssize_t size = ::read(screen_, buffer, sizeof buffer);
      if (size <= 0) break;
      text.append(buffer, static_cast<size_t>(size));
    }
    EXPECT_TRUE(text.ends_with('\0')) << text;
    return text.substr(0, text.find('\0'));
  }

 private:
  std::FILE* stream_;
  int descriptor_, screen_ = -1, keyboard_ = -1, before_ = -1;
};

}  // namespace heed::cli
