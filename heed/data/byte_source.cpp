#include "heed/data/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "heed/base/error.h"
#include "heed/io/file_descriptor.h"
#include "heed/io/mapped_file.h"
#include "heed/io/printable.h"

namespace heed::data {
namespace {

constexpr unsigned char kMagic[2] = {0x1F, 0x8B};

[[noreturn]] void cannot_read(const std::string& path, const std::string& reason) {
  if (path == "-") fail_file("[read] cannot read standard input: {}", reason);
  fail_file("[read] cannot read '{}': {}", printable(path), reason);
}

FileDescriptor open_file(const std::string& path) {
  if (path == "-") return FileDescriptor(::dup(STDIN_FILENO));
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const int error = errno;
  if (!file) {
    const MappedFile says_what_is_wrong(path);  // throws, with the nearest name in the folder
    cannot_read(path, std::generic_category().message(error));
  }
  return file;
}

// The unpacker of zlib, which wants to be told when it is over.
class Inflater {
 public:
  Inflater() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (::inflateInit2(&stream_, kGzipOnly) != Z_OK) fail("[read] zlib cannot start: out of memory");
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

struct ByteSource::State {
  explicit State(const std::string& name) : path(name), file(open_file(name)) {}

  // More bytes behind those not yet used; false at the end of the file.
  bool fill() {
    std::memmove(block.data(), block.data() + begin, end - begin);
    end -= begin;
    begin = 0;
    ssize_t got;
    do {
      got = ::read(file.get(), block.data() + end, block.size() - end);
    } while (got < 0 && errno == EINTR);
    if (got < 0) cannot_read(path, errno == EISDIR ? "it is a folder" : std::generic_category().message(errno));
    end += static_cast<size_t>(got);
    consumed += got;
    return got > 0;
  }

  bool at_magic() const {
    return end - begin >= 2 && std::equal(kMagic, kMagic + 2, reinterpret_cast<const unsigned char*>(&block[begin]));
  }

  // A second byte is waited for only when the first could begin a packed file.
  void look_at_start() {
    const auto undecided = [&] { return begin == end || (end - begin == 1 && block[begin] == '\x1F'); };
    while (undecided() && fill()) continue;
    started = true;
    if (at_magic()) {
      inflater = std::make_unique<Inflater>();
    } else if (path.ends_with(".gz")) {
      cannot_read(path, begin == end ? "it is empty, expected gzip" : "it is not gzip, as its name says");
    }
  }

  size_t read_plain(std::span<char> out) {
    if (begin == end && !fill()) return 0;
    const size_t n = std::min(out.size(), end - begin);
    std::memcpy(out.data(), &block[begin], n);
    begin += n;
    return n;
  }

  size_t read_packed(std::span<char> out) {
    z_stream& stream = inflater->stream();
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    while (stream.avail_out == out.size() && !finished) {
      if (begin == end && !fill()) cannot_read(path, "the gzip data is cut short");
      stream.next_in = reinterpret_cast<Bytef*>(&block[begin]);
      stream.avail_in = static_cast<uInt>(end - begin);
      const int result = ::inflate(&stream, Z_NO_FLUSH);
      begin = end - stream.avail_in;
      if (result == Z_STREAM_END) {
        next_member();
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        cannot_read(path, fmt::format("the gzip data is damaged ({})", stream.msg ? stream.msg : "zlib"));
      }
    }
    return out.size() - stream.avail_out;
  }

  // gzip files may follow each other in one file; zeros that pad a tape are no data.
  void next_member() {
    while (end - begin < 2 && fill()) continue;
    if (at_magic()) {
      ::inflateReset(&inflater->stream());
      return;
    }
    do {
      if (std::any_of(block.data() + begin, block.data() + end, [](char c) { return c != 0; })) {
        cannot_read(path, "the gzip data is damaged (other bytes follow it)");
      }
      begin = end;
    } while (fill());
    finished = true;
  }

  bool ready() const {
    pollfd more{file.get(), POLLIN, 0};
    return begin < end || ::poll(&more, 1, 0) != 0;
  }

  std::string path;
  FileDescriptor file;
  std::array<char, 1 << 16> block;
  size_t begin = 0, end = 0;  // of what was read and not used yet
  int64_t consumed = 0;
  bool started = false, finished = false;
  std::unique_ptr<Inflater> inflater;  // of a packed file
};

ByteSource::ByteSource(const std::string& path) : state_(std::make_unique<State>(path)) {}
ByteSource::~ByteSource() = default;
ByteSource::ByteSource(ByteSource&&) noexcept = default;

size_t ByteSource::read(std::span<char> out) {
  if (!state_->started) state_->look_at_start();
  return state_->inflater ? state_->read_packed(out) : state_->read_plain(out);
}

bool ByteSource::ready() const { return state_->ready(); }

int64_t ByteSource::consumed() const { return state_->consumed; }

int64_t check_readable(const std::string& path) {
  if (path == "-") return 0;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || ::access(path.c_str(), R_OK) != 0) open_file(path);
  if (S_ISDIR(status.st_mode)) cannot_read(path, "it is a folder");
  return S_ISREG(status.st_mode) ? static_cast<int64_t>(status.st_size) : 0;
}

}  // namespace heed::data
