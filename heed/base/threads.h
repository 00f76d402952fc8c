// One pool of threads for the whole process. Results never depend on the number of threads: who runs a chunk is left
// open, and however finely work is cut, the chain of sums behind each number stays the same. Threads without work stay
// awake for a tenth of a millisecond. A child of fork() has none of them: it works alone.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace heed {

// A borrowed callable: no allocation, valid while the callee runs.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>>>
  FunctionRef(F&& f)  // NOLINT(google-explicit-constructor): a lambda should just pass
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}
  R operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

constexpr int kMostThreads = 1024;
int num_threads();
// 0 means: as many as this process may use.
void set_num_threads(int n);
// So many while one lives.
class ThreadsScope {
 public:
  explicit ThreadsScope(int n) { set_num_threads(n); }
  ~ThreadsScope() { set_num_threads(before_); }
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;

 private:
  const int before_ = num_threads();
};
// Which thread of the running parallel_for this is, in [0, num_threads()); 0 outside of one.
int thread_index();
// Whether the caller is a body of a parallel_for that several threads share.
bool in_parallel_for();

// Calls body(begin, end) for chunks of `grain` (the last may be shorter) that cover [0, n) once.
// Chunks are handed out in order to whichever thread is free. An exception of a body is rethrown here.
// Inside a body, and while another thread's parallel_for runs, it runs on the calling thread alone.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);

}  // namespace heed
