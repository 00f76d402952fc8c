#include "heed/cli/interrupts.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace heed::cli {
namespace {

std::atomic<int> interrupts{0};
std::atomic<const char*> answer{nullptr};  // to the first; null: none
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<const char*>::is_always_lock_free);

// Nothing here but what a signal handler may do. It tells by itself: reading, tokenizers and validations take minutes, and
// whoever pressed a key should know at once that it was seen.
void on_interrupt(int) {
  if (interrupts.fetch_add(1) > 0) ::_exit(130);
  const char* text = answer;
  if (text == nullptr) return;
  const int before = errno;
  [[maybe_unused]] const ssize_t written = ::write(2, text, std::strlen(text));
  errno = before;
}

void handle_with(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {  // the last: the window was closed
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    // What was ignored when heed began stays so: under nohup, and in what a script runs in the background.
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void catch_interrupts(bool quiet) {
  // On a terminal behind the line that is open there.
  constexpr const char* kAnswer = "\nheed: stopping as soon as all is saved; once more: at once\n";
  answer = quiet ? nullptr : ::isatty(2) == 1 ? kAnswer : kAnswer + 1;
  handle_with(on_interrupt);
}

void release_interrupts() { handle_with(SIG_DFL); }

bool interrupted() { return interrupts > 0; }

}  // namespace heed::cli
