#include "heed/io/atomic_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "heed/io/mapped_file.h"
#include "heed/io/test_files.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

std::string reason(const std::string& path, const FileCalls& calls = {}, const std::string& content = "new") {
  const std::string message = message_of([&] {
    AtomicFile file(path, calls);
    file.write(content);
    file.commit();
  });
  const std::string start = "[write] cannot write '" + path + "': ";
  EXPECT_TRUE(message.starts_with(start)) << message;
  return message.substr(std::min(start.size(), message.size()));
}

// Both ways to a temporary file: with and without a name from the start.
class EveryTemporary : public ::testing::TestWithParam<bool> {
 protected:
  FileCalls calls() const {
    FileCalls result;
    result.unnamed_temporary = GetParam();
    return result;
  }
  const TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(AtomicFile, EveryTemporary, ::testing::Bool());

TEST_P(EveryTemporary, WritesAndReplaces) {
  for (const std::string content : {"one", "", "three"}) {
    AtomicFile file(folder_.file("a"), calls());
    file.write(content);
    file.commit();
    EXPECT_EQ(content_of(folder_.file("a")), content);
    EXPECT_EQ(folder_.entries(), 1u);
  }
}

TEST_P(EveryTemporary, KeepsTheOrderOfSmallAndLargeWrites) {
  std::string expected;
  AtomicFile file(folder_.file("a"), calls());
  for (size_t i = 0; i < 20; ++i) {
    const std::string piece(i % 5 == 3 ? 100000 : i * 1000, static_cast<char>('a' + i));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(content_of(folder_.file("a")), expected);
}

TEST_P(EveryTemporary, NothingAppearsWithoutCommit) {
  put_content(folder_.file("a"), "old");
  {
    AtomicFile file(folder_.file("a"), calls());
    file.write(std::string(200000, 'x'));
  }
  EXPECT_EQ(content_of(folder_.file("a")), "old");
  EXPECT_EQ(folder_.entries(), 1u);
}

TEST_P(EveryTemporary, ADiskThatFillsUpLeavesTheOldFile) {
  put_content(folder_.file("a"), "old");
  const std::string content(300000, 'x');
  for (const size_t room : {0, 1, 65536, 200000, 299999}) {
    size_t left = room;
    FileCalls full = calls();
    full.write = [&left](int fd, const void* data, size_t size) -> ssize_t {
      if (left == 0) {
        errno = ENOSPC;
        return -1;
      }
      const ssize_t written = ::write(fd, data, std::min(size, left));
      left -= static_cast<size_t>(written);
      return written;
    };
    EXPECT_EQ(reason(folder_.file("a"), full, content), "the disk is full");
    EXPECT_EQ(content_of(folder_.file("a")), "old");
    EXPECT_EQ(folder_.entries(), 1u);
  }
}

TEST_P(EveryTemporary, FailuresToSyncAndRenameLeaveTheOldFile) {
  put_content(folder_.file("a"), "old");
  FileCalls no_sync = calls();
  no_sync.sync = [](int) {
    errno = EIO;
    return -1;
  };
  EXPECT_EQ(reason(folder_.file("a"), no_sync), "Input/output error");
  FileCalls no_rename = calls();
  no_rename.rename = [](const char*, const char*) {
    errno = EROFS;
    return -1;
  };
  EXPECT_EQ(reason(folder_.file("a"), no_rename), "the file system is read-only");
  EXPECT_EQ(content_of(folder_.file("a")), "old");
  EXPECT_EQ(folder_.entries(), 1u);
}

// The second sync is the folder's, after the rename. EINVAL is a file system that syncs no folders.
TEST_P(EveryTemporary, AFolderThatCannotBeSyncedHasTheNewFile) {
  const auto failing_second = [&](int error) {
    FileCalls result = calls();
    result.sync = [error, syncs = 0](int) mutable {
      errno = error;
      return ++syncs == 2 ? -1 : 0;
    };
    return result;
  };
  put_content(folder_.file("a"), "old");
  EXPECT_EQ(reason(folder_.file("a"), failing_second(EIO), "new"), "Input/output error");
  EXPECT_EQ(content_of(folder_.file("a")), "new");
  AtomicFile file(folder_.file("a"), failing_second(EINVAL));
  file.write("newer");
  file.commit();
  EXPECT_EQ(content_of(folder_.file("a")), "newer");
  EXPECT_EQ(folder_.entries(), 1u);
}

TEST_P(EveryTemporary, GoesOnAfterInterruptsAndShortWrites) {
  FileCalls slow = calls();
  slow.write = [turn = 0](int fd, const void* data, size_t size) mutable -> ssize_t {
    if (turn++ % 2 == 0) {
      errno = EINTR;
      return -1;
    }
    return ::write(fd, data, std::min<size_t>(size, 7));
  };
  std::string content;
  for (int i = 0; i < 100; ++i) content += std::to_string(i);
  AtomicFile file(folder_.file("a"), slow);
  file.write(content);
  file.commit();
  EXPECT_EQ(content_of(folder_.file("a")), content);
}

TEST_P(EveryTemporary, KeepsPermissions) {
  put_content(folder_.file("a"), "old");
  ASSERT_EQ(::chmod(folder_.file("a").c_str(), 0640), 0);
  AtomicFile old_file(folder_.file("a"), calls());
  old_file.commit();
  EXPECT_EQ(fs::status(folder_.file("a")).permissions(), fs::perms(0640));

  const mode_t old_mask = ::umask(027);
  AtomicFile new_file(folder_.file("b"), calls());
  ::umask(old_mask);
  new_file.commit();
  EXPECT_EQ(fs::status(folder_.file("b")).permissions(), fs::perms(0640));
}

TEST(AtomicFile, LeavesMappingsOfTheOldFileWhole) {
  const TemporaryFolder folder;
  put_content(folder.file("a"), "old content");
  const MappedFile old(folder.file("a"));
  write_file_atomically(folder.file("a"), "x");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(old.bytes().data()), old.bytes().size()), "old content");
}

