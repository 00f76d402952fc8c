// The tensors of a model directory: model.safetensors, or several files and an index that says which tensor is where.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/io/safetensors.h"

namespace heed {

// model.safetensors.index.json: the file that each tensor is in, by the tensor's name. The names of files stay inside
// the folder, whatever the index says. `label` begins the message of an error.
using ShardIndex = std::map<std::string, std::string, std::less<>>;
ShardIndex parse_shard_index(std::string_view json, const std::string& label);

// Read-only and memory-mapped, however many files there are.
class ShardedTensors {
 public:
  // model.safetensors where there is one, else the index and its files. An index that does not agree with what the
  // files hold is an error that names the tensor.
  static ShardedTensors open(const std::string& folder);
  static ShardedTensors open_file(const std::string& path);  // one file of any name
  static bool exists(const std::string& folder);

  const StoredTensor* find(std::string_view name) const;  // null: there is none
  const std::map<std::string, const StoredTensor*, std::less<>>& tensors() const { return by_name_; }
  const std::string& path() const { return path_; }  // of the one file, or of the index

 private:
  std::string path_;
  std::vector<std::unique_ptr<const SafeTensors>> files_;
  std::map<std::string, const StoredTensor*, std::less<>> by_name_;
};

}  // namespace heed
