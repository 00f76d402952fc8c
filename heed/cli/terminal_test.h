// A terminal that a test made, in place of standard output or standard error.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
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
  // What was written since the last call.
  std::string seen() {
    std::fflush(stream_);
    std::string text(4096, '\0');
    const ssize_t size = ::read(screen_, text.data(), text.size());
    text.resize(static_cast<size_t>(std::max<ssize_t>(0, size)));
    return text;
  }

 private:
  std::FILE* stream_;
  int descriptor_, screen_ = -1, keyboard_ = -1, before_ = -1;
};

}  // namespace heed::cli