TEST(AtomicFile, FollowsLinks) {
  const TemporaryFolder folder;
  fs::create_directory(folder.file("real"));
  put_content(folder.file("real/a"), "old");
  fs::create_symlink("real/a", folder.file("first"));
  fs::create_symlink("first", folder.file("second"));
  write_file_atomically(folder.file("second"), "new");
  EXPECT_TRUE(fs::is_symlink(folder.file("first")));
  EXPECT_TRUE(fs::is_symlink(folder.file("second")));
  EXPECT_EQ(content_of(folder.file("real/a")), "new");

  fs::create_symlink("real/b", folder.file("dangling"));
  write_file_atomically(folder.file("dangling"), "b");
  EXPECT_EQ(content_of(folder.file("real/b")), "b");

  fs::create_symlink("loop", folder.file("loop"));
  EXPECT_EQ(reason(folder.file("loop")), "Too many levels of symbolic links");
}

TEST(AtomicFile, WritesToDevicesDirectly) {
  write_file_atomically("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(reason("/dev/full"), "the disk is full");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(AtomicFile, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  EXPECT_EQ(message_of([] { write_file_atomically("no-such-folder/x.svg", "x"); }),
            "[write] cannot write 'no-such-folder/x.svg': folder 'no-such-folder' does not exist");
  put_content(folder.file("a"), "old");
  EXPECT_EQ(reason(folder.file("a/b")), fmt::format("'{}' is not a folder", folder.file("a")));
  EXPECT_EQ(reason(folder.file("none/")), fmt::format("folder '{}' does not exist", folder.file("none")));
  EXPECT_EQ(reason(folder.file("")), "it is a folder");
  EXPECT_EQ(reason(""), "the file name is empty");
  EXPECT_EQ(reason(folder.file(std::string(300, 'n'))), "File name too long");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, RefusesWhatMayNotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
  const TemporaryFolder folder;
  put_content(folder.file("a"), "old");
  ASSERT_EQ(::chmod(folder.file("a").c_str(), 0400), 0);
  EXPECT_EQ(reason(folder.file("a")), "permission denied");
  ASSERT_EQ(::chmod(folder.file("").c_str(), 0500), 0);
  EXPECT_EQ(reason(folder.file("b")), "permission denied");
  ASSERT_EQ(::chmod(folder.file("").c_str(), 0700), 0);
  EXPECT_EQ(content_of(folder.file("a")), "old");
}

TEST(AtomicFile, AWriterThatThrowsLeavesNothing) {
  const TemporaryFolder folder;
  const auto write_half = [&] {
    write_file_atomically(folder.file("a"), [](AtomicFile& file) {
      file.write(std::string(100000, 'x'));
      fail("[test] half way");
    });
  };
  EXPECT_EQ(message_of<Error>(write_half), "[test] half way");
  EXPECT_EQ(folder.entries(), 0u);
}

}  // namespace
}  // namespace heed
