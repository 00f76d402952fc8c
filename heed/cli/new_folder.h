// A model directory that is there whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace heed::cli {

class NewFolder {
 public:
  // An error where `path` exists, unless a model directory without a run may be replaced. `command` begins the messages.
  NewFolder(std::string command, const std::string& path, bool overwrite = false);
  // write(folder) fills a folder of another name beside it, which then takes its place.
  void write(const std::function<void(const std::string& folder)>& write) const;

 private:
  std::string command_;
  std::filesystem::path target_;
  bool replace_;
};

// The files of a tokenizer from one model directory into another.
void copy_tokenizer(const std::string& from, const std::string& to);

}  // namespace heed::cli
